#include "attn/sentence_attention.hpp"

#include <stdexcept>
#include <string>

#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// ids (L x B), lengths (B), padding -> (L x L x B)
Mask word_mask(const EncodedBatch& batch) {
  // TODO(10.2): reject batch.lengths of the wrong size, and a length above L. Then let every row see the columns of its
  // sentence's words, and no padding: the first lengths(b) columns, or the last, as batch.padding says.
  todo("10.2");
}

// ids (L x B) -> (L x E x B)
arma::cube attend(const EncodedBatch& batch, const Embedding& embedding, MultiHeadAttention& attention) {
  // TODO(10.3): embed the numbers, and call attention.forward with the mask of the words.
  todo("10.3");
}

// weights (L x L x H·B) -> (length x length x H)
arma::cube weights_of_sentence(const arma::cube& weights, const EncodedBatch& batch, arma::uword sentence,
                               arma::uword num_heads) {
  // TODO(10.4): reject weights of the wrong shape, and a sentence that is not there. Then cut the sentence's words out
  // of its slices, one slice per head, on whichever side they are. An empty sentence gives 0 x 0 x H.
  todo("10.4");
}

}  // namespace attn
