#pragma once

#include <armadillo>
#include <stdexcept>
#include <string>

#include "attn/activations.hpp"

namespace attn {

// Backward passes of lesson 20's activations: d_y times the derivative at x, element by element. Right for numbers as
// large as 1e4: gelu_backward(-1e4, 1) is 0, not NaN. d_x has the shape of x. All throw std::invalid_argument naming
// x or d_y, its shape and what was expected.

/// d_y where x > 0, else 0; at 0 the derivative is taken as 0, as PyTorch takes it.
arma::cube relu_backward(const arma::cube& x, const arma::cube& d_y);

/// Of x Φ(x), with the exact Φ.
arma::cube gelu_backward(const arma::cube& x, const arma::cube& d_y);

/// Of x (1 + t) / 2, where t = tanh(√(2/π) (x + 0.044715 x³)). Differs from gelu_backward by up to 1e-3 or so.
arma::cube gelu_tanh_backward(const arma::cube& x, const arma::cube& d_y);

/// Of x σ(x).
arma::cube silu_backward(const arma::cube& x, const arma::cube& d_y);

/// The backward pass of the function that an Activation names.
inline arma::cube activate_backward(Activation activation, const arma::cube& x, const arma::cube& d_y) {
  switch (activation) {
    case Activation::relu: return relu_backward(x, d_y);
    case Activation::gelu: return gelu_backward(x, d_y);
    case Activation::gelu_tanh: return gelu_tanh_backward(x, d_y);
    case Activation::silu: return silu_backward(x, d_y);
  }
  throw std::invalid_argument("activation is " + std::to_string(static_cast<int>(activation)) +
                              ", expected relu, gelu, gelu_tanh or silu");
}

}  // namespace attn
