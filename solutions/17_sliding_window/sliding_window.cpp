#include "attn/sliding_window.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

arma::uvec window_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword window, arma::uword sinks) {
  require_positive("L", L);
  require_positive("S", S);
  require_positive("window", window);
  if (i >= L) {
    throw std::invalid_argument("i is " + std::to_string(i) + ", expected a query below L = " + std::to_string(L));
  }
  sum_of({{"L", L}, {"S", S}});
  if (i + S < L) return {};
  const arma::uword end = i + S - L + 1;                  // after the query's own place
  const arma::uword start = end - std::min(window, end);  // of the window, without going below zero
  const arma::uword kept = std::min(sinks, start);        // the sinks that the window does not hold already
  arma::uvec keys(kept + end - start);
  for (arma::uword n = 0; n < keys.n_elem; ++n) keys(n) = n < kept ? n : start + n - kept;
  return keys;
}

Mask sliding_window_mask(arma::uword L, arma::uword S, arma::uword window, arma::uword sinks) {
  require_product({{"L", L}, {"S", S}});
  Mask mask(L, S, 1, arma::fill::zeros);
  for (arma::uword i = 0; i < L; ++i) {
    for (const arma::uword j : window_keys(i, L, S, window, sinks)) mask(i, j, 0) = 1;
  }
  return mask;
}

arma::cube sliding_window_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword window,
                                    arma::uword sinks) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"N"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"N", Q.n_slices}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"N", Q.n_slices}});

  const double scale = std::sqrt(static_cast<double>(Q.n_cols));
  arma::cube output(Q.n_rows, V.n_cols, Q.n_slices, arma::fill::zeros);  // (L x Dv x N)
  for (arma::uword i = 0; i < Q.n_rows; ++i) {
    const arma::uvec keys = window_keys(i, Q.n_rows, K.n_rows, window, sinks);  // W of them
    if (keys.is_empty()) continue;                                              // no row to take a softmax of
    for (arma::uword n = 0; n < Q.n_slices; ++n) {
      const arma::mat scores = Q.slice(n).row(i) * K.slice(n).rows(keys).t() / scale;  // (1 x W)
      output.slice(n).row(i) = softmax_rows(scores) * V.slice(n).rows(keys);           // (1 x Dv)
    }
  }
  return output;
}

}  // namespace attn
