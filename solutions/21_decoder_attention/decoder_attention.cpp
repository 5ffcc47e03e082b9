#include "attn/decoder_attention.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

void require_soft_cap(double soft_cap) {
  if (soft_cap >= 0 && std::isfinite(soft_cap)) return;
  throw std::invalid_argument("soft_cap is " + std::to_string(soft_cap) + ", expected a finite number of at least 0");
}

/// Checks a configuration, and returns D.
arma::uword width_of_a_head(const DecoderAttentionConfig& config) {
  require_positive("embed_dim", config.embed_dim);
  require_multiple("num_heads", config.num_heads, "num_kv_heads", config.num_kv_heads);
  if (config.head_dim == 0) require_multiple("embed_dim", config.embed_dim, "num_heads", config.num_heads);
  const arma::uword D = config.head_dim == 0 ? config.embed_dim / config.num_heads : config.head_dim;
  require_multiple("head_dim", D, "a pair's width", 2);
  if (!config.rope_speeds.is_empty()) require_shape("rope_speeds", config.rope_speeds, {{"1", 1}, {"D/2", D / 2}});
  require_soft_cap(config.soft_cap);
  return D;
}

/// H·D
arma::uword width_of_queries(const DecoderAttentionConfig& config) {
  return require_product({{"head_dim", width_of_a_head(config)}, {"num_heads", config.num_heads}});
}

/// G·D
arma::uword width_of_keys(const DecoderAttentionConfig& config) {
  return width_of_a_head(config) * config.num_kv_heads;
}

}  // namespace

arma::cube grouped_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask,
                             double soft_cap) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"H·B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"G·B"}});
  require_shape("V", V, {{"S", K.n_rows}, {"D", Q.n_cols}, {"G·B", K.n_slices}});
  require_multiple("Q, its number of slices,", Q.n_slices, "that of K", K.n_slices);
  require_soft_cap(soft_cap);
  const arma::uword group_size = Q.n_slices / K.n_slices;  // H / G neighbours share a key and a value

  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n / group_size).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  if (soft_cap > 0) scores = soft_cap * arma::tanh(scores / soft_cap);
  const arma::cube weights = safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));  // (L x S x H·B)

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = weights.slice(n) * V.slice(n / group_size);
  return context;
}

DecoderAttention::DecoderAttention(const DecoderAttentionConfig& config)
    : query_proj(config.embed_dim, width_of_queries(config), config.bias),
      key_proj(config.embed_dim, width_of_keys(config), config.bias),
      value_proj(config.embed_dim, width_of_keys(config), config.bias),
      output_proj(width_of_queries(config), config.embed_dim, config.bias),
      query_norm(width_of_a_head(config)),
      key_norm(width_of_a_head(config)),
      config_(config),
      cache_(config.num_kv_heads) {
  config_.head_dim = width_of_a_head(config);
}

arma::cube DecoderAttention::extend(const arma::cube& X, const arma::uvec& lengths) {
  require_shape("X", X, {{"L"}, {"E", query_proj.weight.n_rows}, {"B", cache_.batch_size()}});
  arma::uvec old_lengths = cache_.lengths();
  old_lengths.resize(X.n_slices);                                       // before the first call: zeros
  const arma::umat positions = positions_after(old_lengths, X.n_rows);  // (L x B)

  arma::cube Q = split_heads(query_proj(X), config_.num_heads);   // (L x D x H·B)
  arma::cube K = split_heads(key_proj(X), config_.num_kv_heads);  // (L x D x G·B)
  if (config_.qk_norm) {
    Q = query_norm(Q);
    K = key_norm(K);
  }
  Q = apply_rope(Q, config_.pairing, positions, config_.rope_speeds);
  K = apply_rope(K, config_.pairing, positions, config_.rope_speeds);
  cache_.append(K, split_heads(value_proj(X), config_.num_kv_heads), lengths);

  const arma::uword S = cache_.capacity();
  if (S == 0) return arma::cube(arma::size(X), arma::fill::zeros);  // no sequence has a token yet
  const Mask mask = decoder_mask(old_lengths, cache_.lengths() - old_lengths, X.n_rows, S, config_.window);
  arma::cube context = grouped_attention(Q, cache_.keys(), cache_.values(), mask, config_.soft_cap);  // (L x D x H·B)
  return output_proj(merge_heads(std::move(context), config_.num_heads));
}

void DecoderAttention::reset() {
  // A new one, as the next append decides B again.
  cache_ = KVCache(config_.num_kv_heads);
}

}  // namespace attn
