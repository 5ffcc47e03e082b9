#include "attn/heads_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

arma::cube rope_backward(const arma::cube& d_Y, RopePairing pairing, const arma::umat& positions,
                         const arma::rowvec& speeds) {
  require_shape("d_Y", d_Y, {{"L"}, {"D"}, {"N"}});
  require_multiple("d_Y, its number of columns,", d_Y.n_cols, "a pair's width", 2);
  const arma::rowvec forward_speeds = speeds.is_empty() ? rope_speeds(d_Y.n_cols, 10000) : speeds;  // (1 x D/2)
  return apply_rope(d_Y, pairing, positions, -forward_speeds);
}

arma::cube sum_over_groups(const arma::cube& d_heads, arma::uword group_size) {
  require_shape("d_heads", d_heads, {{"S"}, {"D"}, {"H·B"}});
  require_multiple("d_heads, its number of slices,", d_heads.n_slices, "group_size", group_size);
  arma::cube sums(d_heads.n_rows, d_heads.n_cols, d_heads.n_slices / group_size, arma::fill::zeros);  // (S x D x G·B)
  for (arma::uword n = 0; n < d_heads.n_slices; ++n) sums.slice(n / group_size) += d_heads.slice(n);
  return sums;
}

}  // namespace attn
