#include "attn/latent_attention.hpp"

#include <cmath>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/positions.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

LatentAttention::LatentAttention(const LatentAttentionConfig& config)
    : query_down(1, 1, false),
      query_norm(1),
      query_up(1, 1, false),
      latent_down(1, 1, false),
      latent_norm(1),
      latent_up(1, 1, false),
      output_proj(1, 1, false),
      config_(config) {
  // TODO(30.1): put the right sizes above instead of the 1s, and reject what the header lists before a projection is made.
  todo("30.1");
}

// X (L x E x B) -> (L x C+R x B)
arma::cube LatentAttention::latent_rows(const arma::cube& X, arma::uword first_position) const {
  // TODO(30.2): reject an X of the wrong shape. latent_down gives C + R columns: normalize the first C, rotate the last R.
  todo("30.2");
}

// X (L x E x B) -> (L x D+R x H·B)
arma::cube LatentAttention::queries(const arma::cube& X, arma::uword first_position) const {
  // TODO(30.3): reject an X of the wrong shape. Down, normalize, up, split into heads; rotate the last R columns of each.
  todo("30.3");
}

// Q (L x D+R x H·B), rows (S x C+R x B) -> (L x Dv x H·B)
arma::cube LatentAttention::attend_expanded(const arma::cube& Q, const arma::cube& rows) const {
  // TODO(30.4): reject rows or Q of the wrong shape, and more queries than rows. Make keys and values of all heads, then
  // attend as in lesson 03.
  todo("30.4");
}

// Q (L x D+R x H·B), rows (S x C+R x B) -> (L x Dv x H·B)
arma::cube LatentAttention::attend_absorbed(const arma::cube& Q, const arma::cube& rows) const {
  // TODO(30.5): reject the same. Then, for each slice of Q: bring the query to the width of a row, score the rows
  // themselves, mix their latents, and bring the mixture to the width of a value.
  todo("30.5");
}

// X (L x E x B) -> (L x E x B)
arma::cube LatentAttention::extend(const arma::cube& X) {
  // TODO(30.7): reject an X of the wrong shape. Append the rows of the new tokens to cache_, attend to all of it the way
  // that takes fewer FLOPs, and project.
  todo("30.7");
}

}  // namespace attn
