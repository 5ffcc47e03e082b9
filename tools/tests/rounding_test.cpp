// The tolerance for attention in float is above what rounding does, and not far above.
#include "checks/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>

namespace attn::judge {
namespace {

using arma::uword;

/// Attention of one query, plainly, in Number.
template <typename Number>
arma::Row<Number> plain_attention(const arma::Row<Number>& q, const arma::Mat<Number>& K, const arma::Mat<Number>& V) {
  arma::Row<Number> output(V.n_cols, arma::fill::zeros), scores(K.n_rows, arma::fill::zeros);
  for (uword j = 0; j < K.n_rows; ++j) {
    for (uword d = 0; d < K.n_cols; ++d) scores(j) += q(d) * K(j, d);
  }
  scores /= std::sqrt(static_cast<Number>(K.n_cols));
  Number sum = 0;
  for (uword j = 0; j < K.n_rows; ++j) {
    const Number weight = std::exp(scores(j) - scores.max());
    sum += weight;
    output += weight * V.row(j);
  }
  return output / sum;
}

/// The largest difference between float and double, over many draws, as a part of what is tolerated.
double used_of_tolerance(uword S, uword D, float spread) {
  arma::arma_rng::set_seed(19);
  double most = 0;
  for (int draw = 0; draw < 20; ++draw) {
    const arma::frowvec q = spread * arma::frowvec(D, arma::fill::randn);
    const arma::fmat K = spread * arma::fmat(S, D, arma::fill::randn);
    const arma::fmat V(S, 5, arma::fill::randn);
    const arma::rowvec q_wide = arma::conv_to<arma::rowvec>::from(q);
    const arma::mat K_wide = arma::conv_to<arma::mat>::from(K), V_wide = arma::conv_to<arma::mat>::from(V);
    arma::cube Q_cube(1, D, 1), K_cube(S, D, 1);
    Q_cube.slice(0) = q_wide;
    K_cube.slice(0) = K_wide;
    const arma::rowvec narrow = arma::conv_to<arma::rowvec>::from(plain_attention<float>(q, K, V));
    const arma::rowvec error = arma::abs(narrow - plain_attention<double>(q_wide, K_wide, V_wide));
    most = std::max(most, error.max() / (rounding_of_attention(Q_cube, K_cube, S) * arma::abs(V_wide).max()));
  }
  return most;
}

TEST(RoundingOfAttention, IsAboveTheErrorOfFloatAndNotFarAbove) {
  for (const uword S : {1U, 7U, 70U}) {
    for (const uword D : {1U, 4U, 64U}) {
      for (const float spread : {0.1F, 1.0F, 10.0F}) {
        const double used = used_of_tolerance(S, D, spread);
        EXPECT_LT(used, 1) << S << " keys, D = " << D << ", spread " << spread;
        // Where one key has all the weight nothing is rounded: a single key, or one whose score is far above the
        // others. With a spread of 10 scores differ by hundreds.
        if (S > 1 && spread <= 1) {
          EXPECT_GT(used, 0.0002) << S << " keys, D = " << D << ", spread " << spread;
        }
      }
    }
  }
}

TEST(RoundingOfAttention, GrowsWithScoresKeysAndBlocks) {
  const arma::cube Q(3, 4, 2, arma::fill::ones), K(7, 4, 2, arma::fill::ones), long_K(70, 4, 2, arma::fill::ones);
  const double rounding = rounding_of_attention(Q, K, 7);
  const double u = std::ldexp(1.0, -24);  // longest rows 2 and 2, so size = 4 / sqrt(4) = 2
  EXPECT_NEAR(rounding, (2 * (7 * 2 + 2 * 2 + 4 + 10) + 16) * u, 1e-15);
  EXPECT_NEAR(rounding_of_attention(Q, 10 * K, 7), rounding + 2 * 9 * 18 * u, 1e-15);
  EXPECT_NEAR(rounding_of_attention(Q, K, 3), rounding + 2 * 2 * 10 * u, 1e-15);
  EXPECT_NEAR(rounding_of_attention(Q, long_K, 70), rounding + 2 * 63 * u, 1e-15);
}

}  // namespace
}  // namespace attn::judge
