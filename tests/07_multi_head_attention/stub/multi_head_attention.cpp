#include "attn/multi_head_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

MultiHeadAttention::MultiHeadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1), output_proj(1, 1), dropout(0), num_heads_(0) {
  // TODO(07.1): put the right sizes above instead of the 1s and 0s: four projections E -> E with bias, the dropout,
  // and the number of heads. num_heads must divide embed_dim, and neither may be 0 (require_multiple in
  // attn/shape.hpp).
  todo("07.1");
}

// X (L x E x B) -> (L x E x B)
arma::cube MultiHeadAttention::forward(const arma::cube& X, const Mask& mask) {
  // TODO(07.2): reject an X or a mask of the wrong shape. Project X to Q, K and V and split each into heads. In every
  // slice: Q K^T / sqrt(D). Mask, softmax, dropout; keep the result in attention_weights_ (L x L x H·B).
  todo("07.2");

  // TODO(07.3): the context of every slice, weights times V. Merge the heads, then apply the output projection.
  todo("07.3");
}

}  // namespace attn
