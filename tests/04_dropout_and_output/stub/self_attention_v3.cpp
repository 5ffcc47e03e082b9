#include "attn/self_attention_v3.hpp"

#include <cmath>

#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

SelfAttentionV3::SelfAttentionV3(arma::uword dim, double dropout_p) : proj(1, 1), output_proj(1, 1), dropout(0) {
  // TODO(04.5): put the right sizes and the right probability above. One projection makes Q, K and V, one makes the
  // output, both with a bias; and dim must be at least 1 (require_positive in attn/shape.hpp).
  todo("04.5");
}

// X (L x E x B), mask (L x L x 1) or (L x L x B) or empty -> (L x E x B)
arma::cube SelfAttentionV3::forward(const arma::cube& X, const Mask& mask) {
  // TODO(04.6): reject an X or a mask of the wrong shape (require_shape, and require_mask in attn/mask.hpp). Then Q, K
  // and V as in V2, the scores, the mask, the softmax, dropout on the weights (keep them in attention_weights_), the
  // mixing, and the output projection.
  todo("04.6");
}

}  // namespace attn
