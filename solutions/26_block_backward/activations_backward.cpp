#include "attn/activations_backward.hpp"

#include <cmath>

#include "attn/shape.hpp"

namespace attn {

namespace {

void require_same_shape(const arma::cube& x, const arma::cube& d_y) {
  require_shape("x", x, {{"L"}, {"F"}, {"B"}});
  require_shape("d_y", d_y, {{"L", x.n_rows}, {"F", x.n_cols}, {"B", x.n_slices}});
}

}  // namespace

arma::cube relu_backward(const arma::cube& x, const arma::cube& d_y) {
  require_same_shape(x, d_y);
  arma::cube d_x = d_y;
  d_x.elem(arma::find(x <= 0)).zeros();
  return d_x;
}

arma::cube gelu_backward(const arma::cube& x, const arma::cube& d_y) {
  require_same_shape(x, d_y);
  const arma::cube below = (1 + arma::erf(x / std::sqrt(2.0))) / 2;                             // Φ(x)
  const arma::cube density = arma::exp(-arma::square(x) / 2) / std::sqrt(2 * arma::datum::pi);  // φ(x)
  return d_y % (below + x % density);
}

arma::cube gelu_tanh_backward(const arma::cube& x, const arma::cube& d_y) {
  require_same_shape(x, d_y);
  const double c = std::sqrt(2 / arma::datum::pi);
  const arma::cube t = arma::tanh(c * (x + 0.044715 * x % x % x));
  const arma::cube d_inner = c * (1 + 3 * 0.044715 * arma::square(x));
  return d_y % ((1 + t) / 2 + x / 2 % (1 - arma::square(t)) % d_inner);
}

arma::cube silu_backward(const arma::cube& x, const arma::cube& d_y) {
  require_same_shape(x, d_y);
  const arma::cube sigmoid = 1 / (1 + arma::exp(-x));
  return d_y % sigmoid % (1 + x % (1 - sigmoid));
}

}  // namespace attn
