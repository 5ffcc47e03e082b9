#pragma once

#include <armadillo>

#include "attn/mask.hpp"

/// Inputs for checks, drawn by Armadillo's generator or filled.
namespace attn::judge {

inline arma::mat normal(arma::uword rows, arma::uword cols) { return {rows, cols, arma::fill::randn}; }
inline arma::cube normal(arma::uword rows, arma::uword cols, arma::uword slices) {
  return {rows, cols, slices, arma::fill::randn};
}
inline arma::cube zeros(arma::uword rows, arma::uword cols, arma::uword slices) {
  return {rows, cols, slices, arma::fill::zeros};
}
inline Mask ones(arma::uword rows, arma::uword cols, arma::uword slices) {
  return {rows, cols, slices, arma::fill::ones};
}

/// Zeros and ones, about as many of each. Without slices: no mask.
Mask random_mask(arma::uword L, arma::uword S, arma::uword slices);

/// An order of 0 to n - 1 in which nothing stays in its place for n = 4 and 5, and little for larger n.
arma::uvec shuffled(arma::uword n);

/// The rows of every slice, in another order, or some of them.
arma::cube reordered(const arma::cube& x, const arma::uvec& order);

/// The columns of every slice, likewise.
arma::cube reordered_columns(const arma::cube& x, const arma::uvec& order);
Mask reordered_columns(const Mask& x, const arma::uvec& order);

}  // namespace attn::judge
