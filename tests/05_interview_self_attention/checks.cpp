#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <memory>
#include <string>
#include <vector>

#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"
#include "checks/written_class.hpp"

namespace attn::judge {
namespace {

constexpr arma::uword H = 1;

WrittenLayer layer_from(const GoldenCase& golden, double p = 0.0) {
  return layer_from(golden, {golden.linear("query_proj").weight.n_rows}, p);
}

// ------------------------------------------------------------------------------------------------ the layer, 05.1

TEST(SelfAttentionInterview, HasFourProjectionsWithBias) {
  expect_four_projections_with_bias(projections_of(make_attention({4})), 4, likely_mistake("no_bias"));
}

TEST(SelfAttentionInterview, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(make_attention({50})));
}

TEST(SelfAttentionInterview, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(make_attention({50})));
}

TEST(SelfAttentionInterview, TakesTheDropoutItIsGiven) {
  expect_new_dropout(make_attention({4}, 0.25)->dropout(), 0.25);
  expect_new_dropout(make_attention({4})->dropout(), 0.1);
}

// ------------------------------------------------------------------------------------------------- forward, 05.2

TEST(SelfAttentionInterview, KeepsTheShapeOfItsInput) {
  const WrittenLayer attention = make_attention({4});
  EXPECT_THAT(attention->forward(normal(5, 4, 2)), HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
  EXPECT_THAT(attention->attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 2}}));
}

TEST(SelfAttentionInterview, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const WrittenLayer attention = make_attention({2}, 0.0);
  attention->query_proj().weight = {{1, 1}, {0, 1}};
  attention->key_proj().weight = {{1, 2}, {1, 0}};
  attention->value_proj().weight = {{2, 0}, {0, 1}};
  attention->output_proj().weight = {{1, 1}, {-1, 1}};
  attention->query_proj().bias = {0, 1};
  attention->key_proj().bias = {-1, 0};
  attention->value_proj().bias = {0, 1};
  attention->output_proj().bias = {1, 0};
  arma::cube X(2, 2, 1);
  X.slice(0) = {{1, 0}, {0, 2}};
  Mask causal(2, 2, 1);
  causal.slice(0) = {{1, 0}, {1, 1}};
  EXPECT_THAT(attention->forward(X, causal), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionInterview, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("unmasked");
  expect_equals_pytorch(*layer_from(golden), golden);
}

TEST(SelfAttentionInterview, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("padded");
  expect_equals_pytorch(*layer_from(golden), golden);
}

TEST(SelfAttentionInterview, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("causal");
  expect_equals_pytorch(*layer_from(golden), golden);
}

// The notebook's SelfAttentionInterView, in training: with the mask that PyTorch's dropout drew.
TEST(SelfAttentionInterview, EqualsTheNotebooksSelfAttentionInterView) {
  const GoldenCase golden = load_golden("dropout");
  const WrittenLayer attention = layer_from(golden, 0.4);
  attention->dropout().inject(golden.mask("keep"));
  expect_equals_pytorch(*attention, golden,
                        note("dropout is training here, with p = 0.4 and the mask that PyTorch drew"));
}

TEST(SelfAttentionInterview, KeepsTheWeightsAfterDropout) {
  const WrittenLayer attention = make_attention({4}, 0.1);
  expect_keeps_the_weights_after_dropout(*attention, attention->dropout(), 4, H);
}

TEST(SelfAttentionInterview, DropsNothingInEvaluation) {
  const GoldenCase golden = load_golden("padded");
  const WrittenLayer attention = layer_from(golden, 0.5);
  attention->dropout().eval();
  expect_equals_pytorch(*attention, golden, note("dropout has been set to eval(): nothing may be dropped"));
}

TEST(SelfAttentionInterview, DropsAnewAtEveryCall) { expect_drops_anew(*make_attention({4}, 0.5), normal(9, 4, 2)); }

TEST(SelfAttentionInterview, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("nobody");
  expect_equals_pytorch(*layer_from(golden), golden,
                        note("the second sequence is all padding: its weights are zeros, its output the bias"));
}

TEST(SelfAttentionInterview, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("padded");
  expect_keeps_the_batch_apart(*layer_from(golden), golden.cube("X"), golden.mask("mask"));
}

TEST(SelfAttentionInterview, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("unmasked");
  expect_follows_permuted_tokens(*layer_from(golden), golden.cube("X"));
}

TEST(SelfAttentionInterview, BlocksTheFuture) {
  const GoldenCase golden = load_golden("causal");
  expect_blocks_the_future(*layer_from(golden), golden.cube("X"));
}

TEST(SelfAttentionInterview, EqualsTheDefinitionForOtherSizes) {
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(1, 4, 2), arma::SizeCube(34, 2, 3), arma::SizeCube(3, 34, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    const WrittenLayer attention = make_attention({X.n_cols}, 0.0);
    for (const arma::uword slices : {arma::uword{0}, arma::uword{1}, X.n_slices}) {
      Mask mask = arma::randi<Mask>(X.n_rows, X.n_rows, slices, arma::distr_param(0, 2));
      const std::string about =
          note(slices == 0 ? "without a mask"
                           : "with a mask of " + std::to_string(slices) + " slices; any number but 0 may attend");
      EXPECT_THAT(attention->forward(X, mask),
                  IsNear(naive_multi_head(projections_of(attention), H, X, X, X, mask).output, {"L", "E", "B"}))
          << about;
    }
  }
}

TEST(SelfAttentionInterview, StartsAfresh) {
  const GoldenCase golden = load_golden("unmasked");
  expect_starts_afresh(*layer_from(golden), golden);
}

TEST(SelfAttentionInterview, LeavesItsFields) {
  const WrittenLayer attention = make_attention({4});
  const Projections before = projections_of(attention);
  attention->forward(normal(5, 4, 2));
  expect_unchanged(before, projections_of(attention));
}

TEST(SelfAttentionInterview, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return make_attention({4})->query_proj().weight; });
  const WrittenLayer attention = make_attention({4}, 0.5);
  const arma::cube X = normal(9, 4, 2);
  expect_leaves_seeding_to_the_caller("forward", [&]() -> arma::mat {
    attention->forward(X);
    return attention->attention_weights().slice(0);
  });
}

TEST(SelfAttentionInterview, PassesOnANaN) {
  const WrittenLayer attention = make_attention({6}, 0.0);
  expect_passes_on_a_nan(*attention, normal(5, 6, 2),
                         [&](const arma::cube& X) { return naive_multi_head(projections_of(attention), H, X, X, X); });
}

TEST(SelfAttentionInterview, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  const WrittenLayer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
}

// -------------------------------------------------------------------------------------- bad input: the layer, 05.1

TEST(SelfAttentionInterview, RejectsAWidthOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { make_attention({0}); });
}

TEST(SelfAttentionInterview, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { make_attention({4}, p); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 05.2

TEST(SelfAttentionInterview, RejectsAnInputOfTheWrongShape) { expect_rejects_inputs(*make_attention({4}), 4); }

TEST(SelfAttentionInterview, RejectsAMaskOfTheWrongShape) {
  expect_rejects_masks(*make_attention({4}), normal(5, 4, 3), H);
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 64 tokens, E = 64", [] {
  const arma::cube X = normal(64, 64, 2);
  std::shared_ptr<AttentionUnderTest> layer = make_attention({64});
  layer->dropout().eval();
  return [layer, X] { return layer->forward(X); };
});

}  // namespace
}  // namespace attn::judge
