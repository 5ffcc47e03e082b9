#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/attention_backward.hpp"
#include "attn/cross_entropy.hpp"
#include "attn/dropout.hpp"
#include "attn/gradient_check.hpp"
#include "attn/matmul_backward.hpp"
#include "attn/softmax_backward.hpp"
#include "checks/differences.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const Strings scores_axes = {"L", "S", "N"};
const Strings query_axes = {"L", "D", "N"};
const Strings key_axes = {"S", "D", "N"};
const Strings value_axes = {"S", "Dv", "N"};
const Strings context_axes = {"L", "Dv", "N"};
const Strings logits_axes = {"L", "V", "B"};
const Strings number_axes = {"1", "1"};

// ------------------------------------------------------------------------- the definitions, one number at a time

/// d_A(i, k) = sum_c d_C(i, c) B(k, c), and d_B(k, c) = sum_i A(i, k) d_C(i, c)
MatmulGradients naive_matmul_backward(const arma::mat& A, const arma::mat& B, const arma::mat& d_C) {
  MatmulGradients gradients{arma::mat(arma::size(A), arma::fill::zeros), arma::mat(arma::size(B), arma::fill::zeros)};
  for (uword i = 0; i < A.n_rows; ++i) {
    for (uword k = 0; k < A.n_cols; ++k) {
      for (uword c = 0; c < B.n_cols; ++c) {
        gradients.d_A(i, k) += d_C(i, c) * B(k, c);
        gradients.d_B(k, c) += A(i, k) * d_C(i, c);
      }
    }
  }
  return gradients;
}

/// Through the whole Jacobian of each row: d weight(k) / d score(j) = weight(k) ([k = j] - weight(j)).
arma::cube through_the_jacobian(const arma::cube& weights, const arma::cube& d_weights) {
  arma::cube d_scores(arma::size(weights), arma::fill::zeros);
  for (uword n = 0; n < weights.n_slices; ++n) {
    for (uword i = 0; i < weights.n_rows; ++i) {
      for (uword j = 0; j < weights.n_cols; ++j) {
        for (uword k = 0; k < weights.n_cols; ++k) {
          const double slope = weights(i, k, n) * ((k == j ? 1 : 0) - weights(i, j, n));
          d_scores(i, j, n) += d_weights(i, k, n) * slope;
        }
      }
    }
  }
  return d_scores;
}

/// Dropout's factor for each weight: 0 or 1 / (1 - p).
arma::cube factors(const KeptAttention& kept) {
  arma::cube factor(arma::size(kept.weights), arma::fill::ones);
  for (uword k = 0; k < kept.keep.n_elem; ++k) factor(k) = kept.keep(k) != 0 ? 1 / (1 - kept.p) : 0;
  return factor;
}

AttentionGradients naive_attention_backward(const arma::cube& d_context, const KeptAttention& kept) {
  const arma::cube &Q = kept.Q, &K = kept.K, &V = kept.V, factor = factors(kept);
  AttentionGradients gradients{zeros(Q.n_rows, Q.n_cols, Q.n_slices), zeros(K.n_rows, K.n_cols, K.n_slices),
                               zeros(V.n_rows, V.n_cols, V.n_slices)};
  arma::cube d_weights(arma::size(kept.weights), arma::fill::zeros);
  for (uword n = 0; n < Q.n_slices; ++n) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      for (uword j = 0; j < K.n_rows; ++j) {
        for (uword d = 0; d < V.n_cols; ++d) {
          gradients.d_V(j, d, n) += kept.weights(i, j, n) * factor(i, j, n) * d_context(i, d, n);
          d_weights(i, j, n) += d_context(i, d, n) * V(j, d, n) * factor(i, j, n);
        }
      }
    }
  }
  const arma::cube d_scores = through_the_jacobian(kept.weights, d_weights);
  for (uword n = 0; n < Q.n_slices; ++n) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      for (uword j = 0; j < K.n_rows; ++j) {
        for (uword d = 0; d < Q.n_cols; ++d) {
          const double share = d_scores(i, j, n) / std::sqrt(static_cast<double>(Q.n_cols));
          gradients.d_Q(i, d, n) += share * K(j, d, n);
          gradients.d_K(j, d, n) += share * Q(i, d, n);
        }
      }
    }
  }
  return gradients;
}

double naive_cross_entropy(const arma::cube& logits, const arma::umat& targets) {
  const arma::cube p = naive_softmax_rows(logits);
  double sum = 0, count = 0;
  for (uword b = 0; b < p.n_slices; ++b) {
    for (uword i = 0; i < p.n_rows; ++i) {
      if (targets(i, b) == ignored_target) continue;
      sum -= std::log(p(i, targets(i, b), b));
      count += 1;
    }
  }
  return count == 0 ? 0 : sum / count;
}

arma::cube naive_cross_entropy_backward(const arma::cube& logits, const arma::umat& targets) {
  const arma::cube p = naive_softmax_rows(logits);
  arma::cube d_logits(arma::size(p), arma::fill::zeros);
  double count = 0;
  for (const uword target : targets) count += target == ignored_target ? 0 : 1;
  for (uword b = 0; b < p.n_slices; ++b) {
    for (uword i = 0; i < p.n_rows; ++i) {
      if (targets(i, b) == ignored_target) continue;
      for (uword c = 0; c < p.n_cols; ++c) d_logits(i, c, b) = (p(i, c, b) - (c == targets(i, b) ? 1 : 0)) / count;
    }
  }
  return d_logits;
}

// -------------------------------------------------------------------------------------- inputs, golden and drawn

/// What a right forward pass keeps: attention_backward is judged without the learner's attention_forward.
KeptAttention kept_of(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {},
                      const Mask& keep = {}, double p = 0) {
  return {Q, K, V, naive_attention_weights(Q, K, mask), keep, p};
}

struct Sizes {
  uword L, S, D, Dv, N;
};

KeptAttention drawn_kept(const Sizes& n, const Mask& mask = {}, double p = 0) {
  const Mask keep = p > 0 ? Dropout::draw(n.L, n.S, n.N, p) : Mask();
  return kept_of(normal(n.L, n.D, n.N), normal(n.S, n.D, n.N), normal(n.S, n.Dv, n.N), mask, keep, p);
}

double golden_p(const std::string& name) { return name == "dropout" ? 0.4 : name == "everything" ? 0.3 : 0; }

KeptAttention kept_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  return {golden.cube("Q"),
          golden.cube("K"),
          golden.cube("V"),
          golden.cube("weights"),
          golden.has("keep") ? golden.mask("keep") : Mask(),
          golden_p(name)};
}

AttentionForward forward_of(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  return attention_forward(golden.cube("Q"), golden.cube("K"), golden.cube("V"),
                           golden.has("mask") ? golden.mask("mask") : Mask(),
                           golden.has("keep") ? golden.mask("keep") : Mask(), golden_p(name));
}

std::string about(const std::string& name) {
  if (name == "masked")
    return note("under a mask of 3 slices for 6; one query may attend to no key, one key is for none");
  if (name == "dropout") return note("with dropout, p = 0.4");
  if (name == "everything") return note("under a mask of 2 slices for 4, with dropout, p = 0.3");
  if (name == "masked_by_hand") return note("query 0 may not attend to key 2");
  return note("without a mask and without dropout");
}

const Strings all_cases = {"plain", "masked", "dropout", "everything"};

void expect_gradients(const AttentionGradients& got, const AttentionGradients& wanted, const std::string& about) {
  EXPECT_THAT(got.d_V, IsNear(wanted.d_V, value_axes)) << about;
  EXPECT_THAT(got.d_K, IsNear(wanted.d_K, key_axes)) << about;
  EXPECT_THAT(got.d_Q, IsNear(wanted.d_Q, query_axes)) << about;
}

void expect_golden_gradients(const AttentionGradients& got, const std::string& name) {
  const GoldenCase golden = load_golden(name);
  EXPECT_THAT(got.d_V, Matches(golden.expected("d_V"))) << about(name);
  EXPECT_THAT(got.d_K, Matches(golden.expected("d_K"))) << about(name);
  EXPECT_THAT(got.d_Q, Matches(golden.expected("d_Q"))) << about(name);
}

bool have_shapes_of(const AttentionGradients& gradients, const KeptAttention& kept) {
  return arma::size(gradients.d_Q) == arma::size(kept.Q) && arma::size(gradients.d_K) == arma::size(kept.K) &&
         arma::size(gradients.d_V) == arma::size(kept.V);
}

const char* const wrong_shapes = "the gradients have not the shapes of Q, K and V: see the first check";

/// A golden case keeps -1 for a target that is ignored.
arma::umat targets_of(const GoldenCase& golden) {
  const arma::mat numbers = golden.mat("targets");
  arma::umat targets(arma::size(numbers));
  for (uword k = 0; k < numbers.n_elem; ++k) targets(k) = numbers(k) < 0 ? ignored_target : uword(numbers(k));
  return targets;
}

/// Targets for V classes; about one of four is ignored if `ignoring`.
arma::umat drawn_targets(uword L, uword V, uword B, bool ignoring) {
  arma::umat targets = arma::randi<arma::umat>(L, B, arma::distr_param(0, static_cast<int>(V) - 1));
  if (ignoring) targets.elem(arma::find(arma::randu(L, B) < 0.25)).fill(ignored_target);
  return targets;
}

arma::mat number(double x) { return x * arma::mat(1, 1, arma::fill::ones); }

// -------------------------------------------------------------------------------------- slope_by_differences, 24.1

TEST(GradientCheck, GivesTheSlopesWorkedByHand) {
  double x = 1;
  const auto cube = [&] { return x * x * x; };
  EXPECT_THAT(number(slope_by_differences(cube, x, 0.5)), IsNear(number(3.25), number_axes))
      << note("of x³ at x = 1 with h = 0.5: (3.375 - 0.125) / 1");
  x = 1;
  EXPECT_THAT(number(slope_by_differences(cube, x, 0.1)), IsNear(number(3.01), number_axes))
      << note("of x³ at x = 1 with h = 0.1: (1.331 - 0.729) / 0.2");
}

TEST(GradientCheck, IsExactForAParabola) {
  for (const double h : {0.5, 0.25, 2.0}) {
    double x = -3;
    const auto parabola = [&] { return 2 * x * x - 5 * x + 1; };
    EXPECT_THAT(number(slope_by_differences(parabola, x, h)), IsNear(number(-17), number_axes))
        << note("of 2x² - 5x + 1 at x = -3: what the curve bends up on one side, it bends on the other, too");
  }
}

TEST(GradientCheck, GivesTheRatesOfTheTable) {
  const GoldenCase golden = load_golden("rates");
  const auto expect_rate = [&](const std::string& name, double (*f)(double), const std::string& text) {
    double x = golden.mat(name)(0, 0);
    Expected rate = golden.expected("d_" + name);
    rate.tolerance = 1e-8;
    EXPECT_THAT(number(slope_by_differences([&] { return f(x); }, x)), Matches(rate)) << note("the rate of " + text);
  };
  expect_rate(
      "square", [](double x) { return x * x; }, "x² at 1 is 2x");
  expect_rate(
      "root", [](double x) { return std::sqrt(x); }, "√x at 4 is 1 / (2√x)");
  expect_rate(
      "inverse", [](double x) { return 1 / x; }, "1 / x at 2 is -1 / x²");
  expect_rate(
      "exp", [](double x) { return std::exp(x); }, "exp(x) at 1.5 is exp(x)");
  expect_rate(
      "log", [](double x) { return std::log(x); }, "log x at 2.5 is 1 / x");
}

TEST(GradientCheck, AddsUpBothPathsOfTheScalarGraph) {
  const GoldenCase golden = load_golden("scalar_graph");
  double x = golden.mat("x")(0, 0), y = golden.mat("y")(0, 0);
  const auto loss = [&] { return (x * y + x) * (x * y + x); };
  Expected d_x = golden.expected("d_x"), d_y = golden.expected("d_y");
  d_x.tolerance = d_y.tolerance = 1e-8;
  EXPECT_THAT(number(slope_by_differences(loss, x)), Matches(d_x)) << note("of L = (x·y + x)² with respect to x");
  EXPECT_THAT(number(slope_by_differences(loss, y)), Matches(d_y)) << note("of L = (x·y + x)² with respect to y");
}

TEST(GradientCheck, CallsTheLossOnBothSides) {
  double x = 2, lowest = x, highest = x;
  int calls = 0;
  slope_by_differences(
      [&] {
        ++calls;
        lowest = std::min(lowest, x);
        highest = std::max(highest, x);
        return x;
      },
      x, 0.25);
  EXPECT_HOLDS(calls > 0, "the loss was not called");
  EXPECT_THAT(number(highest), IsNear(number(2.25), number_axes)) << note("the largest x that the loss saw: 2 + 0.25");
  EXPECT_THAT(number(lowest), IsNear(number(1.75), number_axes)) << note("the smallest x that the loss saw: 2 - 0.25");
}

TEST(GradientCheck, PutsXBackToTheLastBit) {
  const arma::vec values = 10 * arma::vec(200, arma::fill::randn);
  int close = 0, same = 0;
  for (const double value : values) {
    double x = value;
    slope_by_differences([&] { return x; }, x, 0.1);
    close += std::abs(x - value) < 1e-9 ? 1 : 0;
    same += x == value ? 1 : 0;
  }
  EXPECT_HOLDS(close == 200, "x is another number afterwards: it stays moved") << likely_mistake("x_stays_moved");
  if (close == 200) {
    EXPECT_HOLDS(same == 200, "x is another number afterwards, in its last bit")
        << likely_mistake("x_moved_back_by_adding");
  }
}

TEST(GradientCheck, GivesAWholeGradient) {
  arma::mat A = normal(4, 3);
  const arma::mat B = normal(3, 5), d_C = normal(4, 5);
  const auto loss = [&] { return arma::accu(d_C % (A * B)); };
  EXPECT_THAT(slopes_by_differences(loss, A, 0.01), IsNear(naive_matmul_backward(A, B, d_C).d_A, {"R", "I"}, 1e-9))
      << note("slopes_by_differences calls slope_by_differences for each number of a 4 x 3 matrix");
}

TEST(GradientCheck, EqualsPyTorch) {
  for (const std::string name : {"masked_by_hand", "masked"}) {
    const GoldenCase golden = load_golden(name);
    arma::cube Q = golden.cube("Q");
    const arma::cube K = golden.cube("K"), V = golden.cube("V"), d_context = golden.cube("d_context");
    const Mask mask = golden.mask("mask");
    Expected d_Q = golden.expected("d_Q");
    d_Q.tolerance = 1e-8;
    const auto loss = [&] { return arma::accu(d_context % naive_attention(Q, K, V, mask)); };
    EXPECT_THAT(slopes_by_differences(loss, Q), Matches(d_Q)) << about(name);
  }
}

TEST(GradientCheck, FindsTheNumberThatIsWrong) {
  arma::mat A = normal(4, 3);
  const arma::mat B = normal(3, 5), d_C = normal(4, 5);
  const auto loss = [&] { return arma::accu(d_C % (A * B)); };
  arma::mat d_A = naive_matmul_backward(A, B, d_C).d_A;
  require_gradient("d_A", d_A, loss, A);
  d_A(3, 1) += 0.01;
  EXPECT_THAT([&] { require_gradient("d_A", d_A, loss, A); },
              ::testing::ThrowsMessage<std::runtime_error>(::testing::StartsWith("d_A(3, 1) is ")));
  EXPECT_THAT([&] { require_gradient("d_A", arma::mat(d_A.t()), loss, A); },
              ::testing::ThrowsMessage<std::runtime_error>("d_A is 3 x 4, expected 4 x 3"));
}

// ------------------------------------------------------------------------------------------- matmul_backward, 24.2

TEST(MatmulBackward, GivesEachFactorAGradientOfItsShape) {
  const MatmulGradients gradients = matmul_backward(normal(4, 3), normal(3, 5), normal(4, 5));
  EXPECT_THAT(gradients.d_A, HasShape({{"R", 4}, {"I", 3}})) << note("d_A, for A of 4 x 3 and B of 3 x 5");
  EXPECT_THAT(gradients.d_B, HasShape({{"I", 3}, {"C", 5}})) << note("d_B, for A of 4 x 3 and B of 3 x 5");
}

TEST(MatmulBackward, GivesTheExampleWorkedByHand) {
  const arma::mat A = {{1, 2}, {3, 4}}, B = {{5, 6}, {7, 8}}, d_C = {{1, 0}, {2, -1}};
  const GoldenCase golden = load_golden("product_by_hand");
  const MatmulGradients gradients = matmul_backward(A, B, d_C);
  const std::string inputs = given("A", A) + given("B", B) + given("d_C", d_C);
  EXPECT_THAT(gradients.d_A, Matches(golden.expected("d_A"))) << inputs;
  EXPECT_THAT(gradients.d_B, Matches(golden.expected("d_B"))) << inputs;
}

TEST(MatmulBackward, IsLinearInTheGradientOfTheProduct) {
  const arma::mat A = normal(4, 3), B = normal(3, 5), one = normal(4, 5), other = normal(4, 5);
  const MatmulGradients a = matmul_backward(A, B, one), b = matmul_backward(A, B, other);
  const MatmulGradients both = matmul_backward(A, B, 2 * one - other);
  ASSERT_HOLDS(arma::size(a.d_A) == arma::size(A) && arma::size(a.d_B) == arma::size(B),
               "the gradients have not the shapes of A and B: see the first check");
  EXPECT_THAT(both.d_A, IsNear(arma::mat(2 * a.d_A - b.d_A), {"R", "I"})) << note("d_C is 2 times one less another");
  EXPECT_THAT(both.d_B, IsNear(arma::mat(2 * a.d_B - b.d_B), {"I", "C"})) << note("d_C is 2 times one less another");
}

TEST(MatmulBackward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("product");
  const MatmulGradients gradients = matmul_backward(golden.mat("A"), golden.mat("B"), golden.mat("d_C"));
  EXPECT_THAT(gradients.d_A, Matches(golden.expected("d_A")));
  EXPECT_THAT(gradients.d_B, Matches(golden.expected("d_B")));
}

TEST(MatmulBackward, EqualsTheDifferences) {
  const arma::mat A = normal(3, 4), B = normal(4, 2), d_C = normal(3, 2);
  const MatmulGradients gradients = matmul_backward(A, B, d_C);
  const auto of_A = [&](const arma::cube& x) { return as_cube(arma::mat(x.slice(0) * B)); };
  const auto of_B = [&](const arma::cube& x) { return as_cube(arma::mat(A * x.slice(0))); };
  Expected d_A = gradient_by_differences(of_A, as_cube(d_C), as_cube(A), {"R", "I"});
  Expected d_B = gradient_by_differences(of_B, as_cube(d_C), as_cube(B), {"I", "C"});
  EXPECT_THAT(gradients.d_A, Matches(d_A)) << note("expected: the slope of the loss, by differences");
  EXPECT_THAT(gradients.d_B, Matches(d_B)) << note("expected: the slope of the loss, by differences");
}

TEST(MatmulBackward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{1, 4, 3, 0, 0}, {4, 1, 3, 0, 0}, {4, 3, 1, 0, 0}, {5, 5, 5, 0, 0}, {9, 17, 8, 0, 0}}) {
    const arma::mat A = normal(n.L, n.S), B = normal(n.S, n.D), d_C = normal(n.L, n.D);
    const MatmulGradients got = matmul_backward(A, B, d_C), wanted = naive_matmul_backward(A, B, d_C);
    EXPECT_THAT(got.d_A, IsNear(wanted.d_A, {"R", "I"}));
    EXPECT_THAT(got.d_B, IsNear(wanted.d_B, {"I", "C"}));
  }
}

TEST(MatmulBackward, LeavesItsArguments) {
  const arma::mat A = normal(4, 3), B = normal(3, 5), d_C = normal(4, 5);
  expect_leaves_its_arguments("matmul_backward", {{"A", A}, {"B", B}, {"d_C", d_C}},
                              [&] { matmul_backward(A, B, d_C); });
}

// ------------------------------------------------------------------------------------------- softmax_backward, 24.3

TEST(SoftmaxBackward, HasTheShapeOfTheWeights) {
  const arma::cube weights = naive_softmax_rows(normal(4, 5, 3));
  EXPECT_THAT(softmax_backward(weights, normal(4, 5, 3)), HasShape({{"L", 4}, {"S", 5}, {"N", 3}}));
}

TEST(SoftmaxBackward, GivesTheExampleWorkedByHand) {
  const arma::mat weights = {{0.5, 0.25, 0.25}}, d_weights = {{1, 2, 4}};
  EXPECT_THAT(softmax_backward(as_cube(weights), as_cube(d_weights)),
              Matches(load_golden("softmax_by_hand").expected("d_scores")))
      << given("weights", weights) << given("d_weights", d_weights);
}

TEST(SoftmaxBackward, HasRowsThatSumToZero) {
  const arma::cube d_scores = softmax_backward(naive_softmax_rows(normal(4, 5, 3)), normal(4, 5, 3));
  ASSERT_THAT(d_scores, HasShape({{"L", 4}, {"S", 5}, {"N", 3}}));
  EXPECT_THAT(arma::cube(arma::sum(d_scores, 1)), IsNear(zeros(4, 1, 3), {"L", "1", "N"}))
      << note("the sums of the rows of d_scores: the same added to all scores of a row changes no weight");
}

TEST(SoftmaxBackward, IsZeroWhereAllWeightsHaveTheSameGradient) {
  arma::cube d_weights(4, 5, 3);
  for (uword n = 0; n < 3; ++n) {
    for (uword i = 0; i < 4; ++i) d_weights.slice(n).row(i).fill(static_cast<double>(i + 4 * n) - 3);
  }
  EXPECT_THAT(softmax_backward(naive_softmax_rows(normal(4, 5, 3)), d_weights), IsNear(zeros(4, 5, 3), scores_axes))
      << note(
             "each row of d_weights holds one number, as often as there are keys: weights always sum to one, so that "
             "the "
             "loss cannot change");
}

TEST(SoftmaxBackward, IsLinearInTheGradientOfTheWeights) {
  const arma::cube weights = naive_softmax_rows(normal(4, 5, 3)), one = normal(4, 5, 3), other = normal(4, 5, 3);
  const arma::cube a = softmax_backward(weights, one), b = softmax_backward(weights, other);
  ASSERT_THAT(a, HasShape({{"L", 4}, {"S", 5}, {"N", 3}}));
  EXPECT_THAT(softmax_backward(weights, 2 * one - other), IsNear(arma::cube(2 * a - b), scores_axes));
}

TEST(SoftmaxBackward, FollowsPermutedKeys) {
  const arma::cube weights = naive_softmax_rows(normal(4, 5, 3)), d_weights = normal(4, 5, 3);
  const arma::uvec order = shuffled(5);
  const arma::cube d_scores = softmax_backward(weights, d_weights);
  ASSERT_THAT(d_scores, HasShape({{"L", 4}, {"S", 5}, {"N", 3}}));
  EXPECT_THAT(softmax_backward(reordered_columns(weights, order), reordered_columns(d_weights, order)),
              IsNear(reordered_columns(d_scores, order), scores_axes))
      << note("the columns were put in another order, of both arguments alike");
}

TEST(SoftmaxBackward, GivesZerosToBlockedKeysAndToQueriesWithoutKeys) {
  Mask mask = random_mask(4, 5, 3);
  mask.slice(1).row(2).zeros();
  const arma::cube weights = naive_attention_weights(normal(4, 2, 3), normal(5, 2, 3), mask),
                   d_weights = normal(4, 5, 3);
  EXPECT_THAT(softmax_backward(weights, d_weights), IsNear(through_the_jacobian(weights, d_weights), scores_axes))
      << note("some weights are 0, and all those of query 2 in slice 1: so are the gradients of their scores");
}

TEST(SoftmaxBackward, KeepsTheSlicesApart) {
  const arma::cube weights = naive_softmax_rows(normal(4, 5, 3)), d_weights = normal(4, 5, 3);
  expect_keeps_apart("slice", 3, softmax_backward(weights, d_weights),
                     [&](uword n) { return softmax_backward(weights.slices(n, n), d_weights.slices(n, n)); });
}

TEST(SoftmaxBackward, EqualsPyTorch) {
  const GoldenCase golden = load_golden("softmax");
  EXPECT_THAT(softmax_backward(golden.cube("weights"), golden.cube("d_weights")), Matches(golden.expected("d_scores")));
}

TEST(SoftmaxBackward, EqualsTheDifferences) {
  const arma::cube scores = normal(3, 5, 2), d_weights = normal(3, 5, 2);
  EXPECT_THAT(softmax_backward(naive_softmax_rows(scores), d_weights),
              Matches(gradient_by_differences(naive_softmax_rows, d_weights, scores, scores_axes)))
      << note("expected: the slope of the loss, by differences");
}

TEST(SoftmaxBackward, EqualsTheWholeJacobian) {
  for (const Sizes& n : {Sizes{1, 6, 0, 0, 2}, {6, 1, 0, 0, 2}, {2, 3, 0, 0, 4}, {5, 5, 0, 0, 5}, {3, 40, 0, 0, 2}}) {
    const arma::cube weights = naive_softmax_rows(normal(n.L, n.S, n.N)), d_weights = normal(n.L, n.S, n.N);
    EXPECT_THAT(softmax_backward(weights, d_weights), IsNear(through_the_jacobian(weights, d_weights), scores_axes));
  }
}

TEST(SoftmaxBackward, VanishesWhereTheSoftmaxIsSaturated) {
  arma::cube weights(2, 3, 2, arma::fill::zeros);  // as of scores that are 1000 apart
  weights.tube(0, 1).ones();
  weights.tube(1, 2).ones();
  EXPECT_THAT(softmax_backward(weights, 1000 * normal(2, 3, 2)), IsNear(zeros(2, 3, 2), scores_axes))
      << note("in each row one weight is 1, the others are 0: a small change of the scores changes nothing");
}

TEST(SoftmaxBackward, LeavesItsArguments) {
  const arma::cube weights = naive_softmax_rows(normal(4, 5, 3)), d_weights = normal(4, 5, 3);
  expect_leaves_its_arguments("softmax_backward", {{"weights", weights}, {"d_weights", d_weights}},
                              [&] { softmax_backward(weights, d_weights); });
}

// ------------------------------------------------------------------------------------------- attention_forward, 24.4

TEST(AttentionForward, HasTheShapesOfTheChapter) {
  const AttentionForward forward = attention_forward(normal(4, 3, 2), normal(5, 3, 2), normal(5, 6, 2));
  EXPECT_THAT(forward.context, HasShape({{"L", 4}, {"Dv", 6}, {"N", 2}}));
  EXPECT_THAT(forward.kept.weights, HasShape({{"L", 4}, {"S", 5}, {"N", 2}})) << note("kept.weights");
}

TEST(AttentionForward, GivesTheExampleWorkedByHand) {
  for (const std::string name : {"by_hand", "masked_by_hand"}) {
    const GoldenCase golden = load_golden(name);
    const AttentionForward forward = forward_of(name);
    EXPECT_THAT(forward.kept.weights, Matches(golden.expected("weights"))) << about(name) << note("kept.weights");
    EXPECT_THAT(forward.context, Matches(golden.expected("context"))) << about(name);
  }
}

TEST(AttentionForward, KeepsItsInputs) {
  const arma::cube Q = normal(4, 3, 2), K = normal(5, 3, 2), V = normal(5, 6, 2);
  const Mask keep = Dropout::draw(4, 5, 2, 0.4);
  const KeptAttention kept = attention_forward(Q, K, V, {}, keep, 0.4).kept;
  EXPECT_THAT(kept.Q, IsNear(Q, query_axes)) << note("kept.Q");
  EXPECT_THAT(kept.K, IsNear(K, key_axes)) << note("kept.K");
  EXPECT_THAT(kept.V, IsNear(V, value_axes)) << note("kept.V");
  EXPECT_THAT(arma::conv_to<arma::cube>::from(kept.keep), IsNear(arma::conv_to<arma::cube>::from(keep), scores_axes))
      << note("kept.keep");
  EXPECT_THAT(number(kept.p), IsNear(number(0.4), number_axes)) << note("kept.p");
}

TEST(AttentionForward, KeepsTheWeightsBeforeDropout) {
  const arma::cube Q = normal(4, 3, 2), K = normal(5, 3, 2), V = normal(5, 6, 2);
  const arma::cube weights = attention_forward(Q, K, V, {}, Dropout::draw(4, 5, 2, 0.5), 0.5).kept.weights;
  EXPECT_THAT(weights, IsNear(naive_attention_weights(Q, K), scores_axes))
      << note("kept.weights under dropout: as the softmax gave them, since its backward pass needs them so");
}

TEST(AttentionForward, DropsWhatKeepSaysWhateverPIs) {
  const arma::cube Q = normal(4, 3, 2), K = normal(5, 3, 2), V = normal(5, 6, 2);
  const KeptAttention wanted = kept_of(Q, K, V, {}, Dropout::draw(4, 5, 2, 0.5), 0);
  EXPECT_THAT(attention_forward(Q, K, V, {}, wanted.keep, 0).context,
              IsNear(naive_mix(wanted.weights % factors(wanted), V), context_axes))
      << note("p = 0, and keep has zeros: these are dropped, and the others stay as they are");
}

TEST(AttentionForward, GivesZerosToAQueryWithoutKeys) {
  Mask mask(4, 5, 1, arma::fill::ones);
  mask.slice(0).row(1).zeros();
  const arma::cube Q = normal(4, 3, 2), K = normal(5, 3, 2), V = normal(5, 6, 2);
  const AttentionForward forward = attention_forward(Q, K, V, mask);
  EXPECT_THAT(forward.kept.weights, IsNear(naive_attention_weights(Q, K, mask), scores_axes))
      << note("query 1 may attend to no key: zeros, and no NaN, as the backward pass reads them");
  EXPECT_THAT(forward.context, IsNear(naive_attention(Q, K, V, mask), context_axes));
}

TEST(AttentionForward, EqualsPyTorch) {
  for (const std::string& name : all_cases) {
    const GoldenCase golden = load_golden(name);
    const AttentionForward forward = forward_of(name);
    EXPECT_THAT(forward.kept.weights, Matches(golden.expected("weights"))) << about(name) << note("kept.weights");
    EXPECT_THAT(forward.context, Matches(golden.expected("context"))) << about(name);
  }
}

TEST(AttentionForward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{1, 4, 3, 2, 6}, {4, 1, 3, 2, 6}, {3, 4, 1, 2, 6}, {3, 2, 5, 1, 6}, {7, 9, 8, 4, 6}}) {
    const arma::cube Q = normal(n.L, n.D, n.N), K = normal(n.S, n.D, n.N), V = normal(n.S, n.Dv, n.N);
    const Mask mask = random_mask(n.L, n.S, 3), keep = Dropout::draw(n.L, n.S, n.N, 0.3);
    KeptAttention wanted = kept_of(Q, K, V, mask, keep, 0.3);
    EXPECT_THAT(attention_forward(Q, K, V, mask, keep, 0.3).context,
                IsNear(naive_mix(wanted.weights % factors(wanted), V), context_axes));
  }
}

TEST(AttentionForward, StaysFiniteForScoresOfAThousand) {
  arma::cube Q = zeros(2, 4, 2), K = zeros(3, 4, 2);
  Q.col(0).fill(50);
  K.tube(0, 0).fill(-40);
  K.tube(1, 0).fill(40);  // scores of -1000, 1000 and 0
  arma::cube wanted = zeros(2, 3, 2);
  wanted.col(1).ones();
  EXPECT_THAT(attention_forward(Q, K, normal(3, 5, 2)).kept.weights, IsNear(wanted, scores_axes))
      << note("the scores of each query are -1000, 1000 and 0; kept.weights");
}

TEST(AttentionForward, DrawsNothing) {
  const arma::cube Q = normal(4, 3, 2), K = normal(5, 3, 2), V = normal(5, 6, 2);
  const Mask keep = Dropout::draw(4, 5, 2, 0.5);
  expect_leaves_the_generator_alone("attention_forward", [&] { attention_forward(Q, K, V, {}, keep, 0.5); });
}

// ------------------------------------------------------------------------------------------ attention_backward, 24.5

TEST(AttentionBackward, GivesEachInputAGradientOfItsShape) {
  const AttentionGradients gradients = attention_backward(normal(4, 6, 2), drawn_kept({4, 5, 3, 6, 2}));
  EXPECT_THAT(gradients.d_Q, HasShape({{"L", 4}, {"D", 3}, {"N", 2}})) << note("d_Q");
  EXPECT_THAT(gradients.d_K, HasShape({{"S", 5}, {"D", 3}, {"N", 2}})) << note("d_K");
  EXPECT_THAT(gradients.d_V, HasShape({{"S", 5}, {"Dv", 6}, {"N", 2}})) << note("d_V");
}

TEST(AttentionBackward, GivesTheExampleWorkedByHand) {
  expect_golden_gradients(attention_backward(load_golden("by_hand").cube("d_context"), kept_of("by_hand")), "by_hand");
}

TEST(AttentionBackward, GivesTheExampleWorkedByHandUnderAMask) {
  expect_golden_gradients(
      attention_backward(load_golden("masked_by_hand").cube("d_context"), kept_of("masked_by_hand")), "masked_by_hand");
}

TEST(AttentionBackward, IsZeroWhereTheLossIgnoresTheContext) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2});
  expect_gradients(attention_backward(zeros(4, 6, 2), kept), {zeros(4, 3, 2), zeros(5, 3, 2), zeros(5, 6, 2)},
                   note("d_context is zero"));
}

TEST(AttentionBackward, IsLinearInTheGradientOfTheContext) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, random_mask(4, 5, 1), 0.3);
  const arma::cube one = normal(4, 6, 2), other = normal(4, 6, 2);
  const AttentionGradients a = attention_backward(one, kept), b = attention_backward(other, kept);
  ASSERT_HOLDS(have_shapes_of(a, kept) && have_shapes_of(b, kept), wrong_shapes);
  expect_gradients(attention_backward(2 * one - other, kept), {2 * a.d_Q - b.d_Q, 2 * a.d_K - b.d_K, 2 * a.d_V - b.d_V},
                   note("d_context is 2 times one less another: so are the gradients"));
}

TEST(AttentionBackward, FollowsPermutedKeysAndValues) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, random_mask(4, 5, 1));
  const arma::cube d_context = normal(4, 6, 2);
  const arma::uvec order = shuffled(5);
  const AttentionGradients gradients = attention_backward(d_context, kept);
  ASSERT_HOLDS(have_shapes_of(gradients, kept), wrong_shapes);
  const KeptAttention moved = {
      kept.Q, reordered(kept.K, order), reordered(kept.V, order), reordered_columns(kept.weights, order), {}, 0};
  expect_gradients(
      attention_backward(d_context, moved),
      {gradients.d_Q, reordered(gradients.d_K, order), reordered(gradients.d_V, order)},
      note("keys and values were put in another order: their gradients follow, those of the queries stay"));
}

TEST(AttentionBackward, GivesKeysGradientsThatSumToZero) {
  const AttentionGradients gradients = attention_backward(normal(4, 6, 2), drawn_kept({4, 5, 3, 6, 2}));
  ASSERT_THAT(gradients.d_K, HasShape({{"S", 5}, {"D", 3}, {"N", 2}}));
  EXPECT_THAT(arma::cube(arma::sum(gradients.d_K, 0)), IsNear(zeros(1, 3, 2), {"1", "D", "N"}))
      << note("the sum of the rows of d_K: the same vector added to all keys changes no weight");
}

TEST(AttentionBackward, GivesNothingThroughABlockedScore) {
  Mask mask = ones(4, 5, 2);
  mask.tube(1, 0, 1, 4).zeros();  // query 1 has no key
  mask.tube(0, 3, 3, 3).zeros();  // key 3 is for no query
  mask.tube(2, 0, 2, 3).zeros();  // query 2 has one key
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, mask);
  const AttentionGradients gradients = attention_backward(normal(4, 6, 2), kept);
  ASSERT_HOLDS(have_shapes_of(gradients, kept), wrong_shapes);
  const arma::cube row = zeros(1, 3, 2);
  EXPECT_THAT(arma::cube(gradients.d_Q.rows(1, 1)), IsNear(row, {"1", "D", "N"}))
      << note("d_Q of a query without keys");
  EXPECT_THAT(arma::cube(gradients.d_Q.rows(2, 2)), IsNear(row, {"1", "D", "N"}))
      << note("d_Q of a query with one key: its weight is 1, whatever the score is");
  EXPECT_THAT(arma::cube(gradients.d_K.rows(3, 3)), IsNear(row, {"1", "D", "N"}))
      << note("d_K of a key that no query may attend to");
  EXPECT_THAT(arma::cube(gradients.d_V.rows(3, 3)), IsNear(zeros(1, 6, 2), {"1", "Dv", "N"}))
      << note("d_V of a value that no query may attend to");
}

TEST(AttentionBackward, KeepsTheSlicesApart) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 3}, random_mask(4, 5, 3), 0.3);
  const arma::cube d_context = normal(4, 6, 3);
  const AttentionGradients together = attention_backward(d_context, kept);
  ASSERT_HOLDS(have_shapes_of(together, kept), wrong_shapes);
  for (uword n = 0; n < 3; ++n) {
    const KeptAttention alone = {kept.Q.slices(n, n),       kept.K.slices(n, n),    kept.V.slices(n, n),
                                 kept.weights.slices(n, n), kept.keep.slices(n, n), kept.p};
    expect_gradients(attention_backward(d_context.slices(n, n), alone),
                     {together.d_Q.slices(n, n), together.d_K.slices(n, n), together.d_V.slices(n, n)},
                     note("slice " + std::to_string(n) + " alone; expected: what it gives together with the others"));
  }
}

TEST(AttentionBackward, EqualsPyTorch) {
  for (const std::string& name : all_cases) {
    expect_golden_gradients(attention_backward(load_golden(name).cube("d_context"), kept_of(name)), name);
  }
}

TEST(AttentionBackward, EqualsPyTorchWithWhatTheForwardPassKept) {
  for (const std::string& name : all_cases) {
    expect_golden_gradients(attention_backward(load_golden(name).cube("d_context"), forward_of(name).kept), name);
  }
}

TEST(AttentionBackward, EqualsTheDifferences) {
  Mask mask = ones(3, 4, 2);
  mask(0, 1, 0) = mask(2, 3, 1) = 0;
  const KeptAttention kept = drawn_kept({3, 4, 2, 5, 2}, mask, 0.3);
  const arma::cube d_context = normal(3, 5, 2);
  const AttentionGradients gradients = attention_backward(d_context, kept);
  const auto context = [&](const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
    return naive_mix(naive_attention_weights(Q, K, mask) % factors(kept), V);
  };
  const auto of_Q = [&](const arma::cube& x) { return context(x, kept.K, kept.V); };
  const auto of_K = [&](const arma::cube& x) { return context(kept.Q, x, kept.V); };
  const auto of_V = [&](const arma::cube& x) { return context(kept.Q, kept.K, x); };
  const std::string about = note("expected: the slope of the loss, by differences; with a mask, and dropout of 0.3");
  EXPECT_THAT(gradients.d_V, Matches(gradient_by_differences(of_V, d_context, kept.V, value_axes))) << about;
  EXPECT_THAT(gradients.d_K, Matches(gradient_by_differences(of_K, d_context, kept.K, key_axes))) << about;
  EXPECT_THAT(gradients.d_Q, Matches(gradient_by_differences(of_Q, d_context, kept.Q, query_axes))) << about;
}

TEST(AttentionBackward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{1, 4, 3, 2, 6}, {4, 1, 3, 2, 6}, {3, 4, 1, 2, 6}, {3, 2, 5, 1, 6}, {7, 9, 8, 4, 2}}) {
    for (const double p : {0.0, 0.3}) {
      const KeptAttention kept = drawn_kept(n, random_mask(n.L, n.S, 2), p);
      const arma::cube d_context = normal(n.L, n.Dv, n.N);
      expect_gradients(attention_backward(d_context, kept), naive_attention_backward(d_context, kept),
                       p == 0 ? note("without dropout") : note("with dropout, p = 0.3"));
    }
  }
}

// Here a factor that is transposed wrongly, or the wrong one, fits: it gives numbers, by which it is named.
TEST(AttentionBackward, EqualsTheDefinitionWhereAllSizesAreEqual) {
  const KeptAttention kept = drawn_kept({4, 4, 4, 4, 2}, random_mask(4, 4, 2), 0);
  const arma::cube d_context = normal(4, 4, 2);
  expect_gradients(attention_backward(d_context, kept), naive_attention_backward(d_context, kept),
                   note("L = S = D = Dv = 4"));
}

TEST(AttentionBackward, VanishesForQueriesAndKeysWhereTheSoftmaxIsSaturated) {
  arma::cube weights = zeros(2, 3, 2);
  weights.tube(0, 1).ones();
  weights.tube(1, 2).ones();
  const arma::cube d_context = normal(2, 5, 2);
  arma::cube d_V = zeros(3, 5, 2);
  d_V.rows(1, 2) = d_context;
  expect_gradients(
      attention_backward(d_context, {1000 * normal(2, 4, 2), 1000 * normal(3, 4, 2), normal(3, 5, 2), weights, {}, 0}),
      {zeros(2, 4, 2), zeros(3, 4, 2), d_V}, note("each query gives all its weight to one key"));
}

TEST(AttentionBackward, DropsWhatTheForwardPassDropped) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, {}, 0.5);
  const arma::cube d_context = normal(4, 6, 2);
  arma::arma_rng::set_seed(7);
  const double untouched = arma::randu();
  arma::arma_rng::set_seed(7);
  const AttentionGradients gradients = attention_backward(d_context, kept);
  EXPECT_HOLDS(arma::randu() == untouched, "attention_backward draws random numbers; the mask of dropout is kept.keep")
      << likely_mistake("dropout_drawn_anew");
  expect_gradients(gradients, naive_attention_backward(d_context, kept), note("with dropout, p = 0.5"));
}

TEST(AttentionBackward, DropsWhatKeepSaysWhateverPIs) {
  KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, {}, 0.5);
  kept.p = 0;
  const arma::cube d_context = normal(4, 6, 2);
  expect_gradients(attention_backward(d_context, kept), naive_attention_backward(d_context, kept),
                   note("p = 0, and keep has zeros: these are dropped, and the others stay as they are"));
}

TEST(AttentionBackward, TakesAnyNumberButZeroAsKept) {
  KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, {}, 0.5);
  const arma::cube d_context = normal(4, 6, 2);
  const AttentionGradients wanted = naive_attention_backward(d_context, kept);
  kept.keep *= 3;
  expect_gradients(attention_backward(d_context, kept), wanted, note("keep holds 3 instead of 1"));
}

TEST(AttentionBackward, LeavesItsArguments) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2}, {}, 0.5);
  const arma::cube d_context = normal(4, 6, 2);
  expect_leaves_its_arguments("attention_backward",
                              {{"d_context", d_context},
                               {"kept.Q", kept.Q},
                               {"kept.K", kept.K},
                               {"kept.V", kept.V},
                               {"kept.weights", kept.weights},
                               {"kept.keep", kept.keep}},
                              [&] { attention_backward(d_context, kept); });
}

// ---------------------------------------------------------------------------------------------- cross_entropy, 24.6

TEST(CrossEntropy, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("loss_by_hand");
  EXPECT_THAT(number(cross_entropy(golden.cube("logits"), targets_of(golden))),
              IsNear(number(-(std::log(0.5) + std::log(0.1)) / 2), number_axes))
      << note("the probabilities of the right classes are 0.5 and 0.1; the target of token 2 is ignored");
}

TEST(CrossEntropy, IsTheLogarithmOfTheNumberOfClassesWhereAllAreAlike) {
  EXPECT_THAT(number(cross_entropy(3 * arma::cube(4, 7, 2, arma::fill::ones), drawn_targets(4, 7, 2, false))),
              IsNear(number(std::log(7.0)), number_axes))
      << note("7 classes with equal logits: log 7, what guessing costs");
}

TEST(CrossEntropy, IgnoresTheSameAddedToAllLogitsOfAToken) {
  const arma::cube logits = normal(4, 7, 2);
  const arma::umat targets = drawn_targets(4, 7, 2, true);
  arma::cube moved = logits;
  for (uword i = 0; i < 4; ++i) moved.row(i) += static_cast<double>(i) - 5;
  EXPECT_THAT(number(cross_entropy(moved, targets)), IsNear(number(naive_cross_entropy(logits, targets)), number_axes));
}

TEST(CrossEntropy, IgnoresTheLogitsOfIgnoredTargets) {
  arma::cube logits = normal(4, 7, 2);
  arma::umat targets = drawn_targets(4, 7, 2, false);
  targets(1, 0) = targets(3, 1) = ignored_target;
  const double wanted = naive_cross_entropy(logits, targets);
  logits.slice(0).row(1) *= 10;
  logits.slice(1).row(3).fill(arma::datum::nan);
  EXPECT_THAT(number(cross_entropy(logits, targets)), IsNear(number(wanted), number_axes))
      << note("2 of 8 targets are ignored: the mean is over 6; the logits of one of them are NaN");
}

TEST(CrossEntropy, EqualsPyTorch) {
  for (const std::string name : {"tokens", "ignored"}) {
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(number(cross_entropy(golden.cube("logits"), targets_of(golden))), Matches(golden.expected("loss")))
        << note(name == "tokens" ? "every target counts" : "4 of 15 targets are ignored");
  }
}

TEST(CrossEntropy, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{1, 4, 0, 0, 3}, {5, 2, 0, 0, 1}, {3, 1, 0, 0, 2}, {6, 50, 0, 0, 4}}) {
    const arma::cube logits = 2 * normal(n.L, n.S, n.N);
    const arma::umat targets = drawn_targets(n.L, n.S, n.N, true);
    EXPECT_THAT(number(cross_entropy(logits, targets)),
                IsNear(number(naive_cross_entropy(logits, targets)), number_axes));
  }
}

TEST(CrossEntropy, StaysExactForLogitsOfAThousand) {
  arma::cube logits(2, 3, 1);
  logits.slice(0) = {{1000, 0, -1000}, {-1000, -1000, -1001}};
  EXPECT_THAT(number(cross_entropy(logits, arma::uvec{1, 2})),
              IsNear(number((1000 + 1 + std::log(2 + std::exp(-1.0))) / 2), number_axes))
      << given("logits", logits) << note("the targets are 1 and 2; a probability of 0 must not meet a logarithm");
}

TEST(CrossEntropy, IsZeroWhereEveryTargetIsIgnored) {
  arma::umat targets(4, 2);
  targets.fill(ignored_target);
  EXPECT_THAT(number(cross_entropy(normal(4, 7, 2), targets)), IsNear(number(0), number_axes));
}

// ------------------------------------------------------------------------------------- cross_entropy_backward, 24.7

TEST(CrossEntropyBackward, HasTheShapeOfTheLogits) {
  EXPECT_THAT(cross_entropy_backward(normal(4, 7, 3), drawn_targets(4, 7, 3, true)),
              HasShape({{"L", 4}, {"V", 7}, {"B", 3}}));
}

TEST(CrossEntropyBackward, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("loss_by_hand");
  EXPECT_THAT(cross_entropy_backward(golden.cube("logits"), targets_of(golden)), Matches(golden.expected("d_logits")))
      << note("the targets are 0, 1 and ignored");
}

TEST(CrossEntropyBackward, HasRowsThatSumToZero) {
  const arma::cube d_logits = cross_entropy_backward(normal(4, 7, 3), drawn_targets(4, 7, 3, true));
  ASSERT_THAT(d_logits, HasShape({{"L", 4}, {"V", 7}, {"B", 3}}));
  EXPECT_THAT(arma::cube(arma::sum(d_logits, 1)), IsNear(zeros(4, 1, 3), {"L", "1", "B"}))
      << note("the sums of the rows: the same added to all logits of a token changes no probability");
}

TEST(CrossEntropyBackward, GivesZerosToIgnoredTokens) {
  arma::cube logits = normal(4, 7, 3);
  arma::umat targets = drawn_targets(4, 7, 3, false);
  targets(1, 0) = targets(3, 0) = targets(2, 2) = ignored_target;
  const arma::cube wanted = naive_cross_entropy_backward(logits, targets);
  logits.slice(2).row(2).fill(arma::datum::nan);
  EXPECT_THAT(cross_entropy_backward(logits, targets), IsNear(wanted, logits_axes))
      << note("3 of 12 targets are ignored: zeros there, and the others are divided by 9; the logits of one are NaN");
}

TEST(CrossEntropyBackward, IsZeroWhereEveryTargetIsIgnored) {
  arma::umat targets(4, 2);
  targets.fill(ignored_target);
  EXPECT_THAT(cross_entropy_backward(normal(4, 7, 2), targets), IsNear(zeros(4, 7, 2), logits_axes));
}

TEST(CrossEntropyBackward, EqualsPyTorch) {
  for (const std::string name : {"tokens", "ignored"}) {
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(cross_entropy_backward(golden.cube("logits"), targets_of(golden)), Matches(golden.expected("d_logits")))
        << note(name == "tokens" ? "every target counts" : "4 of 15 targets are ignored");
  }
}

TEST(CrossEntropyBackward, EqualsTheDifferences) {
  const arma::cube logits = normal(3, 4, 2);
  const arma::umat targets = {{0, 3}, {2, ignored_target}, {1, 2}};
  const auto loss = [&](const arma::cube& x) { return as_cube(number(naive_cross_entropy(x, targets))); };
  EXPECT_THAT(cross_entropy_backward(logits, targets),
              Matches(gradient_by_differences(loss, as_cube(number(1)), logits, logits_axes)))
      << note("expected: the slope of the loss, by differences");
}

TEST(CrossEntropyBackward, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : {Sizes{1, 4, 0, 0, 3}, {5, 2, 0, 0, 1}, {3, 1, 0, 0, 2}, {6, 50, 0, 0, 4}}) {
    const arma::cube logits = 2 * normal(n.L, n.S, n.N);
    const arma::umat targets = drawn_targets(n.L, n.S, n.N, true);
    EXPECT_THAT(cross_entropy_backward(logits, targets),
                IsNear(naive_cross_entropy_backward(logits, targets), logits_axes));
  }
}

TEST(CrossEntropyBackward, StaysFiniteForLogitsOfAThousand) {
  arma::cube logits(2, 3, 1), wanted(2, 3, 1);
  logits.slice(0) = {{1000, 0, -1000}, {-1000, 1000, 1000}};
  wanted.slice(0) = {{0.5, -0.5, 0}, {0, 0.25, -0.25}};
  EXPECT_THAT(cross_entropy_backward(logits, arma::uvec{1, 2}), IsNear(wanted, logits_axes))
      << given("logits", logits) << note("the targets are 1 and 2");
}

TEST(CrossEntropyBackward, LeavesItsArguments) {
  const arma::cube logits = normal(4, 7, 2);
  const arma::umat targets = drawn_targets(4, 7, 2, false);
  expect_leaves_its_arguments("cross_entropy_backward", {{"logits", logits}, {"targets", targets}}, [&] {
    cross_entropy(logits, targets);
    cross_entropy_backward(logits, targets);
  });
}

// --------------------------------------------------------------------------- bad input: slope_by_differences, 24.1

TEST(GradientCheck, RejectsAStepThatIsNotAboveZero) {
  double x = 1;
  const auto loss = [&] { return x; };
  EXPECT_PRED_FORMAT1(RejectsArgument("h", {"0"}), [&] { slope_by_differences(loss, x, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("h", {"-0.5"}), [&] { slope_by_differences(loss, x, -0.5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("h", {"nan"}), [&] { slope_by_differences(loss, x, arma::datum::nan); });
}

// ------------------------------------------------------------------------------------ bad input: matmul_backward, 24.2

TEST(MatmulBackward, RejectsShapesThatDoNotFit) {
  const arma::mat A = normal(4, 3), B = normal(3, 5);
  EXPECT_PRED_FORMAT1(RejectsArgument("B", {"4 x 5", "3"}), [&] { matmul_backward(A, normal(4, 5), normal(4, 5)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_C", {"4 x 3", "5"}), [&] { matmul_backward(A, B, normal(4, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_C", {"3 x 5", "4"}), [&] { matmul_backward(A, B, normal(3, 5)); });
}

// ----------------------------------------------------------------------------------- bad input: softmax_backward, 24.3

TEST(SoftmaxBackward, RejectsGradientsOfAnotherShape) {
  const arma::cube weights = zeros(4, 5, 3);
  EXPECT_PRED_FORMAT1(RejectsArgument("d_weights", {"4 x 6 x 3", "5"}),
                      [&] { softmax_backward(weights, zeros(4, 6, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_weights", {"5 x 5 x 3", "4"}),
                      [&] { softmax_backward(weights, zeros(5, 5, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_weights", {"4 x 5 x 1", "3"}),
                      [&] { softmax_backward(weights, zeros(4, 5, 1)); });
}

// ---------------------------------------------------------------------------------- bad input: attention_forward, 24.4

TEST(AttentionForward, RejectsShapesThatDoNotFit) {
  const arma::cube Q = zeros(4, 3, 2), K = zeros(5, 3, 2), V = zeros(5, 6, 2);
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 7 x 2", "3"}), [&] { attention_forward(Q, zeros(5, 7, 2), V); });
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"4 x 6 x 2", "5"}), [&] { attention_forward(Q, K, zeros(4, 6, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 3 x 4", "2"}), [&] { attention_forward(Q, zeros(5, 3, 4), V); });
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"5 x 6 x 4", "2"}), [&] { attention_forward(Q, K, zeros(5, 6, 4)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 3 x 1"}), [&] { attention_forward(Q, K, V, ones(4, 3, 1)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("keep", {"4 x 5 x 1"}),
                      [&] { attention_forward(Q, K, V, {}, ones(4, 5, 1), 0.1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"1"}), [&] { attention_forward(Q, K, V, {}, ones(4, 5, 2), 1.0); });
}

// --------------------------------------------------------------------------------- bad input: attention_backward, 24.5

TEST(AttentionBackward, RejectsAGradientOfAnotherShape) {
  const KeptAttention kept = drawn_kept({4, 5, 3, 6, 2});
  EXPECT_PRED_FORMAT1(RejectsArgument("d_context", {"5 x 6 x 2", "4"}),
                      [&] { attention_backward(zeros(5, 6, 2), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_context", {"4 x 3 x 2", "6"}),
                      [&] { attention_backward(zeros(4, 3, 2), kept); });
  EXPECT_PRED_FORMAT1(RejectsArgument("d_context", {"4 x 6 x 1", "2"}),
                      [&] { attention_backward(zeros(4, 6, 1), kept); });
}

// -------------------------------------------------------------------------- bad input: cross_entropy, 24.6 and 24.7

TEST(CrossEntropy, RejectsTargetsThatDoNotFit) {
  const arma::cube logits = zeros(4, 7, 2);
  arma::umat targets(4, 2, arma::fill::zeros);
  EXPECT_PRED_FORMAT1(RejectsArgument("targets", {"2 x 4"}), [&] { cross_entropy(logits, targets.t()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("targets", {"2 x 4"}), [&] { cross_entropy_backward(logits, targets.t()); });
  targets(3, 1) = 7;
  EXPECT_PRED_FORMAT1(RejectsArgument("targets", {"7"}), [&] { cross_entropy(logits, targets); });
  EXPECT_PRED_FORMAT1(RejectsArgument("targets", {"7"}), [&] { cross_entropy_backward(logits, targets); });
}

// --------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward and backward, 2 sequences of 64 tokens, D = 64", [] {
  const arma::cube Q = normal(64, 64, 2), K = normal(64, 64, 2), V = normal(64, 64, 2), d_context = normal(64, 64, 2);
  return [Q, K, V, d_context] { return attention_backward(d_context, attention_forward(Q, K, V).kept).d_Q; };
});

}  // namespace
}  // namespace attn::judge
