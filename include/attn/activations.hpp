#pragma once

#include <armadillo>
#include <stdexcept>
#include <string>

namespace attn {

// Each is applied to every number by itself, and is right for every finite number: gelu(-1e4) is 0 (or -0), not NaN.
// The result has the shape of x. NaN stays NaN.

/// max(0, x). Vaswani et al. (2017), section 3.3.
arma::cube relu(const arma::cube& x);

/// x Φ(x), exact: Φ(x) = (1 + erf(x / √2)) / 2 is the probability that a standard normal number is below x.
/// Hendrycks, Gimpel: Gaussian Error Linear Units (2016); PyTorch's `F.gelu(x)`; BERT in Hugging
/// Face's transformers.
arma::cube gelu(const arma::cube& x);

/// Nearly the same without erf: x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).
/// The same paper; PyTorch's `F.gelu(x, approximate="tanh")`; GPT-2.
arma::cube gelu_tanh(const arma::cube& x);

/// x σ(x) = x / (1 + exp(-x)), also called swish. PyTorch's `F.silu`; in SwiGLU.
arma::cube silu(const arma::cube& x);

/// One of these functions, by name.
enum class Activation {
  relu,       ///< the first Transformer (2017)
  gelu,       ///< exact
  gelu_tanh,  ///< GPT-2
  silu
};

/// The function that an Activation names, of every number of x.
inline arma::cube activate(Activation activation, const arma::cube& x) {
  switch (activation) {
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu(x);
    case Activation::gelu_tanh: return gelu_tanh(x);
    case Activation::silu: return silu(x);
  }
  throw std::invalid_argument("activation is " + std::to_string(static_cast<int>(activation)) +
                              ", expected relu, gelu, gelu_tanh or silu");
}

}  // namespace attn
