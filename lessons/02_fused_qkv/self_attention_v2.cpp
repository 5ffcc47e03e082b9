#include "attn/self_attention_v2.hpp"

#include "attn/shape.hpp"
#include "attn/softmax.hpp"
#include "attn/todo.hpp"

namespace attn {

SelfAttentionV2::SelfAttentionV2(arma::uword dim) : proj(1, 1) {
  // TODO(02.1): put the right sizes above instead of the 1s. One projection makes Q, K and V together, with a bias;
  // and dim must be at least 1 (require_positive in attn/shape.hpp).
  todo("02.1");
}

// X (L x E x B) -> (L x E x B)
arma::cube SelfAttentionV2::forward(const arma::cube& X) {
  // TODO(02.2): reject an X of the wrong shape. Then project once, take Q, K and V from the columns of the result, and
  // go on as in V1: softmax(Q K^T / sqrt(D)) V, with the weights kept in attention_weights_.
  todo("02.2");
}

// three E x E weights -> one E x 3E weight
SelfAttentionV2 fuse(const SelfAttentionV1& separate) {
  // TODO(02.3): a layer whose projection does what the three projections of `separate` do.
  todo("02.3");
}

}  // namespace attn
