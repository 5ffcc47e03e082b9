#include "attn/activations_backward.hpp"

#include <cmath>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// Each takes x and d_y (L x F x B), and gives d_x (L x F x B): d_y times the derivative at x, element by element. Reject
// shapes that differ.

arma::cube relu_backward(const arma::cube& x, const arma::cube& d_y) {
  // TODO(26.3): the derivative of max(0, x); at 0 take 0.
  todo("26.3");
}

arma::cube gelu_backward(const arma::cube& x, const arma::cube& d_y) {
  // TODO(26.3): the derivative of x Φ(x).
  todo("26.3");
}

arma::cube gelu_tanh_backward(const arma::cube& x, const arma::cube& d_y) {
  // TODO(26.3): the derivative of x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).
  todo("26.3");
}

arma::cube silu_backward(const arma::cube& x, const arma::cube& d_y) {
  // TODO(26.3): the derivative of x σ(x).
  todo("26.3");
}

}  // namespace attn
