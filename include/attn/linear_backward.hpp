#pragma once

#include <armadillo>

#include "attn/linear.hpp"

namespace attn {

/// The gradients of a linear layer's parameters.
struct LinearGradients {
  arma::mat weight;   ///< (in x out)
  arma::rowvec bias;  ///< (1 x out); empty when the layer has no bias
};

/// What linear_backward gives.
struct LinearBackward {
  arma::cube d_X;           ///< (L x in x B)
  LinearGradients d_layer;  ///< summed over all tokens of all sequences
};

/// Backward pass of Y = layer(X): Y = X W + b for every slice, with one W and one b for all tokens of all sequences
/// (Goodfellow, Bengio, Courville: Deep Learning, section 6.5.6).
///
/// @param X   (L x in x B), what went into the layer
/// @param d_Y (L x out x B): how much the loss changes per change of each number of Y
/// @throws std::invalid_argument naming X or d_Y, its shape and what was expected.
LinearBackward linear_backward(const Linear& layer, const arma::cube& X, const arma::cube& d_Y);

}  // namespace attn
