#include "attn/activations.hpp"

#include <cmath>

#include "attn/todo.hpp"

namespace attn {

arma::cube relu(const arma::cube& x) {
  // TODO(20.3): max(0, x), of every number.
  todo("20.3");
}

arma::cube gelu(const arma::cube& x) {
  // The second part of 20.3: x times the probability that a standard normal number is below x, with erf.
  todo("20.3");
}

arma::cube gelu_tanh(const arma::cube& x) {
  // The third part of 20.3: nearly the same, with tanh.
  todo("20.3");
}

arma::cube silu(const arma::cube& x) {
  // The fourth part of 20.3: x times its sigmoid. No NaN for a large x, whatever its sign.
  todo("20.3");
}

}  // namespace attn
