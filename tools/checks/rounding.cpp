#include "checks/rounding.hpp"

#include <algorithm>
#include <cmath>

namespace attn::judge {

namespace {

double longest_row(const arma::cube& x) {
  double longest = 0;
  for (arma::uword n = 0; n < x.n_slices; ++n) {
    for (arma::uword i = 0; i < x.n_rows; ++i) longest = std::max(longest, arma::norm(x.slice(n).row(i)));
  }
  return longest;
}

}  // namespace

double rounding_of_attention(const arma::cube& Q, const arma::cube& K, arma::uword key_block) {
  const double u = std::ldexp(1.0, -24);
  const double D = static_cast<double>(Q.n_cols), S = static_cast<double>(K.n_rows);
  const double blocks = std::ceil(S / static_cast<double>(key_block));
  const double size = longest_row(Q) * longest_row(K) / std::sqrt(D);
  const double exponential = (D + 3) * u * size + 2 * u * size + 4 * u + 10 * blocks * u;
  return 2 * exponential + (2 * S + 2) * u;
}

}  // namespace attn::judge
