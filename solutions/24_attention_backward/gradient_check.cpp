#include "attn/gradient_check.hpp"

#include <stdexcept>
#include <string>

namespace attn {

double slope_by_differences(const std::function<double()>& loss, double& x, double h) {
  if (!(h > 0)) throw std::invalid_argument("h is " + std::to_string(h) + ", expected a step above 0");
  const double before = x;
  x = before + h;
  const double above = loss();
  x = before - h;
  const double below = loss();
  x = before;  // x += h may round to a neighbouring number
  return (above - below) / (2 * h);
}

}  // namespace attn
