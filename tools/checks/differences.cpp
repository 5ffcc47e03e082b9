#include "checks/differences.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verdict/words.hpp"

namespace attn::judge {

namespace {

constexpr double unit = 1.1102230246251565e-16;  // 2^-53
constexpr double units_of_y = 32;

double largest(const arma::cube& x) { return x.is_empty() ? 0 : arma::abs(x).max(); }

/// The difference quotient with one step, and the largest |y| that was met.
struct Quotient {
  double value = 0;
  double largest_y = 0;
};

Quotient quotient(double h, const arma::cube& direction, const CubeFunction& y, const arma::cube& d_y,
                  const arma::cube& x) {
  const arma::cube above = y(x + h * direction), below = y(x - h * direction);
  return {arma::accu(d_y % (above - below)) / (2 * h), std::max(largest(above), largest(below))};
}

}  // namespace

Slope slope_along(const arma::cube& direction, const CubeFunction& y, const arma::cube& d_y, const arma::cube& x) {
  const double size = largest(x) > 0 ? largest(x) : 1, step = largest(direction);
  if (step == 0) return {};
  const double h = std::exp2(std::round(std::log2(std::cbrt(2 * unit) * size / step)));
  const Quotient fine = quotient(h, direction, y, d_y, x), coarse = quotient(2 * h, direction, y, d_y, x);

  const double truncation = std::abs(coarse.value - fine.value);
  const double rounding_of_y = units_of_y * unit * fine.largest_y * arma::accu(arma::abs(d_y)) / h;
  const double moved = std::sqrt(static_cast<double>(arma::accu(direction != 0)));  // errors of both signs
  const double rounding_of_x = unit * size / (h * step) * moved * std::abs(fine.value);
  return {fine.value, truncation + rounding_of_y + rounding_of_x};
}

Expected gradient_by_differences(const CubeFunction& y, const arma::cube& d_y, const arma::cube& x,
                                 std::vector<std::string> axes) {
  Expected gradient{arma::cube(arma::size(x)), std::move(axes), 0};
  arma::cube direction(arma::size(x), arma::fill::zeros);
  for (arma::uword k = 0; k < x.n_elem; ++k) {
    direction(k) = 1;
    const Slope slope = slope_along(direction, y, d_y, x);
    direction(k) = 0;
    gradient.values(k) = slope.value;
    gradient.tolerance = std::max(gradient.tolerance, slope.error / std::max(1.0, std::abs(slope.value)));
  }
  return gradient;
}

std::string diagnose_slopes(const arma::cube& gradient, const CubeFunction& y, const arma::cube& d_y,
                            const arma::cube& x, int directions) {
  if (arma::size(gradient) != arma::size(x)) {
    return line("shape", shape_text(gradient) + ", expected " + shape_text(x) + ", as what it is the gradient of");
  }
  if (gradient.has_nan()) return line("value", "the gradient holds NaN");
  for (int k = 0; k <= directions; ++k) {
    const bool along_itself = k == 0 && largest(gradient) > 0;
    const arma::cube direction = along_itself ? gradient : arma::cube(arma::size(x), arma::fill::randn);
    const Slope slope = slope_along(direction, y, d_y, x);
    const double got = arma::accu(gradient % direction);
    if (std::abs(got - slope.value) <= slope.error) continue;
    return line("value", std::string("along ") + (along_itself ? "the gradient" : "a random direction") +
                             ", the slope by differences is " + number_text(slope.value, 8) + ", good to " +
                             number_text(slope.error, 8) + "; by the gradient it would be " + number_text(got, 8));
  }
  return "";
}

}  // namespace attn::judge
