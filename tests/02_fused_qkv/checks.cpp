#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>

#include "attn/self_attention_v1.hpp"
#include "attn/self_attention_v2.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

SelfAttentionV2 layer_from(const GoldenCase& golden) {
  SelfAttentionV2 attention(golden.linear("proj").weight.n_rows);
  attention.proj = golden.linear("proj");
  return attention;
}

SelfAttentionV1 separate_layer_from(const GoldenCase& golden) {
  SelfAttentionV1 attention(golden.linear("query_proj").weight.n_rows);
  attention.query_proj = golden.linear("query_proj");
  attention.key_proj = golden.linear("key_proj");
  attention.value_proj = golden.linear("value_proj");
  return attention;
}

// ------------------------------------------------------------------------------------------------ the layer, 02.1

TEST(SelfAttentionV2, HasOneProjectionThreeTimesAsWide) {
  const SelfAttentionV2 attention(4);
  EXPECT_THAT(attention.proj.weight, HasShape({{"E", 4}, {"3E", 12}}));
}

TEST(SelfAttentionV2, HasABias) {
  const SelfAttentionV2 attention(4);
  ASSERT_HOLDS(!attention.proj.bias.is_empty(), "the projection has no bias")
      << likely_mistake("projection_without_bias");
  EXPECT_THAT(arma::mat(attention.proj.bias), HasShape({{"1", 1}, {"3E", 12}}));
}

TEST(SelfAttentionV2, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(thirds_of("proj", SelfAttentionV2(50).proj));
}

TEST(SelfAttentionV2, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(thirds_of("proj", SelfAttentionV2(4).proj));
}

// ------------------------------------------------------------------------------------------------- forward, 02.2

TEST(SelfAttentionV2, KeepsTheShapeOfItsInput) {
  SelfAttentionV2 attention(4);
  EXPECT_THAT(attention.forward(normal(5, 4, 2)), HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
}

TEST(SelfAttentionV2, KeepsItsWeights) {
  SelfAttentionV2 attention(4);
  attention.forward(normal(5, 4, 2));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 2}}));
}

TEST(SelfAttentionV2, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  SelfAttentionV2 attention(2);
  attention.proj.weight = {{1, 1, 1, 2, 2, 0}, {0, 1, 1, 0, 0, 1}};
  attention.proj.bias = {0, 1, -1, 0, 0, 1};
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV2, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(SelfAttentionV2, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  expect_keeps_the_batch_apart(attention, golden.cube("X"));
}

TEST(SelfAttentionV2, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  expect_follows_permuted_tokens(attention, golden.cube("X"));
}

TEST(SelfAttentionV2, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(SelfAttentionV2, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV2, EqualsTheDefinitionForOtherSizes) {
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(1, 4, 2), arma::SizeCube(70, 2, 3), arma::SizeCube(3, 40, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    const arma::uword dim = X.n_cols;
    SelfAttentionV2 attention(dim);
    const arma::cube QKV = naive_linear(X, attention.proj.weight, attention.proj.bias);
    const arma::cube Q = QKV.cols(0, dim - 1);
    const arma::cube K = QKV.cols(dim, 2 * dim - 1);
    const arma::cube V = QKV.cols(2 * dim, 3 * dim - 1);
    EXPECT_THAT(attention.forward(X), IsNear(naive_attention(Q, K, V), {"L", "E", "B"}));
    EXPECT_THAT(attention.attention_weights(), IsNear(naive_attention_weights(Q, K), {"L", "L", "B"}));
  }
}

TEST(SelfAttentionV2, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  expect_starts_afresh(attention, golden);
}

TEST(SelfAttentionV2, LeavesItsFields) {
  SelfAttentionV2 attention(4);
  const Projections before = {{"proj", attention.proj}};
  attention.forward(normal(5, 4, 2));
  expect_unchanged(before, {{"proj", attention.proj}});
}

TEST(SelfAttentionV2, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return SelfAttentionV2(4).proj.weight; });
}

TEST(SelfAttentionV2, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  SelfAttentionV2 attention = layer_from(golden);
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------ fused = separate, 02.3

TEST(Fuse, PutsTheThreeWeightsSideBySide) {
  const GoldenCase golden = load_golden("fuse");
  const SelfAttentionV2 fused = fuse(separate_layer_from(golden));
  EXPECT_THAT(fused.proj.weight, Matches(golden.expected("fused_weight")));
}

TEST(Fuse, AddsNothing) {
  const SelfAttentionV2 fused = fuse(SelfAttentionV1(4));
  ASSERT_THAT(arma::mat(fused.proj.bias), HasShape({{"1", 1}, {"3E", 12}}));
  EXPECT_HOLDS(arma::all(fused.proj.bias == 0), "fused.proj.bias is not all zeros")
      << (arma::range(fused.proj.bias) > 0 ? likely_mistake("fuse_random_bias") : "");
}

TEST(Fuse, LeavesItsArguments) {
  const SelfAttentionV1 separate = separate_layer_from(load_golden("fuse"));
  expect_leaves_its_arguments("fuse",
                              {{"query_proj.weight", separate.query_proj.weight},
                               {"key_proj.weight", separate.key_proj.weight},
                               {"value_proj.weight", separate.value_proj.weight}},
                              [&] { fuse(separate); });
}

TEST(Fuse, WorksForEveryWidth) {
  for (const arma::uword dim : {1U, 3U, 6U}) {
    SelfAttentionV1 separate(dim);
    SelfAttentionV2 fused = fuse(separate);
    EXPECT_HOLDS(fused.attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
    const arma::cube X = normal(5, dim, 2);
    EXPECT_THAT(fused.forward(X), IsNear(separate.forward(X), {"L", "E", "B"}));
  }
}

TEST(Fuse, GivesWhatTheSeparateLayerGives) {
  const GoldenCase golden = load_golden("fuse");
  SelfAttentionV2 fused = fuse(separate_layer_from(golden));
  EXPECT_THAT(fused.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// -------------------------------------------------------------------------------------- bad input: the layer, 02.1

TEST(SelfAttentionV2, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { SelfAttentionV2(0); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 02.2

TEST(SelfAttentionV2, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV2 attention(4);
  expect_rejects_inputs(attention, 4);
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 3 sequences of 64 tokens, E = 64", [] {
  const arma::cube X = normal(64, 64, 3);
  return [layer = SelfAttentionV2(64), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
