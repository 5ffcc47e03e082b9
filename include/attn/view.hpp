#pragma once

#include <armadillo>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

/// Gives X other sizes, as `X = X.view(sizes)` does in PyTorch, but column after column: `view(X, 4, 6, 2)`. No number
/// moves, and nothing is copied. Armadillo's own `X.reshape(4, 6, 2)` copies from version 14.2 on, and drops numbers
/// that do not fit.
///
/// @throws std::invalid_argument "X is 4 x 3 x 2 and has 24 elements, 4 x 5 x 2 has 40" when the numbers of elements
///         differ, or as product_of; X stays as it was.
inline void view(arma::cube& X, arma::uword rows, arma::uword columns, arma::uword slices) {
  const arma::uword n_elem = product_of({{"rows", rows}, {"columns", columns}, {"slices", slices}});
  if (n_elem != X.n_elem) {
    throw std::invalid_argument("X is " + shape_text(X) + " and has " + std::to_string(X.n_elem) + " elements, " +
                                std::to_string(rows) + " x " + std::to_string(columns) + " x " +
                                std::to_string(slices) + " has " + std::to_string(n_elem));
  }
  X.set_size(rows, columns, slices);  // keeps memory and numbers as long as n_elem stays
}

}  // namespace attn
