#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <memory>
#include <string>
#include <vector>

#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"
#include "checks/written_class.hpp"

namespace attn::judge {
namespace {

constexpr arma::uword H = 3;  // in the golden cases, with E = 6, so D = 2

WrittenLayer layer_from(const GoldenCase& golden, double p = 0.0, arma::uword num_heads = H) {
  return layer_from(golden, {golden.linear("query_proj").weight.n_rows, num_heads}, p);
}

// ------------------------------------------------------------------------------------------------ the layer, 12.1

TEST(MultiHeadAttentionInterview, HasFourProjectionsWithBias) {
  expect_four_projections_with_bias(projections_of(make_attention({6, 3})), 6, likely_mistake("no_bias"));
}

TEST(MultiHeadAttentionInterview, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(make_attention({50, 5})));
}

TEST(MultiHeadAttentionInterview, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(make_attention({50, 5})));
}

TEST(MultiHeadAttentionInterview, TakesTheDropoutItIsGiven) {
  expect_new_dropout(make_attention({6, 3}, 0.25)->dropout(), 0.25);
  expect_new_dropout(make_attention({6, 3})->dropout(), 0.1);
}

// ------------------------------------------------------------------------------------------------- forward, 12.2

TEST(MultiHeadAttentionInterview, KeepsTheShapeOfItsInput) {
  const WrittenLayer attention = make_attention({6, 3});
  EXPECT_THAT(attention->forward(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  EXPECT_THAT(attention->attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 6}}));
}

TEST(MultiHeadAttentionInterview, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const WrittenLayer attention = make_attention({4, 2}, 0.0);
  const arma::mat identity(4, 4, arma::fill::eye);
  for (Linear* layer :
       {&attention->query_proj(), &attention->key_proj(), &attention->value_proj(), &attention->output_proj()}) {
    layer->weight = identity;
    layer->bias.zeros(4);
  }
  attention->key_proj().weight = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  attention->output_proj().bias = {0, 0, 0, 1};
  arma::cube X(2, 4, 1);
  X.slice(0) = {{1, 0, 2, 0}, {0, 1, 0, 2}};
  EXPECT_THAT(attention->forward(X), Matches(golden.expected("output"))) << given("X", X);
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("unmasked");
  expect_equals_pytorch(*layer_from(golden), golden);
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("padded");
  expect_equals_pytorch(*layer_from(golden), golden);
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithAMaskForEachHead) {
  const GoldenCase golden = load_golden("mask_per_head");
  expect_equals_pytorch(*layer_from(golden), golden);
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("causal");
  expect_equals_pytorch(*layer_from(golden), golden);
}

// In training, with the mask that PyTorch's dropout drew.
TEST(MultiHeadAttentionInterview, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("dropout");
  const WrittenLayer attention = layer_from(golden, 0.4);
  attention->dropout().inject(golden.mask("keep"));
  expect_equals_pytorch(*attention, golden,
                        note("dropout is training here, with p = 0.4 and the mask that PyTorch drew"));
}

TEST(MultiHeadAttentionInterview, KeepsTheWeightsAfterDropout) {
  const WrittenLayer attention = make_attention({6, 3}, 0.1);
  expect_keeps_the_weights_after_dropout(*attention, attention->dropout(), 6, H);
}

TEST(MultiHeadAttentionInterview, DropsNothingInEvaluation) {
  for (const std::string name : {"padded", "unmasked"}) {
    const GoldenCase golden = load_golden(name);
    const WrittenLayer attention = layer_from(golden, 0.5);
    attention->dropout().eval();
    expect_equals_pytorch(*attention, golden, note("dropout has been set to eval(): nothing may be dropped"));
  }
}

TEST(MultiHeadAttentionInterview, DropsAnewAtEveryCall) {
  expect_drops_anew(*make_attention({6, 3}, 0.5), normal(9, 6, 2));
}

TEST(MultiHeadAttentionInterview, GivesTheBiasToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("nobody");
  expect_equals_pytorch(*layer_from(golden), golden,
                        note("the second sequence is all padding: its weights are zeros, its output the bias"));
}

TEST(MultiHeadAttentionInterview, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("padded");
  expect_keeps_the_batch_apart(*layer_from(golden), golden.cube("X"), golden.mask("mask"));
}

TEST(MultiHeadAttentionInterview, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("unmasked");
  expect_follows_permuted_tokens(*layer_from(golden), golden.cube("X"));
}

TEST(MultiHeadAttentionInterview, BlocksTheFuture) {
  const GoldenCase golden = load_golden("causal");
  expect_blocks_the_future(*layer_from(golden), golden.cube("X"));
}

TEST(MultiHeadAttentionInterview, IsSelfAttentionForOneHead) {
  const GoldenCase golden = load_golden("unmasked");
  const WrittenLayer attention = layer_from(golden, 0.0, 1);
  EXPECT_THAT(attention->forward(golden.cube("X")), Matches(golden.expected("one_head")))
      << note("num_heads is 1 here");
}

TEST(MultiHeadAttentionInterview, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, E, B, H;
  };
  for (const Sizes& sizes : {Sizes{3, 10, 2, 5}, Sizes{7, 4, 3, 2}, Sizes{2, 6, 1, 3}, Sizes{1, 8, 2, 4},
                             Sizes{34, 6, 2, 3}, Sizes{3, 5, 2, 5}, Sizes{3, 68, 4, 2}}) {
    const arma::cube X(sizes.L, sizes.E, sizes.B, arma::fill::randn);
    const WrittenLayer attention = make_attention({sizes.E, sizes.H}, 0.0);
    for (const arma::uword slices : {arma::uword{0}, arma::uword{1}, sizes.B, sizes.H * sizes.B}) {
      const Mask mask = arma::randi<Mask>(sizes.L, sizes.L, slices, arma::distr_param(0, 2));
      const std::string about = note("H is " + std::to_string(sizes.H) + ", the mask has " + std::to_string(slices) +
                                     " slices (0: no mask), and any number in it but 0 may attend");
      EXPECT_THAT(attention->forward(X, mask),
                  IsNear(naive_multi_head(projections_of(attention), sizes.H, X, X, X, mask).output, {"L", "E", "B"}))
          << about;
    }
  }
}

TEST(MultiHeadAttentionInterview, CopiesNoHeads) {
  const arma::cube X = normal(4, 96, 2);
  const WrittenLayer attention = make_attention({96, 3}, 0.0);
  const std::size_t unit = X.n_elem * sizeof(double), one_weight = 96 * 96 * sizeof(double);
  const std::size_t bytes = allocated_bytes([&] { attention->forward(X); });
  // Q, K, V, the context and the output, each with what a product or a sum uses on the way: 10 units, and 2 to spare.
  EXPECT_TRUE(bytes <= 12 * unit) << line("memory", "forward asks for " + bytes_text(bytes) + ", expected at most " +
                                                        bytes_text(12 * unit) + " (12 times X)")
                                  << (bytes < 10 * unit + one_weight
                                          ? likely_mistake("heads_copied")
                                          : note("a weight, or rows of one, is copied: use it where it is"));
}

TEST(MultiHeadAttentionInterview, StartsAfresh) {
  const GoldenCase golden = load_golden("unmasked");
  expect_starts_afresh(*layer_from(golden), golden);
}

TEST(MultiHeadAttentionInterview, LeavesItsFields) {
  const WrittenLayer attention = make_attention({6, 3});
  const Projections before = projections_of(attention);
  attention->forward(normal(5, 6, 2));
  expect_unchanged(before, projections_of(attention));
}

TEST(MultiHeadAttentionInterview, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return make_attention({6, 3})->query_proj().weight; });
  const WrittenLayer attention = make_attention({6, 3}, 0.5);
  const arma::cube X = normal(9, 6, 2);
  expect_leaves_seeding_to_the_caller("forward", [&]() -> arma::mat {
    attention->forward(X);
    return attention->attention_weights().slice(0);
  });
}

TEST(MultiHeadAttentionInterview, PassesOnANaN) {
  const WrittenLayer attention = make_attention({6, H}, 0.0);
  expect_passes_on_a_nan(*attention, normal(5, 6, 2),
                         [&](const arma::cube& X) { return naive_multi_head(projections_of(attention), H, X, X, X); });
}

TEST(MultiHeadAttentionInterview, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  const WrittenLayer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
}

// ----------------------------------------------------------------------------------------------------- bad input, 12.1

TEST(MultiHeadAttentionInterview, RejectsImpossibleSizes) {
  expect_rejects_impossible_sizes(
      [](arma::uword embed_dim, arma::uword num_heads) {
        make_attention({embed_dim, num_heads});
      },
      likely_mistake("indivisible_accepted"));
}

TEST(MultiHeadAttentionInterview, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { make_attention({6, 3}, p); });
}

// ----------------------------------------------------------------------------------------------------- bad input, 12.2

TEST(MultiHeadAttentionInterview, RejectsAnInputOfTheWrongShape) { expect_rejects_inputs(*make_attention({6, 3}), 6); }

TEST(MultiHeadAttentionInterview, RejectsAMaskOfTheWrongShape) {
  expect_rejects_masks(*make_attention({6, 3}), normal(5, 6, 2), H);
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4", [] {
  const arma::cube X = normal(32, 64, 2);
  std::shared_ptr<AttentionUnderTest> layer = make_attention({64, 4});
  layer->dropout().eval();
  return [layer, X] { return layer->forward(X); };
});

}  // namespace
}  // namespace attn::judge
