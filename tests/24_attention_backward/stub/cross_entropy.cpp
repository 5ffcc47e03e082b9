#include "attn/cross_entropy.hpp"

#include <cmath>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

// logits (L x V x B), targets (L x B) -> one number
double cross_entropy(const arma::cube& logits, const arma::umat& targets) {
  // TODO(24.6): the mean of -log(softmax(row)) at the target, over the tokens whose target counts. It must be safe for
  // logits of 1000. Reject shapes that do not fit, and targets that are not a class.
  todo("24.6");
}

// logits (L x V x B), targets (L x B) -> (L x V x B)
arma::cube cross_entropy_backward(const arma::cube& logits, const arma::umat& targets) {
  // TODO(24.7): the gradient of that mean: (p - y) / count, and zeros in rows whose target is ignored. Reject what 24.6
  // rejects.
  todo("24.7");
}

}  // namespace attn
