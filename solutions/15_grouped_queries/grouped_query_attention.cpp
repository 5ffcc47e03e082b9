#include "attn/grouped_query_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

/// H·D, the width of all query heads together: E, unless the width of a head was chosen.
arma::uword all_heads(arma::uword embed_dim, arma::uword num_heads, arma::uword head_dim) {
  require_positive("embed_dim", embed_dim);
  if (head_dim == 0) return require_multiple("embed_dim", embed_dim, "num_heads", num_heads);
  return require_product({{"num_heads", num_heads}, {"head_dim", head_dim}});
}

/// The mean of each group of heads, column by column: (rows x H·D) -> (rows x G·D). A missing bias stays missing.
arma::mat group_means(const arma::mat& heads, arma::uword num_heads, arma::uword num_kv_heads) {
  if (heads.is_empty()) return heads;
  const arma::uword D = heads.n_cols / num_heads;
  const arma::uword group_size = num_heads / num_kv_heads;
  arma::mat means(heads.n_rows, num_kv_heads * D, arma::fill::zeros);  // (rows x G·D)
  for (arma::uword h = 0; h < num_heads; ++h) {
    const arma::uword g = h / group_size;
    means.cols(g * D, (g + 1) * D - 1) += heads.cols(h * D, (h + 1) * D - 1);
  }
  return means / static_cast<double>(group_size);
}

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(arma::uword embed_dim, arma::uword num_heads, arma::uword num_kv_heads,
                                             arma::uword head_dim)
    : query_proj(embed_dim, all_heads(embed_dim, num_heads, head_dim)),
      key_proj(embed_dim, query_proj.weight.n_cols /
                              require_multiple("num_heads", num_heads, "num_kv_heads", num_kv_heads) * num_kv_heads),
      value_proj(embed_dim, key_proj.weight.n_cols),
      output_proj(query_proj.weight.n_cols, embed_dim),
      num_heads_(num_heads),
      num_kv_heads_(num_kv_heads) {}

arma::cube GroupedQueryAttention::forward(const arma::cube& X, const Mask& mask) {
  require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B"}});
  require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices, num_heads_);

  const arma::cube Q = split_heads(query_proj(X), num_heads_);     // (L x D x H·B)
  const arma::cube K = split_heads(key_proj(X), num_kv_heads_);    // (L x D x G·B)
  const arma::cube V = split_heads(value_proj(X), num_kv_heads_);  // (L x D x G·B)

  // Slice b·H + h shares b·G + h / (H / G): H is a multiple of the group size, so one division gives both.
  const arma::uword group_size = num_heads_ / num_kv_heads_;
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x L x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n / group_size).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  attention_weights_ = safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    context.slice(n) = attention_weights_.slice(n) * V.slice(n / group_size);
  }
  return output_proj(merge_heads(std::move(context), num_heads_));
}

arma::uword kv_bytes_per_token(arma::uword num_layers, arma::uword num_kv_heads, arma::uword head_dim,
                               arma::uword bytes_per_number) {
  const arma::uword keys_and_values = 2;
  require_product({{"num_layers", num_layers},
                   {"num_kv_heads", num_kv_heads},
                   {"head_dim", head_dim},
                   {"bytes_per_number", bytes_per_number},
                   {"2", keys_and_values}});
  return keys_and_values * num_layers * num_kv_heads * head_dim * bytes_per_number;
}

GroupedQueryAttention pool_heads(const MultiHeadAttention& full, arma::uword num_kv_heads) {
  const arma::uword H = full.num_heads();
  GroupedQueryAttention grouped(full.query_proj.weight.n_rows, H, num_kv_heads);
  grouped.query_proj = full.query_proj;
  grouped.key_proj.weight = group_means(full.key_proj.weight, H, num_kv_heads);
  grouped.key_proj.bias = group_means(full.key_proj.bias, H, num_kv_heads);
  grouped.value_proj.weight = group_means(full.value_proj.weight, H, num_kv_heads);
  grouped.value_proj.bias = group_means(full.value_proj.bias, H, num_kv_heads);
  grouped.output_proj = full.output_proj;
  return grouped;
}

}  // namespace attn
