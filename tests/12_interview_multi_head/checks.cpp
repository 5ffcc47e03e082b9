#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "judge/allocation.hpp"
#include "judge/blank_class.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/speed.hpp"

namespace attn::judge {
namespace {

using Layer = std::unique_ptr<AttentionUnderTest>;

constexpr arma::uword H = 3;  // in the golden cases, with E = 6, so D = 2

Layer layer_from(const GoldenCase& golden, double p = 0.0, arma::uword num_heads = H) {
  Layer attention = make_attention({golden.linear("query_proj").weight.n_rows, num_heads}, p);
  attention->query_proj() = golden.linear("query_proj");
  attention->key_proj() = golden.linear("key_proj");
  attention->value_proj() = golden.linear("value_proj");
  attention->output_proj() = golden.linear("output_proj");
  return attention;
}

std::vector<Linear*> projections(const Layer& attention) {
  return {&attention->query_proj(), &attention->key_proj(), &attention->value_proj(), &attention->output_proj()};
}

const char* const names[] = {"query_proj", "key_proj", "value_proj", "output_proj"};

arma::cube reversed(arma::cube x) {
  x.each_slice([](arma::mat& slice) { slice = arma::flipud(slice); });
  return x;
}

arma::cube project(const Linear& layer, const arma::cube& x) { return naive_linear(x, layer.weight, layer.bias); }

/// The definition, number by number, without dropout.
arma::cube naive_output(const Layer& attention, arma::uword num_heads, const arma::cube& X, const Mask& mask) {
  const auto heads = [&](const Linear& layer) { return naive_split_heads(project(layer, X), num_heads); };
  return project(attention->output_proj(),
                 naive_merge_heads(naive_attention(heads(attention->query_proj()), heads(attention->key_proj()),
                                                   heads(attention->value_proj()), mask),
                                   num_heads));
}

// ------------------------------------------------------------------------------------------------ the layer, 12.1

TEST(MultiHeadAttentionInterview, HasFourProjectionsOfTheRightWidth) {
  const Layer attention = make_attention({6, 3});
  for (const Linear* layer : projections(attention)) {
    EXPECT_THAT(layer->weight, HasShape({{"E", 6}, {"E", 6}}));
    ASSERT_HOLDS(!layer->bias.is_empty(), "a projection has no bias") << likely_mistake("no_bias");
  }
}

TEST(MultiHeadAttentionInterview, DrawsEveryProjectionAnew) {
  const Layer attention = make_attention({50, 5});
  const std::vector<Linear*> layers = projections(attention);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const arma::mat& weight = layers[i]->weight;
    EXPECT_HOLDS(arma::abs(weight).max() <= 1 / std::sqrt(50.0) && arma::stddev(arma::vectorise(weight)) > 0.06,
                 std::string(names[i]) + ".weight is not as Linear draws it")
        << note("construct each Linear with its sizes, and leave its weight and bias alone");
    for (std::size_t j = i + 1; j < layers.size(); ++j) {
      EXPECT_HOLDS(!arma::approx_equal(weight, layers[j]->weight, "absdiff", 1e-12),
                   std::string(names[i]) + " and " + names[j] + " have the same weight");
    }
  }
}

TEST(MultiHeadAttentionInterview, TakesTheDropoutItIsGiven) {
  EXPECT_HOLDS(make_attention({6, 3}, 0.25)->dropout().p() == 0.25,
               "dropout.p() is not the dropout_p that the constructor was given");
  EXPECT_HOLDS(make_attention({6, 3})->dropout().p() == 0.1, "dropout.p() is not 0.1 when dropout_p is left out");
  EXPECT_HOLDS(make_attention({6, 3})->dropout().training(),
               "a new layer's dropout is not training; leave that to its user");
}

// ------------------------------------------------------------------------------------------------- forward, 12.2

TEST(MultiHeadAttentionInterview, KeepsTheShapeOfItsInput) {
  const Layer attention = make_attention({6, 3});
  EXPECT_THAT(attention->forward(arma::cube(5, 6, 2, arma::fill::randn)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  EXPECT_THAT(attention->attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 6}}));
}

TEST(MultiHeadAttentionInterview, GivesTheTwoByFourWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const Layer attention = make_attention({4, 2}, 0.0);
  const arma::mat identity(4, 4, arma::fill::eye);
  for (Linear* layer : projections(attention)) {
    layer->weight = identity;
    layer->bias.zeros(4);
  }
  attention->key_proj().weight = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  attention->output_proj().bias = {0, 0, 0, 1};
  arma::cube X(2, 4, 1);
  X.slice(0) = {{1, 0, 2, 0}, {0, 1, 0, 2}};
  EXPECT_THAT(attention->forward(X), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithTheMaskOfEachSequence) {
  const GoldenCase golden = load_golden("padded");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithAMaskForEveryHead) {
  const GoldenCase golden = load_golden("mask_per_head");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttentionInterview, EqualsPyTorchWithOneMaskForAll) {
  const GoldenCase golden = load_golden("causal");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

// The notebook's @@, in training: with the mask that PyTorch's dropout drew.
TEST(MultiHeadAttentionInterview, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("dropout");
  const Layer attention = layer_from(golden, 0.4);
  attention->dropout().inject(golden.mask("keep"));
  const std::string about = note("dropout is training here, with p = 0.4 and the mask that PyTorch drew");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(MultiHeadAttentionInterview, KeepsTheWeightsAsTheyAreAfterDropout) {
  const Layer attention = make_attention({6, 3}, 0.1);
  attention->dropout().inject(Mask(4, 4, 6, arma::fill::ones));
  Mask first_key_only(4, 4, 1, arma::fill::zeros);
  first_key_only.slice(0).col(0).ones();
  attention->forward(arma::cube(4, 6, 2, arma::fill::randn), first_key_only);
  arma::cube wanted(4, 4, 6, arma::fill::zeros);
  wanted.each_slice([](arma::mat& slice) { slice.col(0).fill(1 / 0.9); });
  EXPECT_THAT(attention->attention_weights(), IsNear(wanted, {"L", "L", "H·B"}))
      << note("one key may be attended to and dropout keeps it: its weight is 1 / (1 - 0.1), which reads 1.1111");
}

TEST(MultiHeadAttentionInterview, IsSilentInEvaluation) {
  const GoldenCase golden = load_golden("padded");
  const Layer attention = layer_from(golden, 0.5);
  attention->dropout().eval();
  const std::string about = note("dropout has been set to eval(): nothing may be dropped");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(MultiHeadAttentionInterview, DropsAnewAtEveryCall) {
  const Layer attention = make_attention({6, 3}, 0.5);
  const arma::cube X(9, 6, 2, arma::fill::randn);
  arma::arma_rng::set_seed(7);
  attention->forward(X);
  const arma::cube first = attention->attention_weights();
  attention->forward(X);
  EXPECT_HOLDS(!arma::approx_equal(first, attention->attention_weights(), "absdiff", 1e-12),
               "two calls in training dropped the same weights")
      << note("call dropout(...) on the weights in forward; do not seed, and do not keep a mask");
  EXPECT_HOLDS(arma::any(arma::vectorise(first) == 0), "in training, with p = 0.5, no weight was dropped");
}

TEST(MultiHeadAttentionInterview, GivesZerosToAQueryThatMayAttendToNobody) {
  const GoldenCase golden = load_golden("nobody");
  const Layer attention = layer_from(golden);
  const std::string about = note("the second sequence is all padding: its weights are zeros, its output the bias");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(MultiHeadAttentionInterview, KeepsTheSequencesOfABatchApart) {
  const GoldenCase golden = load_golden("padded");
  const Layer attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const Mask mask = golden.mask("mask");
  const arma::cube together = attention->forward(X, mask);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::cube alone = attention->forward(X.slices(b, b), mask.slices(b, b));
    EXPECT_THAT(arma::cube(together.slices(b, b)), IsNear(alone, {"L", "E", "B"})) << note(
        "this is sequence " + std::to_string(b) + " of the batch; alone, the same sequence gives what is wanted");
  }
}

TEST(MultiHeadAttentionInterview, FollowsATokenThatChangesPlaces) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const arma::cube output = attention->forward(X);
  const arma::cube turned = attention->forward(reversed(X));
  EXPECT_THAT(turned, IsNear(reversed(output), {"L", "E", "B"}))
      << note("the tokens came in reversed order: the outputs must be the same, in reversed order");
}

TEST(MultiHeadAttentionInterview, ShowsNoFutureToken) {
  const GoldenCase golden = load_golden("causal");
  const Layer attention = layer_from(golden);
  arma::cube X = golden.cube("X");
  const arma::cube before = attention->forward(X, golden.mask("mask"));
  X.rows(X.n_rows - 2, X.n_rows - 1) += 1;
  const arma::cube after = attention->forward(X, golden.mask("mask"));
  EXPECT_THAT(arma::cube(after.rows(0, 2)), IsNear(arma::cube(before.rows(0, 2))))
      << note("only the last two tokens were changed, and the mask is causal: the rows before must stay as they were");
}

TEST(MultiHeadAttentionInterview, IsOneHeadWhenHIsOne) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden, 0.0, 1);
  EXPECT_THAT(attention->forward(golden.cube("X")), Matches(golden.expected("one_head")))
      << note("num_heads is 1 here");
}

TEST(MultiHeadAttentionInterview, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(5);
  struct Sizes {
    arma::uword L, E, B, H;
  };
  for (const Sizes& sizes : {Sizes{3, 10, 2, 5}, Sizes{7, 4, 3, 2}, Sizes{2, 6, 1, 3}, Sizes{1, 8, 2, 4},
                             Sizes{70, 6, 2, 3}, Sizes{3, 5, 2, 5}, Sizes{3, 80, 4, 2}}) {
    const arma::cube X(sizes.L, sizes.E, sizes.B, arma::fill::randn);
    const Layer attention = make_attention({sizes.E, sizes.H}, 0.0);
    for (const arma::uword slices : {arma::uword{0}, arma::uword{1}, sizes.B, sizes.H * sizes.B}) {
      const Mask mask = arma::randi<Mask>(sizes.L, sizes.L, slices, arma::distr_param(0, 2));
      const std::string about = note("H is " + std::to_string(sizes.H) + ", the mask has " + std::to_string(slices) +
                                     " slices (0: no mask), and any number in it but 0 may attend");
      EXPECT_THAT(attention->forward(X, mask), IsNear(naive_output(attention, sizes.H, X, mask), {"L", "E", "B"}))
          << about;
    }
  }
}

TEST(MultiHeadAttentionInterview, CutsHeadsWithoutCopying) {
  const arma::cube X(4, 192, 2, arma::fill::randn);
  const Layer attention = make_attention({192, 6}, 0.0);
  const std::size_t unit = X.n_elem * sizeof(double), one_weight = 192 * 192 * sizeof(double);
  const std::size_t bytes = allocated_bytes([&] { attention->forward(X); });
  // Q, K, V, the context and the output, each with what a product or a sum uses on the way: 10 units, and 2 to spare.
  EXPECT_TRUE(bytes <= 12 * unit) << statement("memory", "forward asks for " + bytes_text(bytes) +
                                                             ", expected at most " + bytes_text(12 * unit) +
                                                             " (12 times X)")
                                  << (bytes < 10 * unit + one_weight
                                          ? likely_mistake("heads_copied")
                                          : note("a weight, or rows of one, is copied: use it where it is"));
}

TEST(MultiHeadAttentionInterview, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  EXPECT_HOLDS(attention->attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with another X and a mask; nothing of that may be left");
  attention->forward(-2 * X.slices(0, 0), Mask(X.n_rows, X.n_rows, 1, arma::fill::zeros));
  EXPECT_THAT(attention->forward(X), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(MultiHeadAttentionInterview, LeavesItsFieldsAsTheyWere) {
  const Layer attention = make_attention({6, 3});
  std::vector<Linear> before;
  for (const Linear* layer : projections(attention)) before.push_back(*layer);
  attention->forward(arma::cube(5, 6, 2, arma::fill::randn));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_HOLDS(arma::approx_equal(projections(attention)[i]->weight, before[i].weight, "absdiff", 0) &&
                     arma::approx_equal(projections(attention)[i]->bias, before[i].bias, "absdiff", 0),
                 std::string("forward changed ") + names[i]);
  }
}

TEST(MultiHeadAttentionInterview, LeavesTheRandomGeneratorToTheCaller) {
  const auto next_number_after = [](arma::arma_rng::seed_type seed, bool call_forward) {
    arma::arma_rng::set_seed(seed);
    const Layer attention = make_attention({6, 3}, 0.5);
    if (call_forward) attention->forward(arma::cube(3, 6, 2, arma::fill::ones));
    return arma::randu();
  };
  for (const bool call_forward : {false, true}) {
    EXPECT_HOLDS(next_number_after(1, call_forward) != next_number_after(2, call_forward),
                 std::string(call_forward ? "forward" : "the constructor") + " seeds the random generator")
        << note("leave set_seed to the caller");
  }
}

TEST(MultiHeadAttentionInterview, DoesNotHideANaN) {
  const Layer attention = make_attention({6, H}, 0.0);
  arma::cube X(5, 6, 2, arma::fill::randn);
  X(2, 1, 0) = arma::datum::nan;
  const auto heads = [&](const Linear& layer) { return naive_split_heads(project(layer, X), H); };
  const arma::cube output = attention->forward(X);
  const std::string about =
      note("token 2 of sequence 0 holds NaN: every query of that sequence gets NaN, no other one");
  const arma::cube weights = naive_attention_weights(heads(attention->query_proj()), heads(attention->key_proj()));
  EXPECT_THAT(attention->attention_weights(), IsNear(weights, {"L", "L", "H·B"}))
      << about << (hides_nan(attention->attention_weights(), weights) ? likely_mistake("nan_hidden") : "");
  EXPECT_THAT(output, IsNear(naive_output(attention, H, X, {}), {"L", "E", "B"})) << about;
}

TEST(MultiHeadAttentionInterview, StandsScoresFarFromZero) {
  const GoldenCase golden = load_golden("far_from_zero");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(MultiHeadAttentionInterview, RejectsSizesThatAreImpossible) {
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { make_attention({0, 3}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { make_attention({6, 0}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"7", "3"}), [] {
    make_attention({7, 3});
  }) << likely_mistake("indivisible_accepted");
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"3", "6"}), [] { make_attention({3, 6}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"1"}), [] { make_attention({6, 3}, 1.0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"-0.1"}), [] { make_attention({6, 3}, -0.1); });
}

TEST(MultiHeadAttentionInterview, RejectsAnInputOfTheWrongShape) {
  const Layer attention = make_attention({6, 3});
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 3 x 2", "6"}),
                      [&] { attention->forward(arma::cube(5, 3, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 12 x 2", "6"}),
                      [&] { attention->forward(arma::cube(5, 12, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [&] { attention->forward(arma::cube()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 6 x 2"}), [&] { attention->forward(arma::cube(0, 6, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 6 x 0"}), [&] { attention->forward(arma::cube(5, 6, 0)); });
}

TEST(MultiHeadAttentionInterview, RejectsAMaskOfTheWrongShape) {
  const Layer attention = make_attention({6, 3});
  const arma::cube X(5, 6, 2, arma::fill::randn);
  for (const arma::SizeCube wrong : {arma::SizeCube(5, 7, 2), arma::SizeCube(7, 5, 1), arma::SizeCube(5, 5, 3),
                                     arma::SizeCube(5, 1, 2), arma::SizeCube(1, 5, 6), arma::SizeCube(5, 5, 12)}) {
    const Mask mask(wrong, arma::fill::ones);
    EXPECT_PRED_FORMAT1(RejectsArgument("mask", {shape_text(mask), "5 x 5 x 1", "5 x 5 x 2", "5 x 5 x 6"}),
                        [&] { attention->forward(X, mask); });
  }
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4", [] {
  const arma::cube X(32, 64, 2, arma::fill::randn);
  std::shared_ptr<AttentionUnderTest> layer = make_attention({64, 4});
  layer->dropout().eval();
  return [layer, X] { return layer->forward(X); };
});

}  // namespace
}  // namespace attn::judge
