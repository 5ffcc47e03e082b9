#pragma once

#include <armadillo>

#include "attn/norm.hpp"

namespace attn {

/// The gradients of a norm's parameters.
struct NormGradients {
  arma::rowvec weight;  ///< (1 x E)
  arma::rowvec bias;    ///< (1 x E); empty for RMSNorm
};

/// What the backward pass of a norm gives.
struct NormBackward {
  arma::cube d_X;         ///< (L x E x B)
  NormGradients d_layer;  ///< summed over all tokens of all sequences
};

/// Backward pass of Y = norm(X) (Ba, Kiros, Hinton 2016; PyTorch's native_layer_norm_backward). Each row of d_X depends on
/// its own token only; weight and bias are shared by all tokens. Mean and root of each row are computed again, since
/// nothing but X was kept. Rows of d_X sum to zero.
///
/// @param X   (L x E x B), what went into the norm
/// @param d_Y (L x E x B): how much the loss changes per change of each number of Y
/// @throws std::invalid_argument naming X or d_Y, its shape and what was expected.
NormBackward layer_norm_backward(const LayerNorm& norm, const arma::cube& X, const arma::cube& d_Y);

/// Backward pass of Y = norm(X) for RMSNorm (Zhang, Sennrich 2019). With epsilon = 0, each row of d_X is orthogonal to its
/// row of X.
///
/// @param X   (L x E x B), what went into the norm
/// @param d_Y (L x E x B): how much the loss changes per change of each number of Y
/// @return    the bias's gradient is empty
/// @throws std::invalid_argument naming X or d_Y, its shape and what was expected.
NormBackward rms_norm_backward(const RMSNorm& norm, const arma::cube& X, const arma::cube& d_Y);

}  // namespace attn
