#include "attn/grouped_query_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// head_dim is D; 0 means E / H.
GroupedQueryAttention::GroupedQueryAttention(arma::uword embed_dim, arma::uword num_heads, arma::uword num_kv_heads,
                                             arma::uword head_dim)
    : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1), output_proj(1, 1), num_heads_(1), num_kv_heads_(1) {
  // TODO(15.1): put the right sizes above instead of the 1s. Queries are as wide as num_heads heads, keys and values
  // only as num_kv_heads heads. num_kv_heads must divide num_heads; num_heads must divide embed_dim only where head_dim
  // is 0 (require_multiple in attn/shape.hpp).
  todo("15.1");
}

// X (L x E x B), mask (L x L x 1, B or H·B) -> (L x E x B)
arma::cube GroupedQueryAttention::forward(const arma::cube& X, const Mask& mask) {
  // TODO(15.2): reject an X or a mask of the wrong shape. Then attention as in lesson 07, without dropout. But K and V
  // have G slices per sequence, and each slice of Q has to find its own among them. Copy no slice and no whole cube. Keep
  // the weights in attention_weights_.
  todo("15.2");
}

arma::uword kv_bytes_per_token(arma::uword num_layers, arma::uword num_kv_heads, arma::uword head_dim,
                               arma::uword bytes_per_number) {
  // TODO(15.3): how many bytes of keys and values does one token leave in the cache? Reject a zero (require_positive).
  todo("15.3");
}

// key and value projections (E -> H·D) -> (E -> G·D)
GroupedQueryAttention pool_heads(const MultiHeadAttention& full, arma::uword num_kv_heads) {
  // TODO(15.4): a grouped layer of the same sizes. Its key/value head g is the mean of the heads of group g; the rest
  // is full's. Where full has no bias, the grouped layer has none.
  todo("15.4");
}

}  // namespace attn
