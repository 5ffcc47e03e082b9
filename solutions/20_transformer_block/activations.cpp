#include "attn/activations.hpp"

#include <cmath>

namespace attn {

arma::cube relu(const arma::cube& x) {
  // NaN stays NaN, as it would not with std::max(0.0, number).
  return arma::clamp(x, 0.0, arma::datum::inf);
}

arma::cube gelu(const arma::cube& x) {
  const arma::cube below = (1 + arma::erf(x / std::sqrt(2.0))) / 2;  // Φ(x)
  return x % below;
}

arma::cube gelu_tanh(const arma::cube& x) {
  const arma::cube inner = std::sqrt(2 / arma::datum::pi) * (x + 0.044715 * x % x % x);
  return x % ((1 + arma::tanh(inner)) / 2);  // never above x, so that the largest one does not overflow
}

arma::cube silu(const arma::cube& x) {
  // Not exp(x) / (1 + exp(x)): that is infinity by infinity for a large x.
  return x / (1 + arma::exp(-x));
}

}  // namespace attn
