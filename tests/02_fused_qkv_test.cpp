#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>

#include "attn/self_attention_v1.hpp"
#include "attn/self_attention_v2.hpp"
#include "support/golden.hpp"
#include "support/matchers.hpp"
#include "support/oracles.hpp"

namespace attn::testing {
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
  ASSERT_FALSE(attention.proj.bias.is_empty()) << diagnosis_mark << likely_mistake("projection_without_bias");
  EXPECT_THAT(arma::mat(attention.proj.bias), HasShape({{"1", 1}, {"3E", 12}}));
}

// ------------------------------------------------------------------------------------------------- forward, 02.2

TEST(SelfAttentionV2, KeepsTheShapeOfItsInput) {
  SelfAttentionV2 attention(4);
  EXPECT_THAT(attention.forward(arma::cube(5, 4, 2, arma::fill::randn)), HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
}

TEST(SelfAttentionV2, KeepsItsWeights) {
  SelfAttentionV2 attention(4);
  attention.forward(arma::cube(5, 4, 2, arma::fill::randn));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 2}}));
}

TEST(SelfAttentionV2, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  SelfAttentionV2 attention(2);
  attention.proj.weight = {{1, 1, 1, 2, 2, 0}, {0, 1, 1, 0, 0, 1}};
  attention.proj.bias = {0, 1, -1, 0, 0, 1};
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionV2, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  EXPECT_THAT(attention.attention_weights(), RowsSumToOne());
}

TEST(SelfAttentionV2, KeepsTheSequencesOfABatchApart) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const arma::cube together = attention.forward(X);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    EXPECT_THAT(attention.forward(X.slices(b, b)), IsNear(arma::cube(together.slices(b, b)), {"L", "E", "B"}))
        << note("a sequence must give the same result alone as in a batch");
  }
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
  arma::arma_rng::set_seed(3);
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1)}) {
    const arma::cube X(size, arma::fill::randn);
    const arma::uword dim = X.n_cols;
    SelfAttentionV2 attention(dim);
    const arma::cube QKV = naive_linear(X, attention.proj.weight, attention.proj.bias);
    const arma::cube Q = QKV.cols(0, dim - 1);
    const arma::cube K = QKV.cols(dim, 2 * dim - 1);
    const arma::cube V = QKV.cols(2 * dim, 3 * dim - 1);
    EXPECT_THAT(attention.forward(X), IsNear(naive_attention(Q, K, V), {"L", "E", "B"}));
  }
}

TEST(SelfAttentionV2, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  attention.forward(golden.cube("X"));
  attention.forward(arma::cube(3, 4, 1, arma::fill::randn));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 3}, {"L (keys)", 3}, {"B", 1}}));
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
  EXPECT_TRUE(arma::all(fused.proj.bias == 0))
      << diagnosis_mark << line("value", "fused.proj.bias is not all zeros") << likely_mistake("fuse_random_bias");
}

TEST(Fuse, LeavesTheSeparateLayerAsItWas) {
  const GoldenCase golden = load_golden("fuse");
  const SelfAttentionV1 separate = separate_layer_from(golden);
  fuse(separate);
  EXPECT_THAT(separate.query_proj.weight, IsNear(golden.linear("query_proj").weight, {"in", "out"}));
}

TEST(Fuse, GivesWhatTheSeparateLayerGives) {
  const GoldenCase golden = load_golden("fuse");
  SelfAttentionV2 fused = fuse(separate_layer_from(golden));
  EXPECT_THAT(fused.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SelfAttentionV2, RejectsAWidthOfZero) {
  EXPECT_THAT([] { SelfAttentionV2(0); }, RejectsArgument("dim", {"0"}));
}

TEST(SelfAttentionV2, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV2 attention(4);
  EXPECT_THAT([&] { attention.forward(arma::cube(5, 3, 2, arma::fill::zeros)); },
              RejectsArgument("X", {"5 x 3 x 2", "4"}));
  EXPECT_THAT([&] { attention.forward(arma::cube(5, 12, 2, arma::fill::zeros)); },
              RejectsArgument("X", {"5 x 12 x 2", "4"}));
  EXPECT_THAT([&] { attention.forward(arma::cube()); }, RejectsArgument("X", {"0 x 0 x 0"}));
  EXPECT_THAT([&] { attention.forward(arma::cube(0, 4, 2)); }, RejectsArgument("X", {"0 x 4 x 2"}));
  EXPECT_THAT([&] { attention.forward(arma::cube(5, 4, 0)); }, RejectsArgument("X", {"5 x 4 x 0"}));
}

}  // namespace
}  // namespace attn::testing
