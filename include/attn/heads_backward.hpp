#pragma once

#include <armadillo>

#include "attn/positions.hpp"
#include "attn/shape.hpp"

namespace attn {

/// Backward pass of Y = apply_rope(X, pairing, positions, speeds), which rotates each pair of features by position · speed
/// (Su et al., RoFormer, 2021, section 3.2.2). The gradient of a pair is as long as it was.
///
/// @param d_Y       (L x D x N), D an even number: how much the loss changes per change of each number of Y
/// @param positions (L x M), M a divisor of N, as apply_rope got them; empty: 0, 1, ... L-1
/// @param speeds    (1 x D/2), as apply_rope got them; empty: 10000^(-2p / D) for pair p
/// @return          (L x D x N), the gradient of X. X itself is not needed
/// @throws std::invalid_argument naming d_Y and its size, when a size is zero or D is odd; positions or speeds, as
///         apply_rope does.
arma::cube rope_backward(const arma::cube& d_Y, RopePairing pairing, const arma::umat& positions = {},
                         const arma::rowvec& speeds = {});

/// The key (or value) heads, once for each query head that reads them: slice n of the result is slice n / group_size of
/// X_heads, rounded down. With H = G · group_size, query head h of sequence b finds its key head in slice b·H + h
/// (PyTorch: torch.repeat_interleave over the heads).
///
/// @param X_heads    (S x D x G·B), slice b·G + g
/// @param group_size H / G
/// @return           (S x D x H·B)
/// @throws std::invalid_argument naming X_heads, when a size is zero, or group_size, when it is zero or the result would
///         have 2^64 numbers or more.
inline arma::cube repeat_heads(const arma::cube& X_heads, arma::uword group_size) {
  require_shape("X_heads", X_heads, {{"S"}, {"D"}, {"G·B"}});
  require_product({{"group_size", group_size}, {"the number of elements of X_heads", X_heads.n_elem}});
  arma::cube repeated(X_heads.n_rows, X_heads.n_cols, X_heads.n_slices * group_size);  // (S x D x H·B)
  for (arma::uword n = 0; n < repeated.n_slices; ++n) repeated.slice(n) = X_heads.slice(n / group_size);
  return repeated;
}

/// Backward pass of repeat_heads: from a gradient for each copy to one for each head that was copied.
///
/// @param d_heads    (S x D x H·B): a gradient for each query head's copy
/// @param group_size H / G
/// @return           (S x D x G·B)
/// @throws std::invalid_argument naming d_heads and its size, when a size is zero or group_size does not divide its
///         number of slices; group_size, when it is zero.
arma::cube sum_over_groups(const arma::cube& d_heads, arma::uword group_size);

}  // namespace attn
