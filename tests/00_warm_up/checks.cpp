#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/linear.hpp"
#include "attn/softmax.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

// ------------------------------------------------------------------------------------ softmax of a matrix, 00.1

TEST(SoftmaxMatrix, KeepsTheShape) {
  EXPECT_THAT(softmax_rows(arma::mat(4, 5, arma::fill::randn)), HasShape({{"L", 4}, {"S", 5}}));
}

TEST(SoftmaxMatrix, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("softmax_by_hand");
  EXPECT_THAT(softmax_rows(arma::mat{{1, 0}, {2, 4}}), Matches(golden.expected("weights")));
}

TEST(SoftmaxMatrix, MakesRowsThatSumToOne) {
  const GoldenCase golden = load_golden("softmax_matrix");
  EXPECT_THAT(softmax_rows(golden.mat("scores")), RowsSumToOne());
}

TEST(SoftmaxMatrix, DoesNotChangeWhenARowIsShifted) {
  const arma::mat scores = load_golden("softmax_matrix").mat("scores");
  arma::mat shifted = scores;
  shifted.each_col() += arma::vec{3, -2, 0.5, 7};
  EXPECT_THAT(softmax_rows(shifted), IsNear(softmax_rows(scores), {"L", "S"}))
      << note("adding one number to all scores of a row must change nothing in that row");
}

TEST(SoftmaxMatrix, EqualsPyTorch) {
  const GoldenCase golden = load_golden("softmax_matrix");
  EXPECT_THAT(softmax_rows(golden.mat("scores")), Matches(golden.expected("weights")));
}

TEST(SoftmaxMatrix, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("softmax_far_from_zero");
  EXPECT_THAT(softmax_rows(golden.mat("scores")), Matches(golden.expected("weights")));
}

TEST(SoftmaxMatrix, AcceptsEachExtremeRowAlone) {
  const GoldenCase golden = load_golden("softmax_far_from_zero");
  const arma::mat scores = golden.mat("scores");
  const arma::mat weights = golden.mat("weights");
  for (arma::uword i = 0; i < scores.n_rows; ++i) {
    EXPECT_THAT(softmax_rows(arma::mat(scores.row(i))), IsNear(arma::mat(weights.row(i)), {"L", "S"}));
  }
}

TEST(SoftmaxMatrix, GivesOneForASingleColumn) {
  EXPECT_THAT(softmax_rows(arma::mat(3, 1, arma::fill::randn)), IsNear(arma::mat(3, 1, arma::fill::ones), {"L", "S"}));
}

TEST(SoftmaxMatrix, PassesOnANaN) {
  arma::mat scores(4, 3, arma::fill::randn);
  scores(2, 1) = arma::datum::nan;
  arma::cube wanted = naive_softmax_rows(as_cube(scores));
  wanted.row(2).fill(arma::datum::nan);
  const arma::mat weights = softmax_rows(scores);
  EXPECT_THAT(weights, IsNear(arma::mat(wanted.slice(0)), {"L", "S"}))
      << note("row 2 holds NaN and becomes NaN; no other row does")
      << (hides_nan(as_cube(weights), wanted) ? likely_mistake("nan_hidden") : "");
}

TEST(SoftmaxMatrix, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"0 x 0"}), [] { softmax_rows(arma::mat()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"3 x 0"}), [] { softmax_rows(arma::mat(3, 0)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"0 x 4"}), [] { softmax_rows(arma::mat(0, 4)); });
}

// -------------------------------------------------------------------------------------- softmax of a cube, 00.2

TEST(SoftmaxCube, KeepsTheShape) {
  EXPECT_THAT(softmax_rows(arma::cube(4, 3, 2, arma::fill::randn)), HasShape({{"L", 4}, {"S", 3}, {"B", 2}}));
}

TEST(SoftmaxCube, EqualsPyTorch) {
  const GoldenCase golden = load_golden("softmax_cube");
  EXPECT_THAT(softmax_rows(golden.cube("scores")), Matches(golden.expected("weights")));
}

TEST(SoftmaxCube, EqualsTheDefinitionForOtherSizes) {
  for (const arma::SizeCube size : {arma::SizeCube(1, 6, 2), arma::SizeCube(5, 1, 3), arma::SizeCube(7, 2, 1)}) {
    const arma::cube scores(size, arma::fill::randn);
    EXPECT_THAT(softmax_rows(scores), IsNear(naive_softmax_rows(scores), {"L", "S", "B"}));
  }
}

TEST(SoftmaxCube, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("softmax_cube_far_from_zero");
  EXPECT_THAT(softmax_rows(golden.cube("scores")), Matches(golden.expected("weights")));
}

TEST(SoftmaxCube, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"4 x 3 x 0"}), [] { softmax_rows(arma::cube(4, 3, 0)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"4 x 0 x 2"}), [] { softmax_rows(arma::cube(4, 0, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"0 x 3 x 2"}), [] { softmax_rows(arma::cube(0, 3, 2)); });
}

// ---------------------------------------------------------------------------------------- a new linear layer, 00.3

TEST(LinearInit, HasAWeightOfInTimesOut) {
  const Linear layer(3, 5);
  EXPECT_THAT(layer.weight, HasShape({{"in", 3}, {"out", 5}}));
  EXPECT_THAT(arma::mat(layer.bias), HasShape({{"1", 1}, {"out", 5}}));
}

TEST(LinearInit, LeavesOutTheBiasWhenAsked) {
  const Linear layer(3, 5, false);
  EXPECT_THAT(layer.weight, HasShape({{"in", 3}, {"out", 5}}));
  EXPECT_HOLDS(layer.bias.is_empty(), "the layer has a bias") << likely_mistake("bias_always");
}

/// What is likely when these numbers of a 100 x 200 layer were drawn between other bounds; empty if nothing is.
std::string likely_bound(const arma::mat& drawn, bool of_weight) {
  const double largest = drawn.max(), smallest = drawn.min();
  if (largest == 0 && smallest == 0) {
    return of_weight ? likely_mistake("weight_of_zeros") : likely_mistake("bias_of_zeros");
  }
  const double near = of_weight ? 0.99 : 0.9;
  const std::vector<std::pair<double, std::string>> bounds = {
      {1, likely_mistake("bound_one")},
      {0.5, likely_mistake("bound_half")},
      {10, likely_mistake("bound_is_root")},
      {1 / 100.0, likely_mistake("bound_without_root")},
      {1 / std::sqrt(200.0), likely_mistake("bound_from_out")},
      {std::sqrt(3 / 100.0), likely_mistake("bound_root_of_three")},
      {std::sqrt(6 / 100.0), likely_mistake("bound_root_of_six")},
      {std::sqrt(6 / 300.0), likely_mistake("bound_of_glorot")},
  };
  for (const auto& [bound, likely] : bounds) {
    if (largest <= bound && largest >= near * bound && -smallest <= bound && -smallest >= near * bound) {
      return likely;
    }
  }
  const double deviation = arma::stddev(arma::vectorise(drawn));  // a uniform variable stays within 1.73 of them
  if (smallest >= 0 && deviation > 0.2 * largest) return likely_mistake("only_positive");
  return of_weight && largest > 3 * deviation && -smallest > 3 * deviation ? likely_mistake("drawn_from_normal") : "";
}

// 20,000 draws for the weight, 200 for the bias: none reaches the bound, the largest and the smallest come near it, and
// they are spread evenly between.
TEST(LinearInit, DrawsUniformlyFromTheBound) {
  const Linear layer(100, 200);
  const double bound = 1 / std::sqrt(100.0);
  for (const bool of_weight : {true, false}) {
    const arma::mat drawn = of_weight ? layer.weight : arma::mat(layer.bias);
    ASSERT_HOLDS(!drawn.is_empty(), of_weight ? "weight is empty" : "bias is empty")
        << note("is there a local variable of the same name as the member?");
    const double largest = drawn.max();
    const double smallest = drawn.min();
    const double near = of_weight ? 0.99 : 0.9;
    const std::string found = (of_weight ? "weight" : "bias") + std::string(" lies between ") +
                              std::to_string(smallest) + " and " + std::to_string(largest) +
                              ", want nearly -1/sqrt(in) = " + std::to_string(-bound) +
                              " and 1/sqrt(in) = " + std::to_string(bound);
    const auto fills = [&](double b) { return largest <= b && largest >= near * b; };
    EXPECT_HOLDS(fills(bound) && smallest >= -bound && smallest <= -near * bound, found)
        << likely_bound(drawn, of_weight);
    // A uniform variable on (-b, b) has the mean 0 and the standard deviation b / sqrt(3).
    EXPECT_HOLDS(std::abs(arma::stddev(arma::vectorise(drawn)) - bound / std::sqrt(3.0)) <= 0.1 * bound, found)
        << note("the numbers are not spread evenly between the two");
    EXPECT_HOLDS(std::abs(arma::mean(arma::vectorise(drawn))) <= 0.15 * bound, found)
        << note("the numbers are not spread evenly between the two");
  }
}

TEST(LinearInit, HasABoundThatDependsOnlyOnIn) {
  for (const auto& [in, out] : {std::pair<arma::uword, arma::uword>(400, 50), {4, 5000}}) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    const double largest = arma::abs(Linear(in, out, false).weight).max();
    EXPECT_HOLDS(largest <= bound && largest >= 0.99 * bound,
                 "in = " + std::to_string(in) + ", out = " + std::to_string(out) + ": the largest number is " +
                     std::to_string(largest) + ", want nearly 1/sqrt(in) = " + std::to_string(bound));
  }
}

TEST(LinearInit, DrawsEveryNumberAnew) {
  const Linear layer(3, 5);
  const arma::vec drawn = arma::join_cols(arma::vectorise(layer.weight), arma::vectorise(layer.bias));
  EXPECT_HOLDS(arma::vec(arma::unique(drawn)).n_elem == 20, "some of the 15 + 5 numbers of a 3 x 5 layer are the same");
}

TEST(LinearInit, RepeatsItselfForTheSameSeed) {
  arma::arma_rng::set_seed(7);
  const Linear first(3, 5);
  const Linear second(3, 5);
  arma::arma_rng::set_seed(7);
  const Linear first_again(3, 5);
  const Linear second_again(3, 5);
  const std::string about =
      note("after arma::arma_rng::set_seed, the same layers must follow: draw only with Armadillo");
  EXPECT_THAT(first_again.weight, IsNear(first.weight, {"in", "out"})) << about;
  EXPECT_THAT(arma::mat(first_again.bias), IsNear(arma::mat(first.bias), {"1", "out"})) << about;
  EXPECT_THAT(second_again.weight, IsNear(second.weight, {"in", "out"})) << about;
  EXPECT_THAT(arma::mat(second_again.bias), IsNear(arma::mat(second.bias), {"1", "out"})) << about;
}

TEST(LinearInit, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("a new layer's weight", [] { return Linear(3, 5).weight; });
  expect_leaves_seeding_to_the_caller("a new layer's bias", [] { return arma::mat(Linear(3, 5).bias); });
}

TEST(LinearInit, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("in", {"0"}), [] { Linear(0, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("out", {"0"}), [] { Linear(3, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("in", {"0"}), [] { Linear(0, 5, false); });
  EXPECT_PRED_FORMAT1(RejectsArgument("out", {"0"}), [] { Linear(3, 0, false); });
}

// ------------------------------------------------------------------------------------ applied to a matrix, 00.4

TEST(LinearMatrix, TurnsInColumnsIntoOutColumns) {
  EXPECT_THAT(Linear(3, 5)(arma::mat(4, 3, arma::fill::randn)), HasShape({{"L", 4}, {"out", 5}}));
}

TEST(LinearMatrix, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("linear_by_hand");
  Linear layer(2, 2);
  layer.weight = {{1, -1}, {2, 0.5}};
  layer.bias = {0.5, -1};
  EXPECT_THAT(layer(arma::mat{{1, 2}, {3, 4}}), Matches(golden.expected("y")));
}

TEST(LinearMatrix, EqualsPyTorch) {
  const GoldenCase golden = load_golden("linear_matrix");
  EXPECT_THAT(golden.linear("layer")(golden.mat("x")), Matches(golden.expected("y")));
}

TEST(LinearMatrix, WorksWithoutABias) {
  const GoldenCase golden = load_golden("linear_without_bias");
  EXPECT_THAT(golden.linear("layer")(golden.mat("x")), Matches(golden.expected("y")));
}

TEST(LinearMatrix, TakesASingleToken) {
  const GoldenCase golden = load_golden("linear_matrix");
  const arma::mat x = golden.mat("x");
  const arma::mat y = golden.mat("y");
  EXPECT_THAT(golden.linear("layer")(arma::mat(x.row(2))), IsNear(arma::mat(y.row(2)), {"L", "out"}));
}

TEST(LinearMatrix, RejectsTheWrongShape) {
  const Linear layer(3, 5);
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 2", "3"}), [&] { layer(arma::mat(4, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 5", "3"}), [&] { layer(arma::mat(4, 5, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 6", "3"}), [&] { layer(arma::mat(4, 6, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"3 x 4", "3"}), [&] { layer(arma::mat(3, 4, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"0 x 0"}), [&] { layer(arma::mat()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"0 x 3"}), [&] { layer(arma::mat(0, 3)); });
}

// -------------------------------------------------------------------------------------- applied to a cube, 00.5

TEST(LinearCube, TurnsInColumnsIntoOutColumns) {
  EXPECT_THAT(Linear(3, 5)(arma::cube(4, 3, 2, arma::fill::randn)), HasShape({{"L", 4}, {"out", 5}, {"B", 2}}));
}

TEST(LinearCube, EqualsPyTorch) {
  const GoldenCase golden = load_golden("linear_cube");
  EXPECT_THAT(golden.linear("layer")(golden.cube("x")), Matches(golden.expected("y")));
}

TEST(LinearCube, EqualsTheDefinitionForOtherSizes) {
  for (const arma::SizeCube size : {arma::SizeCube(1, 6, 2), arma::SizeCube(5, 1, 3), arma::SizeCube(7, 2, 1)}) {
    const arma::cube x(size, arma::fill::randn);
    for (const bool with_bias : {true, false}) {
      const Linear layer(x.n_cols, 4, with_bias);
      EXPECT_THAT(layer(x), IsNear(naive_linear(x, layer.weight, layer.bias), {"L", "out", "B"}));
    }
  }
}

TEST(LinearCube, RejectsTheWrongShape) {
  const Linear layer(3, 5);
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 2 x 7", "3"}), [&] { layer(arma::cube(4, 2, 7, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 6 x 2", "3"}), [&] { layer(arma::cube(4, 6, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"0 x 0 x 0"}), [&] { layer(arma::cube()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 3 x 0"}), [&] { layer(arma::cube(4, 3, 0)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"0 x 3 x 2"}), [&] { layer(arma::cube(0, 3, 2)); });
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("a linear layer and a softmax, 2 sequences of 128 tokens, E = 64", [] {
  const arma::cube X(128, 64, 2, arma::fill::randn);
  return [layer = Linear(64, 64), X] { return softmax_rows(layer(X)); };
});

}  // namespace
}  // namespace attn::judge
