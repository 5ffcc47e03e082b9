#include "attn/latent_attention.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

void require_sizes(const LatentAttentionConfig& config, arma::uword L, arma::uword S) {
  require_positive("num_heads", config.num_heads);
  require_positive("head_dim", config.head_dim);
  require_positive("rope_dim", config.rope_dim);
  require_positive("value_dim", config.value_dim);
  require_positive("latent_dim", config.latent_dim);
  require_positive("L", L);
  require_positive("S", S);
}

}  // namespace

arma::uword latent_cache_bytes(const LatentAttentionConfig& config, arma::uword num_layers,
                               arma::uword bytes_per_number) {
  require_positive("latent_dim", config.latent_dim);
  require_positive("rope_dim", config.rope_dim);
  require_positive("num_layers", num_layers);
  require_positive("bytes_per_number", bytes_per_number);
  const arma::uword numbers = sum_of({{"latent_dim", config.latent_dim}, {"rope_dim", config.rope_dim}});
  return product_of(
      {{"num_layers", num_layers}, {"latent_dim + rope_dim", numbers}, {"bytes_per_number", bytes_per_number}});
}

arma::uword expanded_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S) {
  require_sizes(config, L, S);
  const arma::uword expanding = S * config.latent_dim * (config.head_dim + config.value_dim);  // the rows
  const arma::uword attending = L * S * (config.head_dim + config.rope_dim + config.value_dim);
  return 2 * config.num_heads * (expanding + attending);
}

arma::uword absorbed_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S) {
  require_sizes(config, L, S);
  const arma::uword absorbing = L * config.latent_dim * (config.head_dim + config.value_dim);  // queries, mixed latents
  const arma::uword attending = L * S * (config.latent_dim + config.rope_dim + config.latent_dim);
  return 2 * config.num_heads * (absorbing + attending);
}

}  // namespace attn
