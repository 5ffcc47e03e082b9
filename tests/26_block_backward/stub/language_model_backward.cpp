#include "attn/language_model_backward.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "attn/embedding_backward.hpp"
#include "attn/masking.hpp"
#include "attn/matmul_backward.hpp"
#include "attn/sliding_window.hpp"
#include "attn/todo.hpp"

namespace attn {

// ids (L x B), targets (L x B) -> the loss, and a gradient for each parameter
LossAndGradients loss_and_gradients(const LanguageModel& model, const arma::umat& ids, const arma::umat& targets) {
  // TODO(26.7): forward: embeddings, blocks under the causal mask (or its window), final norm, head, cross-entropy.
  // Then all of it in reverse. A tied head adds to the gradient of the token embedding. Reject a text longer than the
  // table of positions as LanguageModel::extend does, naming the last position: for 10 tokens and 9 rows "position is 9,
  // expected below 9, the rows of position_embedding".
  todo("26.7");
}

}  // namespace attn
