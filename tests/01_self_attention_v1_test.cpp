#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>

#include "attn/self_attention_v1.hpp"
#include "support/golden.hpp"
#include "support/matchers.hpp"
#include "support/oracles.hpp"

namespace attn::testing {
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
    EXPECT_THAT(attention.forward(X.slices(b, b)), IsNear(arma::cube(together.slices(b, b)), {"L", "E", "B"}))
        << note("a sequence must give the same result alone as in a batch");
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
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1)}) {
    const arma::cube X(size, arma::fill::randn);
    SelfAttentionV1 attention(X.n_cols);
    const arma::cube Q = naive_linear(X, attention.query_proj.weight, {});
    const arma::cube K = naive_linear(X, attention.key_proj.weight, {});
    const arma::cube V = naive_linear(X, attention.value_proj.weight, {});
    EXPECT_THAT(attention.forward(X), IsNear(naive_attention(Q, K, V), {"L", "E", "B"}));
  }
}

TEST(SelfAttentionV1, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("batch");
  const GoldenCase one_token = load_golden("one_token");
  SelfAttentionV1 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  attention.forward(arma::cube(one_token.cube("X")));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 1}, {"L (keys)", 1}, {"B", 2}}));
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
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
  const arma::cube Q(6, 2, 3, arma::fill::randn);
  const arma::cube K(4, 2, 3, arma::fill::randn);
  EXPECT_THAT(attention_scores_einsum(Q, K), IsNear(naive_scores(Q, K), {"L", "S", "B"}));
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SelfAttentionV1, RejectsAWidthOfZero) {
  EXPECT_THAT([] { SelfAttentionV1(0); }, RejectsArgument("dim", {"0"}));
}

TEST(SelfAttentionV1, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV1 attention(3);
  EXPECT_THAT([&] { attention.forward(arma::cube(4, 5, 2, arma::fill::zeros)); },
              RejectsArgument("X", {"4 x 5 x 2", "3"}));
  EXPECT_THAT([&] { attention.forward(arma::cube()); }, RejectsArgument("X", {"0 x 0 x 0"}));
  EXPECT_THAT([&] { attention.forward(arma::cube(0, 3, 2)); }, RejectsArgument("X", {"0 x 3 x 2"}));
  EXPECT_THAT([&] { attention.forward(arma::cube(4, 3, 0)); }, RejectsArgument("X", {"4 x 3 x 0"}));
}

TEST(AttentionScoresEinsum, RejectsShapesThatDoNotFit) {
  const arma::cube Q(4, 3, 2, arma::fill::zeros);
  const auto scores_of_Q_4x3x2_with_K_of = [&](arma::uword S, arma::uword D, arma::uword B) {
    return [&Q, S, D, B] { attention_scores_einsum(Q, arma::cube(S, D, B, arma::fill::zeros)); };
  };
  EXPECT_THAT(scores_of_Q_4x3x2_with_K_of(5, 6, 2), RejectsArgument("K", {"5 x 6 x 2", "3"}));
  EXPECT_THAT(scores_of_Q_4x3x2_with_K_of(5, 3, 7), RejectsArgument("K", {"5 x 3 x 7", "2"}));
  EXPECT_THAT(scores_of_Q_4x3x2_with_K_of(0, 3, 2), RejectsArgument("K", {"0 x 3 x 2"}));
  EXPECT_THAT([&] { attention_scores_einsum(arma::cube(), Q); }, RejectsArgument("Q", {"0 x 0 x 0"}));
}

}  // namespace
}  // namespace attn::testing
