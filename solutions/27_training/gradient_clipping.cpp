#include "attn/gradient_clipping.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace attn {

double clip_gradients(const std::vector<ParameterView>& gradients, double max_norm) {
  if (!(max_norm > 0)) {
    throw std::invalid_argument("max_norm is " + std::to_string(max_norm) + ", expected a number above 0");
  }
  double squares = 0;
  for (const ParameterView& gradient : gradients) squares += arma::accu(arma::square(gradient.vector()));
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);
  if (factor < 1) {
    for (const ParameterView& gradient : gradients) {
      arma::vec g = gradient.vector();
      g *= factor;
    }
  }
  return norm;
}

}  // namespace attn
