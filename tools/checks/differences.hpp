#pragma once

#include <armadillo>
#include <functional>
#include <string>
#include <vector>

#include "checks/diagnosis.hpp"

/// Gradients by central differences, each with a bound of its error: what a gradient that was derived is compared with.
///
/// The loss is L(x) = Σ d_y ∘ y(x), for any function y from a cube to a cube. With x ± h·v, for a direction v,
///
///   D(h) = (L(x + h·v) − L(x − h·v)) / 2h = slope + h² L‴ / 6 + O(h⁴)
///
/// - Truncation. D(2h) − D(h) is 3 h² L‴ / 6 + O(h⁴): three times the error of D(h). All of it is taken as the bound,
///   which leaves room for the O(h⁴).
/// - Rounding of y. Each number of y is taken to be good to 32 u of the largest one, with u = 2^-53: attention and
///   softmax over some ten keys need less. L is then off by at most 32 u · max|y| · Σ|d_y|, and D(h) by that over h.
/// - Rounding of x. x ± h·v is off by u · max|x|, and D(h) by that over h, times the slope for each number that moves.
///
/// h is the cube root of 2u, times the largest |x|, over the largest |v|: near the optimum, as truncation grows with h²
/// and rounding with 1 / h. It is rounded to a power of two.
namespace attn::judge {

/// A function of one cube, such as a forward pass with all other inputs fixed.
using CubeFunction = std::function<arma::cube(const arma::cube& x)>;

/// A slope, and a bound of its error.
struct Slope {
  double value = 0;
  double error = 0;
};

/// How fast Σ d_y ∘ y(x) changes when x moves along `direction`: what the sum of gradient ∘ direction must be.
/// Calls y four times.
Slope slope_along(const arma::cube& direction, const CubeFunction& y, const arma::cube& d_y, const arma::cube& x);

/// The gradient of Σ d_y ∘ y(x) with respect to x, element by element: to compare with Matches. Its tolerance is the
/// largest bound of all elements, relative above one, and absolute below. Calls y four times for each element.
Expected gradient_by_differences(const CubeFunction& y, const arma::cube& d_y, const arma::cube& x,
                                 std::vector<std::string> axes = {"rows", "columns", "slices"});

/// Whether a gradient has the slope along itself, and along `directions` random ones: for cubes with too many elements
/// for gradient_by_differences. A gradient that is wrong by a factor shows along itself. Empty when all is well, else a
/// part of a message (failure.hpp).
std::string diagnose_slopes(const arma::cube& gradient, const CubeFunction& y, const arma::cube& d_y,
                            const arma::cube& x, int directions = 3);

}  // namespace attn::judge
