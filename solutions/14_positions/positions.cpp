#include "attn/positions.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// angles(i, p) = (first_position + i) · base^(-2p / width): (L x width / 2), a column for each pair.
arma::mat angles(arma::uword L, arma::uword width, arma::uword first_position, double base) {
  arma::mat result(L, width / 2);
  for (arma::uword p = 0; p < result.n_cols; ++p) {
    const double speed = std::pow(base, -2.0 * static_cast<double>(p) / static_cast<double>(width));
    for (arma::uword i = 0; i < L; ++i) result(i, p) = static_cast<double>(first_position + i) * speed;
  }
  return result;
}

}  // namespace

arma::mat sinusoidal_positions(arma::uword L, arma::uword E, arma::uword first_position) {
  require_product({{"L", L}, {"E", E}});
  require_multiple("E", E, "a pair's width", 2);
  const arma::mat turns = angles(L, E, first_position, 10000);  // (L x E / 2)
  arma::mat encoding(L, E);
  for (arma::uword p = 0; p < turns.n_cols; ++p) {
    encoding.col(2 * p) = arma::sin(turns.col(p));
    encoding.col(2 * p + 1) = arma::cos(turns.col(p));
  }
  return encoding;
}

arma::cube apply_rope(const arma::cube& X, RopePairing pairing, arma::uword first_position, double base) {
  require_shape("X", X, {{"L"}, {"D"}, {"N"}});
  require_multiple("X, its number of columns,", X.n_cols, "a pair's width", 2);
  if (!(base > 0) || std::isinf(base)) {
    throw std::invalid_argument("base is " + std::to_string(base) + ", expected a finite number above 0");
  }
  const bool interleaved = pairing == RopePairing::interleaved;
  const arma::mat turns = angles(X.n_rows, X.n_cols, first_position, base);  // (L x D / 2)
  const arma::mat cosines = arma::cos(turns);
  const arma::mat sines = arma::sin(turns);

  arma::cube turned(arma::size(X));  // (L x D x N)
  for (arma::uword n = 0; n < X.n_slices; ++n) {
    for (arma::uword p = 0; p < turns.n_cols; ++p) {
      const arma::uword a = interleaved ? 2 * p : p;
      const arma::uword b = interleaved ? 2 * p + 1 : p + turns.n_cols;
      turned.slice(n).col(a) = X.slice(n).col(a) % cosines.col(p) - X.slice(n).col(b) % sines.col(p);
      turned.slice(n).col(b) = X.slice(n).col(a) % sines.col(p) + X.slice(n).col(b) % cosines.col(p);
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
