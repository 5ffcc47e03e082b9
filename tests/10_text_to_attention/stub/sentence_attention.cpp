#include "attn/sentence_attention.hpp"

#include <stdexcept>
#include <string>

#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// ids (L x B), lengths (B) -> (L x E x B)
arma::cube attend(const EncodedBatch& batch, const Embedding& embedding, MultiHeadAttention& attention) {
  // TODO(10.6): reject batch.lengths of the wrong size. Then embed, and call attention.forward with a mask that blocks
  // the padding.
  todo("10.6");
}

// weights (L x L x H·B) -> (length x length x H)
arma::cube weights_of_sentence(const arma::cube& weights, const EncodedBatch& batch, arma::uword sentence,
                               arma::uword num_heads) {
  // TODO(10.7): reject weights of the wrong shape, and a sentence that is not there. Then cut the sentence's words out
  // of its slices, one slice a head. An empty sentence gives 0 x 0 x H.
  todo("10.7");
}

}  // namespace attn
