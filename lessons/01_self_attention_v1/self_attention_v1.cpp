#include "attn/self_attention_v1.hpp"

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

SelfAttentionV1::SelfAttentionV1(arma::uword dim) : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1) {
  // TODO(01.1): put the right sizes above instead of the 1s. The three projections have no bias, and dim must be at
  // least 1 (require_positive in attn/shape.hpp).
  todo("01.1");
}

// X (L x E x B) -> (L x E x B)
arma::cube SelfAttentionV1::forward(const arma::cube& X) {
  // TODO(01.2): reject an X of the wrong shape. Then project X to Q, K and V, compute softmax(Q K^T / sqrt(D)) V for
  // every slice, and keep the weights (L x L x B) in attention_weights_.
  todo("01.2");
}

// Q (L x D x B), K (S x D x B) -> (L x S x B)
arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K) {
  // TODO(01.3): reject shapes that do not fit. Then products(i, j, b) = sum over d of Q(i, d, b) * K(j, d, b), with
  // loops.
  todo("01.3");
}

}  // namespace attn
