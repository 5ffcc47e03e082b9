#pragma once

#include <armadillo>

namespace attn {

/// Layer normalization: each row (token) gets mean 0 and variance 1 over its E features, then a scale and a shift for
/// each feature. What one token gives depends on no other token.
///
///   y = (x - mean(x)) / sqrt(variance(x) + epsilon) ∘ weight + bias,   variance(x) = mean((x - mean(x))²)
///
/// The variance is that of a population: it is divided by E, not by E - 1. Ba, Kiros, Hinton: Layer Normalization
/// (2016); PyTorch's `torch.nn.LayerNorm`.
class LayerNorm {
 public:
  arma::rowvec weight;  ///< (1 x E), ones at first
  arma::rowvec bias;    ///< (1 x E), zeros at first
  double epsilon;       ///< under the root, so that a row of equal numbers is not divided by 0; not checked

  /// @param dim E, the number of features
  /// @throws std::invalid_argument "dim is 0, expected at least 1".
  explicit LayerNorm(arma::uword dim, double epsilon = 1e-5);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument naming X, its shape and E, when a size is zero or X does not have E columns.
  arma::cube operator()(const arma::cube& X) const;
};

/// Root mean square normalization: each row is divided by the root of the mean of its squares. No mean is subtracted,
/// and there is no bias.
///
///   y = x / sqrt(mean(x²) + epsilon) ∘ weight
///
/// Zhang, Sennrich: Root Mean Square Layer Normalization (2019). The place of epsilon is that of Llama, and of
/// `torch.nn.RMSNorm` in newer versions of PyTorch.
class RMSNorm {
 public:
  arma::rowvec weight;  ///< (1 x E), ones at first
  double epsilon;       ///< under the root; not checked

  /// @param dim E, the number of features; for the queries or keys of heads it is D
  /// @throws std::invalid_argument "dim is 0, expected at least 1".
  explicit RMSNorm(arma::uword dim, double epsilon = 1e-6);

  /// @param X (L x E x N): the slices are sequences, or the heads of all sequences
  /// @return  (L x E x N)
  /// @throws std::invalid_argument naming X, its shape and E, when a size is zero or X does not have E columns.
  arma::cube operator()(const arma::cube& X) const;
};

}  // namespace attn
