#pragma once

#include <armadillo>

namespace attn {

/// A linear layer: y = x * weight + bias, with tokens as rows.
///
/// PyTorch's `nn.Linear` stores the transposed weight, (out x in), and computes x * weight^T + bias.
struct Linear {
  arma::mat weight;   ///< (in x out)
  arma::rowvec bias;  ///< (1 x out); empty when the layer has no bias

  /// Draws weight and bias uniformly from (-1/sqrt(in), 1/sqrt(in)), as `nn.Linear` does
  /// (`Linear.reset_parameters` in torch/nn/modules/linear.py), from Armadillo's generator
  /// (`arma::arma_rng::set_seed`).
  ///
  /// @throws std::invalid_argument when `in` or `out` is zero.
  Linear(arma::uword in, arma::uword out, bool with_bias = true);

  /// @param x (L x in)
  /// @return  (L x out)
  /// @throws std::invalid_argument when x has no rows, or not `in` columns.
  arma::mat operator()(const arma::mat& x) const;

  /// The same layer for every slice.
  ///
  /// @param x (L x in x B)
  /// @return  (L x out x B)
  /// @throws std::invalid_argument when x has no rows or slices, or not `in` columns.
  arma::cube operator()(const arma::cube& x) const;
};

}  // namespace attn
