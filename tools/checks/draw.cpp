#include "checks/draw.hpp"

namespace attn::judge {

using arma::uword;

Mask random_mask(uword L, uword S, uword slices) {
  if (slices == 0) return {};
  return Mask(arma::cube(L, S, slices, arma::fill::randu) < 0.5);
}

arma::uvec shuffled(uword n) {
  arma::uvec order(n);
  uword next = 0;
  for (uword i = 1; i < n; i += 2) order(next++) = i;
  for (uword i = n; i-- > 0;) {
    if (i % 2 == 0) order(next++) = i;
  }
  return order;
}

arma::cube reordered(const arma::cube& x, const arma::uvec& order) {
  arma::cube result(order.n_elem, x.n_cols, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = arma::mat(x.slice(n)).rows(order);
  return result;
}

arma::cube reordered_columns(const arma::cube& x, const arma::uvec& order) {
  arma::cube result(x.n_rows, order.n_elem, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = arma::mat(x.slice(n)).cols(order);
  return result;
}

Mask reordered_columns(const Mask& x, const arma::uvec& order) {
  Mask result(x.n_rows, order.n_elem, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = arma::umat(x.slice(n)).cols(order);
  return result;
}

}  // namespace attn::judge
