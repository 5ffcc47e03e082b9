#include "attn/cached_attention.hpp"

#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

CachedAttention::CachedAttention(arma::uword embed_dim, arma::uword num_heads)
    : query_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), embed_dim),
      key_proj(embed_dim, embed_dim),
      value_proj(embed_dim, embed_dim),
      output_proj(embed_dim, embed_dim),
      cache_(num_heads) {}

arma::cube CachedAttention::prefill(const arma::cube& X, const arma::uvec& lengths) {
  require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B"}});
  const arma::cube Q = split_heads(query_proj(X), num_heads());  // (L x D x H·B)
  const arma::cube K = split_heads(key_proj(X), num_heads());    // (L x D x H·B)
  const arma::cube V = split_heads(value_proj(X), num_heads());  // (L x D x H·B)

  KVCache cache(num_heads());
  cache.append(K, V, lengths);
  cache_ = std::move(cache);

  // Padding is at the end: to the tokens before it, it is the future.
  arma::cube context = scaled_dot_product_attention(Q, K, V, causal_mask(X.n_rows, X.n_rows));  // (L x D x H·B)
  return output_proj(merge_heads(std::move(context), num_heads()));
}

arma::cube CachedAttention::decode(const arma::cube& x) {
  require_shape("x", x, {{"1", 1}, {"E", query_proj.weight.n_rows}, {"B", cache_.batch_size()}});
  const arma::cube Q = split_heads(query_proj(x), num_heads());  // (1 x D x H·B)
  cache_.append(split_heads(key_proj(x), num_heads()), split_heads(value_proj(x), num_heads()));

  const Mask mask = padding_mask(cache_.lengths(), 1, cache_.capacity());                      // (1 x S x B)
  arma::cube context = scaled_dot_product_attention(Q, cache_.keys(), cache_.values(), mask);  // (1 x D x H·B)
  return output_proj(merge_heads(std::move(context), num_heads()));
}

arma::cube CachedAttention::extend(const arma::cube& X, const arma::uvec& lengths) {
  require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B", cache_.batch_size()}});
  arma::uvec old_lengths = cache_.lengths();
  old_lengths.resize(X.n_slices);  // without a call before this one: zeros
  cache_.append(split_heads(key_proj(X), num_heads()), split_heads(value_proj(X), num_heads()), lengths);
  const arma::uword S = cache_.capacity();
  if (S == 0) return arma::cube(arma::size(X), arma::fill::zeros);  // no sequence has a token yet

  Mask mask(X.n_rows, S, X.n_slices);  // (L x S x B)
  for (arma::uword i = 0; i < X.n_rows; ++i) {
    // As in decode, when its own key is the last one. A row of padding sees all tokens of its sequence.
    mask.row(i) = padding_mask(arma::min(old_lengths + i + 1, cache_.lengths()), 1, S);
  }
  const arma::cube queries = split_heads(query_proj(X), num_heads());                                // (L x D x H·B)
  arma::cube context = scaled_dot_product_attention(queries, cache_.keys(), cache_.values(), mask);  // (L x D x H·B)
  return output_proj(merge_heads(std::move(context), num_heads()));
}

}  // namespace attn
