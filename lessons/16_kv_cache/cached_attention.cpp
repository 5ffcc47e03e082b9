#include "attn/cached_attention.hpp"

#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

CachedAttention::CachedAttention(arma::uword embed_dim, arma::uword num_heads)
    : query_proj(1, 1), key_proj(1, 1), value_proj(1, 1), output_proj(1, 1), cache_(1) {
  // TODO(16.4): put the right sizes above instead of the 1s: four projections E -> E with bias, and a cache for H
  // heads. num_heads must divide embed_dim (require_multiple in attn/shape.hpp).
  todo("16.4");
}

// X (L x E x B), lengths (B) or empty -> (L x E x B)
arma::cube CachedAttention::prefill(const arma::cube& X, const arma::uvec& lengths) {
  // TODO(16.5): causal attention over the whole prompt. Its keys and values go into a new cache, without the padding.
  todo("16.5");
}

// x (1 x E x B) -> (1 x E x B)
arma::cube CachedAttention::decode(const arma::cube& x) {
  // TODO(16.6): reject an x of the wrong shape. Append the new key and value, then let the new query attend to all that
  // its sequence has in the cache, and to nothing after that.
  todo("16.6");
}

// X (L x E x B), lengths (B) or empty -> (L x E x B)
arma::cube CachedAttention::extend(const arma::cube& X, const arma::uvec& lengths) {
  // TODO(16.8): reject an X of the wrong shape. Append the new keys and values, without the padding. Then row i of each
  // sequence attends to what was in the cache before, and to the new tokens up to its own; a row of padding to no more
  // keys than its sequence has.
  todo("16.8");
}

}  // namespace attn
