#include "attn/cross_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

CrossAttention::CrossAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1), output_proj(1, 1), dropout(0), num_heads_(1) {
  // TODO(09.1): put the right sizes above instead of the 0 and the 1s: four projections E -> E with bias, the dropout,
  // and the number of heads. num_heads must divide embed_dim (require_multiple in attn/shape.hpp).
  todo("09.1");
}

// query (L x E x B), key and value (S x E x B), mask (L x S x 1, B or H·B) -> (L x E x B)
arma::cube CrossAttention::forward(const arma::cube& query, const arma::cube& key, const arma::cube& value,
                                   const Mask& mask) {
  // TODO(09.2): reject query, key, value or mask when its shape is wrong (require_shape, require_mask). L and B are
  // query's, S is key's: say for each argument which of its sizes are known by then.
  todo("09.2");

  // TODO(09.3): project, split into heads, and for each slice softmax(Q K^T / sqrt(D)) V: blocked scores are -inf, the
  // weights go through dropout and are kept in attention_weights_. Then merge the heads and project once more.
  todo("09.3");
}

}  // namespace attn
