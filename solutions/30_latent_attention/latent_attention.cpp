#include "attn/latent_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/positions.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

/// Checks a configuration, and returns it.
const LatentAttentionConfig& checked(const LatentAttentionConfig& config) {
  require_positive("embed_dim", config.embed_dim);
  require_positive("num_heads", config.num_heads);
  require_positive("head_dim", config.head_dim);
  require_multiple("rope_dim", config.rope_dim, "a pair's width", 2);
  require_positive("value_dim", config.value_dim);
  require_positive("latent_dim", config.latent_dim);
  require_positive("query_latent_dim", config.query_latent_dim);
  return config;
}

/// Rotates columns `first` to the last, by the positions first_position, first_position + 1, ...
void rotate_columns(arma::cube& X, arma::uword first, arma::uword first_position) {
  sum_of({{"first_position", first_position}, {"L", X.n_rows}});
  const arma::umat positions = arma::regspace<arma::uvec>(first_position, first_position + X.n_rows - 1);  // (L x 1)
  const arma::cube part = X.cols(first, X.n_cols - 1);  // (L x R x N)
  X.cols(first, X.n_cols - 1) = apply_rope(part, RopePairing::interleaved, positions);
}

/// Checks what both ways to attend are called with.
void require_queries_and_rows(const LatentAttentionConfig& config, const arma::cube& Q, const arma::cube& rows) {
  require_shape("rows", rows, {{"S"}, {"C+R", config.latent_dim + config.rope_dim}, {"B"}});
  require_shape("Q", Q, {{"L"}, {"D+R", config.head_dim + config.rope_dim}, {"H·B", config.num_heads * rows.n_slices}});
  require_at_most("L", Q.n_rows, "S", rows.n_rows);
}

}  // namespace

LatentAttention::LatentAttention(const LatentAttentionConfig& config)
    : query_down(checked(config).embed_dim, config.query_latent_dim, false),
      query_norm(config.query_latent_dim),
      query_up(config.query_latent_dim, config.num_heads * (config.head_dim + config.rope_dim), false),
      latent_down(config.embed_dim, config.latent_dim + config.rope_dim, false),
      latent_norm(config.latent_dim),
      latent_up(config.latent_dim, config.num_heads * (config.head_dim + config.value_dim), false),
      output_proj(config.num_heads * config.value_dim, config.embed_dim, false),
      config_(config) {}

arma::cube LatentAttention::latent_rows(const arma::cube& X, arma::uword first_position) const {
  require_shape("X", X, {{"L"}, {"E", config_.embed_dim}, {"B"}});
  const arma::uword C = config_.latent_dim;
  arma::cube rows = latent_down(X);                // (L x C+R x B)
  const arma::cube latents = rows.cols(0, C - 1);  // (L x C x B)
  rows.cols(0, C - 1) = latent_norm(latents);
  rotate_columns(rows, C, first_position);
  return rows;
}

arma::cube LatentAttention::queries(const arma::cube& X, arma::uword first_position) const {
  require_shape("X", X, {{"L"}, {"E", config_.embed_dim}, {"B"}});
  arma::cube Q = split_heads(query_up(query_norm(query_down(X))), config_.num_heads);  // (L x D+R x H·B)
  rotate_columns(Q, config_.head_dim, first_position);
  return Q;
}

arma::cube LatentAttention::attend_expanded(const arma::cube& Q, const arma::cube& rows) const {
  require_queries_and_rows(config_, Q, rows);
  const arma::uword C = config_.latent_dim, D = config_.head_dim, R = config_.rope_dim;
  const arma::cube latents = rows.cols(0, C - 1);                                  // (S x C x B)
  const arma::cube expanded = split_heads(latent_up(latents), config_.num_heads);  // (S x D+Dv x H·B)
  arma::cube K(rows.n_rows, D + R, Q.n_slices);                                    // (S x D+R x H·B)
  for (arma::uword n = 0; n < K.n_slices; ++n) {
    K.slice(n).head_cols(D) = expanded.slice(n).head_cols(D);
    K.slice(n).tail_cols(R) = rows.slice(n / config_.num_heads).tail_cols(R);  // shared by the heads
  }
  const arma::cube V = expanded.cols(D, expanded.n_cols - 1);  // (S x Dv x H·B)
  return scaled_dot_product_attention(Q, K, V, causal_mask(Q.n_rows, K.n_rows));
}

arma::cube LatentAttention::attend_absorbed(const arma::cube& Q, const arma::cube& rows) const {
  require_queries_and_rows(config_, Q, rows);
  const arma::uword C = config_.latent_dim, D = config_.head_dim, R = config_.rope_dim, Dv = config_.value_dim;
  const Mask mask = causal_mask(Q.n_rows, rows.n_rows);
  arma::cube context(Q.n_rows, Dv, Q.n_slices);  // (L x Dv x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    const arma::mat& tokens = rows.slice(n / config_.num_heads);                 // (S x C+R)
    const arma::uword first = n % config_.num_heads * (D + Dv);                  // the head's columns of latent_up
    const arma::mat W_K = latent_up.weight.cols(first, first + D - 1);           // (C x D)
    const arma::mat W_V = latent_up.weight.cols(first + D, first + D + Dv - 1);  // (C x Dv)
    const arma::mat query = arma::join_rows(Q.slice(n).head_cols(D) * W_K.t(), Q.slice(n).tail_cols(R));  // (L x C+R)
    arma::cube scores(Q.n_rows, rows.n_rows, 1);
    scores.slice(0) = query * tokens.t() / std::sqrt(static_cast<double>(D + R));
    const arma::cube weights = safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));  // (L x S x 1)
    const arma::mat mixture = weights.slice(0) * tokens.head_cols(C);                            // (L x C)
    context.slice(n) = mixture * W_V;
  }
  return context;
}

arma::cube LatentAttention::extend(const arma::cube& X) {
  require_shape("X", X, {{"L"}, {"E", config_.embed_dim}, {"B", cache_.n_slices}});
  const arma::uword old_length = cache_.n_rows, S = old_length + X.n_rows;
  const arma::cube rows = latent_rows(X, old_length);  // (L x C+R x B)
  cache_.resize(S, rows.n_cols, rows.n_slices);        // keeps the old rows
  cache_.rows(old_length, S - 1) = rows;
  const arma::cube Q = queries(X, old_length);  // (L x D+R x H·B)
  const bool absorb = absorbed_flops(config_, X.n_rows, S) < expanded_flops(config_, X.n_rows, S);
  arma::cube context = absorb ? attend_absorbed(Q, cache_) : attend_expanded(Q, cache_);  // (L x Dv x H·B)
  return output_proj(merge_heads(std::move(context), config_.num_heads));
}

}  // namespace attn
