#include "attn/fused_multi_head_attention.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

FusedMultiHeadAttention::FusedMultiHeadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : qkv_proj(1, 1), output_proj(1, 1), dropout(0), num_heads_(1) {
  // TODO(08.1): put the right values above instead of the 1s and the 0. One projection makes Q, K and V of all heads;
  // embed_dim must be a multiple of num_heads (require_multiple in attn/shape.hpp).
  todo("08.1");
}

// X (L x E x B) -> (L x E x B)
arma::cube FusedMultiHeadAttention::forward(const arma::cube& X, const Mask& mask) {
  // TODO(08.2): reject an X or a mask of the wrong shape. Then project once, and see the result as (L x D x 3H·B): for
  // each n = b·H + h find the slices of query, key and value. Go on as in lesson 07, and keep the weights in
  // attention_weights_.
  todo("08.2");
}

// (in x out_i) each -> (in x sum of out_i)
Linear join_columns(const std::vector<Linear>& layers) {
  // TODO(08.3): reject layers that cannot be joined. Then put the weights side by side, and the biases, too.
  todo("08.3");
}

// three E -> E projections -> one E -> 3E projection
FusedMultiHeadAttention fuse(const MultiHeadAttention& separate) {
  // TODO(08.4): a layer that computes what `separate` computes: its projections side by side, and all else that it has.
  todo("08.4");
}

// (in x middle), (middle x out) -> (in x out)
Linear compose(const Linear& first, const Linear& second) {
  // TODO(08.5): reject a second layer that does not take what the first gives. Then: which weight and which bias give
  // second(first(x)) in one step, for every x? Either layer may be without a bias.
  todo("08.5");
}

}  // namespace attn
