#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>

#include "attn/self_attention_v1.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

SelfAttentionV1 layer_from(const GoldenCase& golden) {
  SelfAttentionV1 attention(golden.linear("query_proj").weight.n_rows);
  attention.query_proj = golden.linear("query_proj");
  attention.key_proj = golden.linear("key_proj");
  attention.value_proj = golden.linear("value_proj");
  return attention;
}

Projections projections_of(const SelfAttentionV1& attention) {
  return {{"query_proj", attention.query_proj}, {"key_proj", attention.key_proj}, {"value_proj", attention.value_proj}};
}

// ------------------------------------------------------------------------------------------------ the layer, 01.1

TEST(SelfAttentionV1, HasThreeProjectionsWithoutBias) {
  const SelfAttentionV1 attention(3);
  for (const Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj}) {
    EXPECT_THAT(proj->weight, HasShape({{"E (in)", 3}, {"E (out)", 3}}));
    EXPECT_HOLDS(proj->bias.is_empty(), "a projection has a bias") << likely_mistake("projections_with_bias");
  }
}

TEST(SelfAttentionV1, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(SelfAttentionV1(3)));
}

TEST(SelfAttentionV1, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(SelfAttentionV1(50)), false);
}

// ------------------------------------------------------------------------------------------------- forward, 01.2

TEST(SelfAttentionV1, KeepsTheShapeOfItsInput) {
  SelfAttentionV1 attention(3);
  EXPECT_THAT(attention.forward(normal(4, 3, 2)), HasShape({{"L", 4}, {"E", 3}, {"B", 2}}));
}

TEST(SelfAttentionV1, KeepsItsWeights) {
  SelfAttentionV1 attention(3);
  attention.forward(normal(4, 3, 2));
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
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV1, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(SelfAttentionV1, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  expect_follows_permuted_tokens(attention, golden.cube("X"));
}

TEST(SelfAttentionV1, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  expect_keeps_the_batch_apart(attention, golden.cube("X"));
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

TEST(SelfAttentionV1, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV1 attention = layer_from(golden);
  expect_starts_afresh(attention, golden);
}

TEST(SelfAttentionV1, LeavesItsFields) {
  SelfAttentionV1 attention(3);
  const Projections before = projections_of(attention);
  attention.forward(normal(4, 3, 2));
  expect_unchanged(before, projections_of(attention));
}

TEST(SelfAttentionV1, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return SelfAttentionV1(3).query_proj.weight; });
}

TEST(SelfAttentionV1, GivesASingleTokenItsOwnValue) {
  const GoldenCase golden = load_golden("one_token");
  SelfAttentionV1 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SelfAttentionV1, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  SelfAttentionV1 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------- scores by index, 01.3

TEST(AttentionScoresEinsum, GivesOneScoreForEachQueryAndKey) {
  const arma::cube Q = normal(4, 3, 2);
  const arma::cube K = normal(5, 3, 2);
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

// -------------------------------------------------------------------------------------- bad input: the layer, 01.1

TEST(SelfAttentionV1, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { SelfAttentionV1(0); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 01.2

TEST(SelfAttentionV1, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV1 attention(3);
  expect_rejects_inputs(attention, 3);
}

// -------------------------------------------------------------------------------- bad input: scores by index, 01.3

TEST(AttentionScoresEinsum, RejectsShapesThatDoNotFit) {
  const arma::cube Q(4, 3, 2, arma::fill::zeros);
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
  const arma::cube X = normal(64, 64, 3);
  return [layer = SelfAttentionV1(64), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
