#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <string>

#include "attn/self_attention_v1.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/speed.hpp"

namespace attn::judge {
namespace {

SelfAttentionV1 layer_from(const GoldenCase& golden) {
  SelfAttentionV1 attention(golden.linear("query_proj").weight.n_rows);
  attention.query_proj = golden.linear("query_proj");
  attention.key_proj = golden.linear("key_proj");
  attention.value_proj = golden.linear("value_proj");
  return attention;
}

// ------------------------------------------------------------------------------------------------ the layer, 01.1

TEST(SelfAttentionV1, HasThreeProjectionsWithoutBias) {
  const SelfAttentionV1 attention(3);
  for (const Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj}) {
    EXPECT_THAT(proj->weight, HasShape({{"E (in)", 3}, {"E (out)", 3}}));
    EXPECT_TRUE(proj->bias.is_empty()) << diagnosis_mark << likely_mistake("projections_with_bias");
  }
}

TEST(SelfAttentionV1, DrawsEachProjectionAnew) {
  const SelfAttentionV1 attention(3);
  EXPECT_FALSE(arma::approx_equal(attention.query_proj.weight, attention.key_proj.weight, "absdiff", 1e-12) ||
               arma::approx_equal(attention.key_proj.weight, attention.value_proj.weight, "absdiff", 1e-12) ||
               arma::approx_equal(attention.query_proj.weight, attention.value_proj.weight, "absdiff", 1e-12))
      << diagnosis_mark << line("value", "two of the three projections have the same weight")
      << note("one Linear was copied; construct each with its sizes");
}

TEST(SelfAttentionV1, KeepsWhatLinearDraws) {
  const SelfAttentionV1 attention(50);
  for (const Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj}) {
    EXPECT_TRUE(arma::abs(proj->weight).max() <= 1 / std::sqrt(50.0) &&
                arma::stddev(arma::vectorise(proj->weight)) > 0.06)
        << diagnosis_mark << line("value", "a projection's weight is not as Linear draws it")
        << note("construct the three Linear, and leave their weights alone");
  }
}

// ------------------------------------------------------------------------------------------------- forward, 01.2

TEST(SelfAttentionV1, KeepsTheShapeOfItsInput) {
  SelfAttentionV1 attention(3);
  EXPECT_THAT(attention.forward(arma::cube(4, 3, 2, arma::fill::randn)), HasShape({{"L", 4}, {"E", 3}, {"B", 2}}));
}

TEST(SelfAttentionV1, KeepsItsWeights) {
  SelfAttentionV1 attention(3);
  attention.forward(arma::cube(4, 3, 2, arma::fill::randn));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 4}, {"L (keys)", 4}, {"B", 2}}));
}

TEST(SelfAttentionV1, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  SelfAttentionV1 attention(2);
  attention.query_proj.weight = {{1, 1}, {0, 1}};
  attention.key_proj.weight = {{1, 2}, {1, 0}};
  attention.value_proj.weight = {{2, 0}, {0, 1}};
  for (Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj}) proj->bias.reset();
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV1, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(SelfAttentionV1, FollowsTheTokensWhenTheyArePermuted) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const arma::uvec order = {2, 0, 3, 1};
  arma::cube permuted_X = X;
  arma::cube permuted_output = attention.forward(X);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    permuted_X.slice(b) = arma::mat(X.slice(b)).rows(order);
    permuted_output.slice(b) = arma::mat(permuted_output.slice(b)).rows(order);
  }
  EXPECT_THAT(attention.forward(permuted_X), IsNear(permuted_output, {"L", "E", "B"}))
      << note("attention knows no order: permuted tokens must give the same rows, permuted");
}

TEST(SelfAttentionV1, KeepsTheSequencesOfABatchApart) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const arma::cube together = attention.forward(X);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::cube alone = attention.forward(X.slices(b, b));
    EXPECT_THAT(arma::cube(together.slices(b, b)), IsNear(alone, {"L", "E", "B"})) << note(
        "this is sequence " + std::to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
  }
}

TEST(SelfAttentionV1, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SelfAttentionV1, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV1, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(3);
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(1, 4, 2), arma::SizeCube(70, 2, 3), arma::SizeCube(3, 40, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    SelfAttentionV1 attention(X.n_cols);
    const arma::cube Q = naive_linear(X, attention.query_proj.weight, {});
    const arma::cube K = naive_linear(X, attention.key_proj.weight, {});
    const arma::cube V = naive_linear(X, attention.value_proj.weight, {});
    EXPECT_THAT(attention.forward(X), IsNear(naive_attention(Q, K, V), {"L", "E", "B"}));
    EXPECT_THAT(attention.attention_weights(), IsNear(naive_attention_weights(Q, K), {"L", "L", "B"}));
  }
}

TEST(SelfAttentionV1, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  EXPECT_TRUE(attention.attention_weights().is_empty())
      << diagnosis_mark << line("value", "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with another X; nothing of that call may be left");
  attention.forward(-2 * X);
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
  attention.forward(X.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 4}, {"L (keys)", 4}, {"B", 1}})) << about;
}

TEST(SelfAttentionV1, LeavesItsFieldsAsTheyWere) {
  SelfAttentionV1 attention(3);
  const SelfAttentionV1 before = attention;
  attention.forward(arma::cube(4, 3, 2, arma::fill::randn));
  EXPECT_THAT(attention.query_proj.weight, IsNear(before.query_proj.weight, {"in", "out"}));
  EXPECT_TRUE(arma::approx_equal(attention.query_proj.bias, before.query_proj.bias, "absdiff", 0))
      << diagnosis_mark << line("value", "forward changed query_proj.bias");
  EXPECT_THAT(attention.key_proj.weight, IsNear(before.key_proj.weight, {"in", "out"}));
  EXPECT_TRUE(arma::approx_equal(attention.key_proj.bias, before.key_proj.bias, "absdiff", 0))
      << diagnosis_mark << line("value", "forward changed key_proj.bias");
  EXPECT_THAT(attention.value_proj.weight, IsNear(before.value_proj.weight, {"in", "out"}));
  EXPECT_TRUE(arma::approx_equal(attention.value_proj.bias, before.value_proj.bias, "absdiff", 0))
      << diagnosis_mark << line("value", "forward changed value_proj.bias");
}

TEST(SelfAttentionV1, LeavesTheRandomGeneratorToTheCaller) {
  const SelfAttentionV1 first(3);
  const SelfAttentionV1 second(3);
  EXPECT_FALSE(arma::approx_equal(first.query_proj.weight, second.query_proj.weight, "absdiff", 1e-12))
      << diagnosis_mark << line("value", "two new layers have the same weight")
      << note("the constructor seeds the generator itself; leave that to the caller");
}

TEST(SelfAttentionV1, ReturnsTheValueOfASingleToken) {
  const GoldenCase golden = load_golden("one_token");
  SelfAttentionV1 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SelfAttentionV1, StandsScoresFarFromZero) {
  const GoldenCase golden = load_golden("far_from_zero");
  SelfAttentionV1 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------- scores by index, 01.3

TEST(AttentionScoresEinsum, GivesOneScoreForEachQueryAndKey) {
  const arma::cube Q(4, 3, 2, arma::fill::randn);
  const arma::cube K(5, 3, 2, arma::fill::randn);
  EXPECT_THAT(attention_scores_einsum(Q, K), HasShape({{"L", 4}, {"S", 5}, {"B", 2}}));
}

TEST(AttentionScoresEinsum, EqualsPyTorch) {
  const GoldenCase golden = load_golden("einsum");
  EXPECT_THAT(attention_scores_einsum(golden.cube("Q"), golden.cube("K")), Matches(golden.expected("scores")));
}

TEST(AttentionScoresEinsum, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, B;
  };
  for (const Sizes& n : {Sizes{6, 4, 2, 3}, {1, 5, 3, 2}, {4, 1, 3, 2}, {4, 5, 1, 2}, {4, 5, 3, 1}, {3, 4, 40, 2}}) {
    const arma::cube Q(n.L, n.D, n.B, arma::fill::randn);
    const arma::cube K(n.S, n.D, n.B, arma::fill::randn);
    EXPECT_THAT(attention_scores_einsum(Q, K), IsNear(naive_scores(Q, K), {"L", "S", "B"}));
  }
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SelfAttentionV1, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { SelfAttentionV1(0); });
}

TEST(SelfAttentionV1, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV1 attention(3);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 5 x 2", "3"}),
                      [&] { attention.forward(arma::cube(4, 5, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 1 x 2", "3"}),
                      [&] { attention.forward(arma::cube(4, 1, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [&] { attention.forward(arma::cube()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 3 x 2"}), [&] { attention.forward(arma::cube(0, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 3 x 0"}), [&] { attention.forward(arma::cube(4, 3, 0)); });
}

TEST(AttentionScoresEinsum, RejectsShapesThatDoNotFit) {
  const arma::cube Q(4, 3, 2, arma::fill::zeros);
  const auto zeros = [](arma::uword rows, arma::uword cols, arma::uword slices) {
    return arma::cube(rows, cols, slices, arma::fill::zeros);
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 6 x 2", "3"}), [&] { attention_scores_einsum(Q, zeros(5, 6, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 1 x 2", "3"}), [&] { attention_scores_einsum(Q, zeros(5, 1, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 3 x 7", "2"}), [&] { attention_scores_einsum(Q, zeros(5, 3, 7)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"5 x 3 x 1", "2"}), [&] { attention_scores_einsum(Q, zeros(5, 3, 1)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"0 x 3 x 2"}), [&] { attention_scores_einsum(Q, zeros(0, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 3 x 2"}), [&] { attention_scores_einsum(zeros(0, 3, 2), Q); });
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"4 x 0 x 2"}),
                      [&] { attention_scores_einsum(zeros(4, 0, 2), zeros(5, 0, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"4 x 3 x 0"}),
                      [&] { attention_scores_einsum(zeros(4, 3, 0), zeros(5, 3, 0)); });
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 3 sequences of 64 tokens, E = 64", [] {
  const arma::cube X(64, 64, 3, arma::fill::randn);
  return [layer = SelfAttentionV1(64), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
