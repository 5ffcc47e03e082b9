#include "attn/latent_attention.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

arma::uword latent_cache_bytes(const LatentAttentionConfig& config, arma::uword num_layers,
                               arma::uword bytes_per_number) {
  // TODO(30.6): reject a latent_dim, rope_dim, num_layers or bytes_per_number of zero. Then the bytes of one token.
  todo("30.6");
}

arma::uword expanded_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S) {
  // The second part of 30.6: reject sizes of zero. The products of one sequence, head by head: rows to keys and values,
  // the scores, the mixing.
  todo("30.6");
}

arma::uword absorbed_flops(const LatentAttentionConfig& config, arma::uword L, arma::uword S) {
  // The third part of 30.6: reject the same. Queries to latents, the scores, the mixing, the mixed latents to values.
  todo("30.6");
}

}  // namespace attn
