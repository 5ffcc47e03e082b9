#pragma once

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

/// How much a loss changes per change of one number, by central differences (Nocedal, Wright: Numerical Optimization,
/// 2006, section 8.1).
///
/// Calls loss twice: with x moved up by h, and with x moved down by h. Then x is what it was, to the last bit.
///
/// @param loss the same number whenever x is the same: with dropout's mask fixed, for instance
/// @param x    a number that loss reads, such as one of a matrix or of a layer's weight
/// @param h    how far x is moved each way
/// @throws std::invalid_argument naming h, when it is not above zero.
double slope_by_differences(const std::function<double()>& loss, double& x, double h = 1e-5);

/// The slopes for all numbers of a matrix, vector or cube that loss reads: what its gradient must be, up to about nine
/// digits. Calls loss twice per number.
template <class Array>
Array slopes_by_differences(const std::function<double()>& loss, Array& X, double h = 1e-5) {
  Array slopes(arma::size(X));
  for (arma::uword k = 0; k < X.n_elem; ++k) slopes(k) = slope_by_differences(loss, X(k), h);
  return slopes;
}

/// Compares a derived gradient with the slopes of the loss:
/// `require_gradient("d_A", d_A, [&] { return arma::accu(d_C % (A * B)); }, A)`.
///
/// @param X what loss reads, and gradient is the gradient of
/// @throws std::runtime_error "d_A(1, 0) is 7, its slope by differences is 5" for the first number that is off by more
///         than 1e-6, relative to slopes above 1; or, where the shapes differ, with both.
template <class Array>
void require_gradient(const std::string& name, const Array& gradient, const std::function<double()>& loss, Array& X) {
  if (arma::size(gradient) != arma::size(X)) {
    throw std::runtime_error(name + " is " + shape_text(gradient) + ", expected " + shape_text(X));
  }
  const Array slopes = slopes_by_differences(loss, X);
  for (arma::uword k = 0; k < X.n_elem; ++k) {
    if (std::abs(gradient(k) - slopes(k)) <= 1e-6 * std::max(1.0, std::abs(slopes(k)))) continue;
    std::string place;
    for (const arma::uword index : arma::ind2sub(arma::size(X), k)) {
      place += (place.empty() ? "(" : ", ") + std::to_string(index);
    }
    throw std::runtime_error(name + place + ") is " + std::to_string(gradient(k)) + ", its slope by differences is " +
                             std::to_string(slopes(k)));
  }
}

}  // namespace attn
