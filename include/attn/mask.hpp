#pragma once

#include <armadillo>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

/// Which query may attend to which key: 1 (or any number but 0) may attend, 0 is blocked. Rows are queries, columns are
/// keys. An empty mask blocks nothing.
using Mask = arma::ucube;

/// "4 x 5 x 2": rows x columns x slices.
inline std::string shape_text(const Mask& x) {
  return std::to_string(x.n_rows) + " x " + std::to_string(x.n_cols) + " x " + std::to_string(x.n_slices);
}

/// Checks a mask for H heads of B sequences: (L x S x 1) is shared by the batch, (L x S x B) by the heads, (L x S x
/// H·B) by nothing. An empty mask is valid, too.
///
/// @throws std::invalid_argument "mask is 4 x 5 x 2, expected 4 x 4 x 1, 4 x 4 x 2 or 4 x 4 x 6".
inline void require_mask(const std::string& name, const Mask& mask, arma::uword L, arma::uword S, arma::uword batch,
                         arma::uword num_heads = 1) {
  if (mask.is_empty()) return;
  const arma::uword all_heads = product_of({{"num_heads", num_heads}, {"batch", batch}});
  const bool slices_fit = mask.n_slices == 1 || mask.n_slices == batch || mask.n_slices == all_heads;
  if (mask.n_rows == L && mask.n_cols == S && slices_fit) return;

  const auto of = [&](arma::uword slices) {
    return std::to_string(L) + " x " + std::to_string(S) + " x " + std::to_string(slices);
  };
  std::string expected = of(1);
  if (num_heads > 1 && batch > 1) expected += ", " + of(batch);
  if (all_heads > 1) expected += " or " + of(all_heads);
  throw std::invalid_argument(name + " is " + shape_text(mask) + ", expected " + expected);
}

}  // namespace attn
