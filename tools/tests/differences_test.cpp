// Central differences accept the gradient of a function, and refuse one that is off by a thousandth.
#include "checks/differences.hpp"

#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>

#include "checks/likeness.hpp"

namespace attn::judge {
namespace {

using arma::uword;

/// y = outer ∘ sin(inner ∘ x + shift) + a term of third degree, for each number of x: its gradient is known.
struct RandomFunction {
  arma::cube x, d_y, inner, shift, outer, cubic;

  RandomFunction() {
    const arma::uvec n = arma::randi<arma::uvec>(3, arma::distr_param(1, 4));
    for (arma::cube* part : {&x, &d_y, &inner, &shift, &outer, &cubic}) part->randn(n(0), n(1), n(2));
    x *= std::pow(10.0, arma::randi(arma::distr_param(-2, 2)));
    inner /= arma::abs(x).max();
    cubic /= std::pow(arma::abs(x).max(), 3);
  }

  CubeFunction y() const {
    return [this](const arma::cube& at) -> arma::cube {
      return outer % arma::sin(inner % at + shift) + cubic % at % at % at;
    };
  }

  arma::cube gradient() const { return d_y % (outer % inner % arma::cos(inner % x + shift) + 3 * cubic % x % x); }
};

bool accepts(const Expected& expected, const arma::cube& gradient) {
  return all_close(gradient, expected.values, expected.tolerance);
}

TEST(GradientByDifferences, AcceptsTheGradientAndRefusesOneThatIsOffByAThousandth) {
  arma::arma_rng::set_seed(24);
  for (int draw = 0; draw < 100; ++draw) {
    const RandomFunction function;
    const arma::cube gradient = function.gradient();
    // Gradients of functions of x / 100 are a hundredth as large: the tolerance is absolute below one, so scale first.
    const double scale = 1 / arma::abs(gradient).max();
    const arma::cube d_y = scale * function.d_y, right = scale * gradient, off = 1.001 * right;
    const Expected expected = gradient_by_differences(function.y(), d_y, function.x);
    EXPECT_TRUE(accepts(expected, right)) << "draw " << draw << ", tolerance " << expected.tolerance;
    EXPECT_FALSE(accepts(expected, off)) << "draw " << draw << ", tolerance " << expected.tolerance;
    EXPECT_LT(expected.tolerance, 1e-6) << "draw " << draw;
  }
}

TEST(DiagnoseSlopes, AcceptsTheGradientAndRefusesOneThatIsOffByAThousandth) {
  arma::arma_rng::set_seed(25);
  for (int draw = 0; draw < 100; ++draw) {
    const RandomFunction function;
    const arma::cube right = function.gradient(), off = 1.001 * right;
    EXPECT_EQ(diagnose_slopes(right, function.y(), function.d_y, function.x), "") << "draw " << draw;
    EXPECT_NE(diagnose_slopes(off, function.y(), function.d_y, function.x), "") << "draw " << draw;
  }
}

TEST(DiagnoseSlopes, RefusesAGradientWithOneWrongElement) {
  arma::arma_rng::set_seed(26);
  for (int draw = 0; draw < 100; ++draw) {
    const RandomFunction function;
    arma::cube wrong = function.gradient();
    wrong(arma::randi<uword>(arma::distr_param(0, static_cast<int>(wrong.n_elem) - 1))) += arma::abs(wrong).max();
    EXPECT_NE(diagnose_slopes(wrong, function.y(), function.d_y, function.x), "") << "draw " << draw;
  }
}

TEST(DiagnoseSlopes, RefusesAnotherShapeAndNaN) {
  const RandomFunction function;
  EXPECT_NE(diagnose_slopes(arma::cube(7, 1, 1), function.y(), function.d_y, function.x), "");
  arma::cube broken = function.gradient();
  broken(0) = arma::datum::nan;
  EXPECT_NE(diagnose_slopes(broken, function.y(), function.d_y, function.x), "");
}

TEST(SlopeAlong, BoundsItsErrorAndNotFarAbove) {
  arma::arma_rng::set_seed(27);
  for (int draw = 0; draw < 100; ++draw) {
    const RandomFunction function;
    const arma::cube direction(arma::size(function.x), arma::fill::randn);
    const Slope slope = slope_along(direction, function.y(), function.d_y, function.x);
    EXPECT_LE(std::abs(slope.value - arma::accu(function.gradient() % direction)), slope.error) << "draw " << draw;
    const double size = arma::accu(arma::abs(function.gradient() % direction));
    EXPECT_LT(slope.error, 1e-4 * size + 1e-12) << "draw " << draw;
  }
}

TEST(SlopeAlong, IsExactForAStraightLineUpToRounding) {
  const arma::cube x(2, 3, 4, arma::fill::value(5)), d_y(2, 3, 4, arma::fill::ones), v(2, 3, 4, arma::fill::ones);
  const Slope slope = slope_along(
      v, [](const arma::cube& at) -> arma::cube { return 3 * at; }, d_y, x);
  EXPECT_NEAR(slope.value, 72, slope.error);
  EXPECT_LT(slope.error, 1e-5);
}

TEST(SlopeAlong, WidensItsBoundWhereTheFunctionBends) {
  const arma::cube x(1, 1, 1, arma::fill::ones), one(1, 1, 1, arma::fill::ones);
  const auto waves = [](double pace) -> CubeFunction {
    return [pace](const arma::cube& at) -> arma::cube { return arma::sin(pace * at); };
  };
  const Slope slow = slope_along(one, waves(1), one, x), fast = slope_along(one, waves(1000), one, x);
  EXPECT_NEAR(slow.value, std::cos(1.0), slow.error);
  EXPECT_NEAR(fast.value, 1000 * std::cos(1000.0), fast.error);
  EXPECT_LT(1000 * slow.error, fast.error);
}

}  // namespace
}  // namespace attn::judge
