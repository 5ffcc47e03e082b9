#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <string>

#include "attn/self_attention_v1.hpp"
#include "attn/self_attention_v2.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/speed.hpp"

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
  ASSERT_FALSE(attention.proj.bias.is_empty()) << diagnosis_mark << likely_mistake("projection_without_bias");
  EXPECT_THAT(arma::mat(attention.proj.bias), HasShape({{"1", 1}, {"3E", 12}}));
}

TEST(SelfAttentionV2, KeepsWhatLinearDraws) {
  const SelfAttentionV2 attention(50);
  const arma::mat bias = attention.proj.bias;
  for (const arma::mat& part :
       {arma::mat(attention.proj.weight.cols(0, 49)), arma::mat(attention.proj.weight.cols(50, 99)),
        arma::mat(attention.proj.weight.cols(100, 149)), bias}) {
    EXPECT_TRUE(arma::abs(part).max() <= 1 / std::sqrt(50.0) && arma::stddev(arma::vectorise(part)) > 0.06)
        << diagnosis_mark << line("value", "the weight or the bias of the projection is not as Linear draws it")
        << note("construct one Linear of the right width, and leave its weight and bias alone");
  }
}

TEST(SelfAttentionV2, DrawsEachThirdAnew) {
  const SelfAttentionV2 attention(4);
  const arma::mat W_q = attention.proj.weight.cols(0, 3);
  const arma::mat W_k = attention.proj.weight.cols(4, 7);
  const arma::mat W_v = attention.proj.weight.cols(8, 11);
  EXPECT_FALSE(arma::approx_equal(W_q, W_k, "absdiff", 1e-12) || arma::approx_equal(W_k, W_v, "absdiff", 1e-12) ||
               arma::approx_equal(W_q, W_v, "absdiff", 1e-12))
      << diagnosis_mark << line("value", "two thirds of the projection's weight are the same");
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
    const arma::cube alone = attention.forward(X.slices(b, b));
    EXPECT_THAT(arma::cube(together.slices(b, b)), IsNear(alone, {"L", "E", "B"})) << note(
        "this is sequence " + std::to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
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

TEST(SelfAttentionV2, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("batch");
  SelfAttentionV2 attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  EXPECT_TRUE(attention.attention_weights().is_empty())
      << diagnosis_mark << line("value", "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with another X; nothing of that call may be left");
  attention.forward(-2 * X);
  EXPECT_THAT(attention.forward(X), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights"))) << about;
  attention.forward(X.slices(0, 0));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 1}})) << about;
}

TEST(SelfAttentionV2, LeavesItsFieldsAsTheyWere) {
  SelfAttentionV2 attention(4);
  const SelfAttentionV2 before = attention;
  attention.forward(arma::cube(5, 4, 2, arma::fill::randn));
  EXPECT_THAT(attention.proj.weight, IsNear(before.proj.weight, {"in", "out"}));
  EXPECT_TRUE(arma::approx_equal(attention.proj.bias, before.proj.bias, "absdiff", 0))
      << diagnosis_mark << line("value", "forward changed proj.bias");
}

TEST(SelfAttentionV2, LeavesTheRandomGeneratorToTheCaller) {
  const SelfAttentionV2 first(4);
  const SelfAttentionV2 second(4);
  EXPECT_FALSE(arma::approx_equal(first.proj.weight, second.proj.weight, "absdiff", 1e-12))
      << diagnosis_mark << line("value", "two new layers have the same weight")
      << note("the constructor seeds the generator itself; leave that to the caller");
}

TEST(SelfAttentionV2, StandsScoresFarFromZero) {
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
  EXPECT_TRUE(arma::all(fused.proj.bias == 0))
      << diagnosis_mark << line("value", "fused.proj.bias is not all zeros") << likely_mistake("fuse_random_bias");
}

TEST(Fuse, LeavesTheSeparateLayerAsItWas) {
  const GoldenCase golden = load_golden("fuse");
  const SelfAttentionV1 separate = separate_layer_from(golden);
  fuse(separate);
  EXPECT_THAT(separate.query_proj.weight, IsNear(golden.linear("query_proj").weight, {"in", "out"}));
  EXPECT_THAT(separate.key_proj.weight, IsNear(golden.linear("key_proj").weight, {"in", "out"}));
  EXPECT_THAT(separate.value_proj.weight, IsNear(golden.linear("value_proj").weight, {"in", "out"}));
}

TEST(Fuse, WorksForEveryWidth) {
  for (const arma::uword dim : {1U, 3U, 6U}) {
    SelfAttentionV1 separate(dim);
    SelfAttentionV2 fused = fuse(separate);
    EXPECT_TRUE(fused.attention_weights().is_empty())
        << diagnosis_mark << line("value", "attention_weights() is not empty before the first forward");
    const arma::cube X(5, dim, 2, arma::fill::randn);
    EXPECT_THAT(fused.forward(X), IsNear(separate.forward(X), {"L", "E", "B"}));
  }
}

TEST(Fuse, GivesWhatTheSeparateLayerGives) {
  const GoldenCase golden = load_golden("fuse");
  SelfAttentionV2 fused = fuse(separate_layer_from(golden));
  EXPECT_THAT(fused.forward(golden.cube("X")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SelfAttentionV2, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { SelfAttentionV2(0); });
}

TEST(SelfAttentionV2, RejectsAnInputOfTheWrongShape) {
  SelfAttentionV2 attention(4);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 3 x 2", "4"}),
                      [&] { attention.forward(arma::cube(5, 3, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 12 x 2", "4"}),
                      [&] { attention.forward(arma::cube(5, 12, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 1 x 2", "4"}),
                      [&] { attention.forward(arma::cube(5, 1, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [&] { attention.forward(arma::cube()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 4 x 2"}), [&] { attention.forward(arma::cube(0, 4, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 4 x 0"}), [&] { attention.forward(arma::cube(5, 4, 0)); });
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 3 sequences of 64 tokens, E = 64", [] {
  const arma::cube X(64, 64, 3, arma::fill::randn);
  return [layer = SelfAttentionV2(64), X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
