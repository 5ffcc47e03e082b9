#include "attn/positions.hpp"

#include <cmath>
#include <stdexcept>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// 10000^(-2p / D): (1 x D / 2), a number for each pair.
arma::rowvec speeds_of_pairs(arma::uword D) {
  const double width = static_cast<double>(D);
  arma::rowvec speeds(D / 2);
  for (arma::uword p = 0; p < speeds.n_elem; ++p) speeds(p) = std::pow(10000, -2.0 * static_cast<double>(p) / width);
  return speeds;
}

/// Each position times each speed: (L x D / 2), a column for each pair.
arma::mat angles(const arma::uvec& positions, const arma::rowvec& speeds) {
  return arma::conv_to<arma::vec>::from(positions) * speeds;
}

}  // namespace

arma::mat sinusoidal_positions(arma::uword L, arma::uword E, arma::uword first_position) {
  require_product({{"L", L}, {"E", E}});
  sum_of({{"first_position", first_position}, {"L", L}});
  require_multiple("E", E, "a pair's width", 2);
  const arma::uvec positions = first_position + arma::regspace<arma::uvec>(0, L - 1);
  const arma::mat turns = angles(positions, speeds_of_pairs(E));  // (L x E / 2)
  arma::mat encoding(L, E);
  for (arma::uword p = 0; p < turns.n_cols; ++p) {
    encoding.col(2 * p) = arma::sin(turns.col(p));
    encoding.col(2 * p + 1) = arma::cos(turns.col(p));
  }
  return encoding;
}

arma::cube apply_rope(const arma::cube& X, RopePairing pairing, const arma::umat& positions,
                      const arma::rowvec& speeds) {
  require_shape("X", X, {{"L"}, {"D"}, {"N"}});
  require_multiple("X, its number of columns,", X.n_cols, "a pair's width", 2);
  const arma::umat at = positions.is_empty() ? arma::regspace<arma::uvec>(0, X.n_rows - 1) : positions;  // (L x M)
  if (at.n_rows != X.n_rows || X.n_slices % at.n_cols != 0) {
    throw std::invalid_argument("positions is " + shape_text(at) + ", expected the rows of X, " + shape_text(X) +
                                ", and a number of columns that divides its slices");
  }
  const arma::rowvec turning = speeds.is_empty() ? speeds_of_pairs(X.n_cols) : speeds;  // (1 x D / 2)
  require_shape("speeds", turning, {{"1", 1}, {"D/2", X.n_cols / 2}});
  if (!turning.is_finite()) throw std::invalid_argument("speeds holds NaN or infinity, expected finite numbers");
  const bool interleaved = pairing == RopePairing::interleaved;
  arma::cube turned(arma::size(X));                      // (L x D x N)
  const arma::uword shared_by = X.n_slices / at.n_cols;  // neighbouring slices with the same positions
  for (arma::uword m = 0; m < at.n_cols; ++m) {
    const arma::mat turns = angles(at.col(m), turning);  // (L x D / 2)
    const arma::mat cosines = arma::cos(turns), sines = arma::sin(turns);
    for (arma::uword n = m * shared_by; n < (m + 1) * shared_by; ++n) {
      for (arma::uword p = 0; p < turns.n_cols; ++p) {
        const arma::uword a = interleaved ? 2 * p : p;
        const arma::uword b = interleaved ? 2 * p + 1 : p + turns.n_cols;
        turned.slice(n).col(a) = X.slice(n).col(a) % cosines.col(p) - X.slice(n).col(b) % sines.col(p);
        turned.slice(n).col(b) = X.slice(n).col(a) % sines.col(p) + X.slice(n).col(b) % cosines.col(p);
      }
    }
  }
  return turned;
}

Linear to_half_split(const Linear& interleaved, arma::uword num_heads) {
  require_shape("interleaved.weight", interleaved.weight, {{"in"}, {"H·D"}});
  const arma::uword out = interleaved.weight.n_cols;
  require_multiple("interleaved, its number of columns,", out, "num_heads", num_heads);
  require_multiple("interleaved, its number of columns,", out, "2 · num_heads", 2 * num_heads);
  if (!interleaved.bias.is_empty()) require_shape("interleaved.bias", interleaved.bias, {{"1", 1}, {"H·D", out}});
  const arma::uword D = out / num_heads;
  arma::uvec order(out);  // where each column comes from
  for (arma::uword h = 0; h < num_heads; ++h) {
    for (arma::uword p = 0; p < D / 2; ++p) {
      order(h * D + p) = h * D + 2 * p;
      order(h * D + p + D / 2) = h * D + 2 * p + 1;
    }
  }
  Linear half_split = interleaved;
  half_split.weight = interleaved.weight.cols(order);
  if (!interleaved.bias.is_empty()) half_split.bias = interleaved.bias.cols(order);
  return half_split;
}

arma::rowvec alibi_slopes(arma::uword num_heads) {
  require_positive("num_heads", num_heads);
  arma::rowvec slopes(num_heads);
  arma::uword power = 1;  // the largest power of two that is not above H
  while (2 * power <= num_heads) power *= 2;

  for (arma::uword h = 0; h < num_heads; ++h) {
    // With M = power: the exponents for 2M heads are the multiples of 4 / M, those for M heads the even multiples.
    const arma::uword multiple = h < power ? 2 * (h + 1) : 2 * (h - power) + 1;
    slopes(h) = std::exp2(-4.0 * static_cast<double>(multiple) / static_cast<double>(power));
  }
  return slopes;
}

arma::cube alibi_bias(arma::uword num_heads, arma::uword L, arma::uword S) {
  require_product({{"num_heads", num_heads}, {"L", L}, {"S", S}});
  const arma::rowvec slopes = alibi_slopes(num_heads);
  arma::cube bias(L, S, num_heads);
  for (arma::uword h = 0; h < num_heads; ++h) {
    for (arma::uword i = 0; i < L; ++i) {
      for (arma::uword j = 0; j < S; ++j) {
        const double distance = static_cast<double>(i + S) - static_cast<double>(L + j);  // may be below zero
        bias(i, j, h) = -slopes(h) * distance;
      }
    }
  }
  return bias;
}

}  // namespace attn
