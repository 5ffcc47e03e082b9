#include "attn/activations.hpp"

#include <cmath>

namespace attn {

arma::cube relu(const arma::cube& x) { return arma::clamp(x, 0.0, arma::datum::inf); }

arma::cube gelu(const arma::cube& x) { return 0.5 * x % (1 + arma::erf(x / std::sqrt(2.0))); }

arma::cube gelu_tanh(const arma::cube& x) {
  return 0.5 * x % (1 + arma::tanh(std::sqrt(2 / arma::datum::pi) * (x + 0.044715 * x % x % x)));
}

// Not exp(x) / (1 + exp(x)), which is infinity by infinity for a large x.
arma::cube silu(const arma::cube& x) { return x / (1 + arma::exp(-x)); }

}  // namespace attn
