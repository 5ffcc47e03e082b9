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
  return forward(query, project_memory(key, value), mask);
}

ProjectedMemory CrossAttention::project_memory(const arma::cube& key, const arma::cube& value) const {
  const arma::uword dim = key_proj.weight.n_rows;
  require_shape("key", key, {{"S"}, {"E", dim}, {"B"}});
  require_shape("value", value, {{"S", key.n_rows}, {"E", dim}, {"B", key.n_slices}});
  return {split_heads(key_proj(key), num_heads_), split_heads(value_proj(value), num_heads_)};  // (S x D x H·B) each
}

arma::cube CrossAttention::forward(const arma::cube& query, const ProjectedMemory& memory, const Mask& mask) {
  const arma::uword dim = query_proj.weight.n_rows;
  const arma::uword batch = require_memory(memory, dim / num_heads_, num_heads_);
  require_shape("query", query, {{"L"}, {"E", dim}, {"B", batch}});
  require_mask("mask", mask, query.n_rows, memory.keys.n_rows, batch, num_heads_);

  const arma::cube Q = split_heads(query_proj(query), num_heads_);  // (L x D x H·B)
  const arma::cube &K = memory.keys, &V = memory.values;            // (S x D x H·B)
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);                // (L x S x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = attention_weights_.slice(n) * V.slice(n);
  return output_proj(merge_heads(std::move(context), num_heads_));
}

ProjectedMemory CrossAttention::select_sequences(const ProjectedMemory& memory, const arma::uvec& sequences) const {
  const arma::uword batch = require_memory(memory, key_proj.weight.n_cols / num_heads_, num_heads_);
  require_positive("sequences.n_elem", sequences.n_elem);
  require_at_most("sequences", sequences.max(), "B - 1", batch - 1);

  arma::cube keys(memory.keys.n_rows, memory.keys.n_cols, num_heads_ * sequences.n_elem);
  arma::cube values(arma::size(keys));
  for (arma::uword n = 0; n < keys.n_slices; ++n) {
    const arma::uword from = sequences(n / num_heads_) * num_heads_ + n % num_heads_;  // the same head
    keys.slice(n) = memory.keys.slice(from);
    values.slice(n) = memory.values.slice(from);
  }
  return {std::move(keys), std::move(values)};
}

}  // namespace attn
