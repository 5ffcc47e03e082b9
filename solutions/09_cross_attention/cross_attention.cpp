#include "attn/cross_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

CrossAttention::CrossAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : query_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), embed_dim),
      key_proj(embed_dim, embed_dim),
      value_proj(embed_dim, embed_dim),
      output_proj(embed_dim, embed_dim),
      dropout(dropout_p),
      num_heads_(num_heads) {}

arma::cube CrossAttention::forward(const arma::cube& query, const arma::cube& key, const arma::cube& value,
                                   const Mask& mask) {
  const arma::uword dim = query_proj.weight.n_rows;
  require_shape("query", query, {{"L"}, {"E", dim}, {"B"}});
  require_shape("key", key, {{"S"}, {"E", dim}, {"B", query.n_slices}});
  require_shape("value", value, {{"S", key.n_rows}, {"E", dim}, {"B", query.n_slices}});
  require_mask("mask", mask, query.n_rows, key.n_rows, query.n_slices, num_heads_);

  const arma::cube Q = split_heads(query_proj(query), num_heads_);  // (L x D x H·B)
  const arma::cube K = split_heads(key_proj(key), num_heads_);      // (S x D x H·B)
  const arma::cube V = split_heads(value_proj(value), num_heads_);  // (S x D x H·B)

  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = attention_weights_.slice(n) * V.slice(n);
  return output_proj(merge_heads(std::move(context), num_heads_));
}

}  // namespace attn
