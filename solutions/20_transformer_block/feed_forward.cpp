#include "attn/feed_forward.hpp"

#include "attn/shape.hpp"

namespace attn {

FeedForward::FeedForward(arma::uword embed_dim, arma::uword hidden_dim, Activation function)
    : up_proj(require_positive("embed_dim", embed_dim), require_positive("hidden_dim", hidden_dim)),
      down_proj(hidden_dim, embed_dim),
      activation(function) {}

arma::cube FeedForward::operator()(const arma::cube& X) const {
  require_shape("X", X, {{"L"}, {"E", up_proj.weight.n_rows}, {"B"}});
  const arma::cube hidden = activate(activation, up_proj(X));  // (L x F x B)
  return down_proj(hidden);
}

SwiGLU::SwiGLU(arma::uword embed_dim, arma::uword hidden_dim)
    : gate_proj(require_positive("embed_dim", embed_dim), require_positive("hidden_dim", hidden_dim), false),
      up_proj(embed_dim, hidden_dim, false),
      down_proj(hidden_dim, embed_dim, false) {}

arma::cube SwiGLU::operator()(const arma::cube& X) const {
  require_shape("X", X, {{"L"}, {"E", gate_proj.weight.n_rows}, {"B"}});
  const arma::cube gated = silu(gate_proj(X)) % up_proj(X);  // (L x F x B)
  return down_proj(gated);
}

}  // namespace attn
