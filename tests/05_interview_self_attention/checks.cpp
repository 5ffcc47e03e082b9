#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "judge/blank_class.hpp"
#include "judge/golden.hpp"
#include "judge/matchers.hpp"
#include "judge/oracles.hpp"
#include "judge/speed.hpp"

namespace attn::judge {
namespace {

using Layer = std::unique_ptr<AttentionUnderTest>;

Layer layer_from(const GoldenCase& golden, double p = 0.0) {
  Layer attention = make_attention({golden.linear("query_proj").weight.n_rows}, p);
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
arma::cube naive_output(const Layer& attention, const arma::cube& X, const Mask& mask) {
  return project(attention->output_proj(),
                 naive_attention(project(attention->query_proj(), X), project(attention->key_proj(), X),
                                 project(attention->value_proj(), X), mask));
}

// ------------------------------------------------------------------------------------------------ the layer, 05.1

TEST(SelfAttentionInterview, HasFourProjectionsOfTheRightWidth) {
  const Layer attention = make_attention({4});
  for (const Linear* layer : projections(attention)) {
    EXPECT_THAT(layer->weight, HasShape({{"E", 4}, {"E", 4}}));
    ASSERT_HOLDS(!layer->bias.is_empty(), "a projection has no bias") << likely_mistake("no_bias");
  }
}

TEST(SelfAttentionInterview, DrawsEveryProjectionAnew) {
  const Layer attention = make_attention({50});
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

TEST(SelfAttentionInterview, TakesTheDropoutItIsGiven) {
  EXPECT_HOLDS(make_attention({4}, 0.25)->dropout().p() == 0.25,
               "dropout.p() is not the dropout_p that the constructor was given");
  EXPECT_HOLDS(make_attention({4})->dropout().p() == 0.1, "dropout.p() is not 0.1 when dropout_p is left out");
  EXPECT_HOLDS(make_attention({4})->dropout().training(),
               "a new layer's dropout is not training; leave that to its user");
}

// ------------------------------------------------------------------------------------------------- forward, 05.2

TEST(SelfAttentionInterview, KeepsTheShapeOfItsInput) {
  const Layer attention = make_attention({4});
  EXPECT_THAT(attention->forward(arma::cube(5, 4, 2, arma::fill::randn)), HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
  EXPECT_THAT(attention->attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"B", 2}}));
}

TEST(SelfAttentionInterview, GivesTheTwoByTwoWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const Layer attention = make_attention({2}, 0.0);
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
  EXPECT_THAT(attention->forward(X, causal), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionInterview, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionInterview, EqualsPyTorchWithTheMaskOfEachSequence) {
  const GoldenCase golden = load_golden("padded");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

TEST(SelfAttentionInterview, EqualsPyTorchWithOneMaskForAll) {
  const GoldenCase golden = load_golden("causal");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights")));
}

// The notebook's SelfAttentionInterView, in training: with the mask that PyTorch's dropout drew.
TEST(SelfAttentionInterview, EqualsTheNotebooksSelfAttentionInterView) {
  const GoldenCase golden = load_golden("dropout");
  const Layer attention = layer_from(golden, 0.4);
  attention->dropout().inject(golden.mask("keep"));
  const std::string about = note("dropout is training here, with p = 0.4 and the mask that PyTorch drew");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(SelfAttentionInterview, KeepsTheWeightsAsTheyAreAfterDropout) {
  const Layer attention = make_attention({4}, 0.1);
  const Mask all(3, 3, 2, arma::fill::ones);
  attention->dropout().inject(all);
  Mask first_key_only(3, 3, 1, arma::fill::zeros);
  first_key_only.slice(0).col(0).ones();
  attention->forward(arma::cube(3, 4, 2, arma::fill::randn), first_key_only);
  arma::cube wanted(3, 3, 2, arma::fill::zeros);
  wanted.each_slice([](arma::mat& slice) { slice.col(0).fill(1 / 0.9); });
  EXPECT_THAT(attention->attention_weights(), IsNear(wanted, {"L", "L", "B"}))
      << note("one key may be attended to and dropout keeps it: its weight is 1 / (1 - 0.1), which reads 1.1111");
}

TEST(SelfAttentionInterview, IsSilentInEvaluation) {
  const GoldenCase golden = load_golden("padded");
  const Layer attention = layer_from(golden, 0.5);
  attention->dropout().eval();
  const std::string about = note("dropout has been set to eval(): nothing may be dropped");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(SelfAttentionInterview, DropsAnewAtEveryCall) {
  const Layer attention = make_attention({4}, 0.5);
  const arma::cube X(9, 4, 2, arma::fill::randn);
  arma::arma_rng::set_seed(7);
  attention->forward(X);
  const arma::cube first = attention->attention_weights();
  attention->forward(X);
  EXPECT_HOLDS(!arma::approx_equal(first, attention->attention_weights(), "absdiff", 1e-12),
               "two calls in training dropped the same weights")
      << note("call dropout(...) on the weights in forward; do not seed, and do not keep a mask");
  EXPECT_HOLDS(arma::any(arma::vectorise(first) == 0), "in training, with p = 0.5, no weight was dropped");
}

TEST(SelfAttentionInterview, GivesZerosToAQueryThatMayAttendToNobody) {
  const GoldenCase golden = load_golden("nobody");
  const Layer attention = layer_from(golden);
  const std::string about = note("the second sequence is all padding: its weights are zeros, its output the bias");
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(SelfAttentionInterview, KeepsTheSequencesOfABatchApart) {
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

TEST(SelfAttentionInterview, FollowsATokenThatChangesPlaces) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  const arma::cube output = attention->forward(X);
  const arma::cube turned = attention->forward(reversed(X));
  EXPECT_THAT(turned, IsNear(reversed(output), {"L", "E", "B"}))
      << note("the tokens came in reversed order: the outputs must be the same, in reversed order");
}

TEST(SelfAttentionInterview, ShowsNoFutureToken) {
  const GoldenCase golden = load_golden("causal");
  const Layer attention = layer_from(golden);
  arma::cube X = golden.cube("X");
  const arma::cube before = attention->forward(X, golden.mask("mask"));
  X.rows(X.n_rows - 2, X.n_rows - 1) += 1;
  const arma::cube after = attention->forward(X, golden.mask("mask"));
  EXPECT_THAT(arma::cube(after.rows(0, 2)), IsNear(arma::cube(before.rows(0, 2))))
      << note("only the last two tokens were changed, and the mask is causal: the rows before must stay as they were");
}

TEST(SelfAttentionInterview, EqualsTheDefinitionForOtherSizes) {
  arma::arma_rng::set_seed(5);
  for (const arma::SizeCube size : {arma::SizeCube(3, 5, 2), arma::SizeCube(6, 1, 3), arma::SizeCube(2, 7, 1),
                                    arma::SizeCube(1, 4, 2), arma::SizeCube(70, 2, 3), arma::SizeCube(3, 40, 2)}) {
    const arma::cube X(size, arma::fill::randn);
    const Layer attention = make_attention({X.n_cols}, 0.0);
    for (const arma::uword slices : {arma::uword{0}, arma::uword{1}, X.n_slices}) {
      Mask mask = arma::randi<Mask>(X.n_rows, X.n_rows, slices, arma::distr_param(0, 2));
      const std::string about =
          note(slices == 0 ? "without a mask"
                           : "with a mask of " + std::to_string(slices) + " slices; any number but 0 may attend");
      EXPECT_THAT(attention->forward(X, mask), IsNear(naive_output(attention, X, mask), {"L", "E", "B"})) << about;
    }
  }
}

TEST(SelfAttentionInterview, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("unmasked");
  const Layer attention = layer_from(golden);
  const arma::cube X = golden.cube("X");
  EXPECT_HOLDS(attention->attention_weights().is_empty(), "attention_weights() is not empty before the first forward");
  const std::string about = note("forward was called before with another X and a mask; nothing of that may be left");
  attention->forward(-2 * X.slices(0, 0), Mask(X.n_rows, X.n_rows, 1, arma::fill::zeros));
  EXPECT_THAT(attention->forward(X), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(attention->attention_weights(), Matches(golden.expected("weights"))) << about;
}

TEST(SelfAttentionInterview, LeavesItsFieldsAsTheyWere) {
  const Layer attention = make_attention({4});
  std::vector<Linear> before;
  for (const Linear* layer : projections(attention)) before.push_back(*layer);
  attention->forward(arma::cube(5, 4, 2, arma::fill::randn));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_HOLDS(arma::approx_equal(projections(attention)[i]->weight, before[i].weight, "absdiff", 0) &&
                     arma::approx_equal(projections(attention)[i]->bias, before[i].bias, "absdiff", 0),
                 std::string("forward changed ") + names[i]);
  }
}

TEST(SelfAttentionInterview, LeavesTheRandomGeneratorToTheCaller) {
  const auto next_number_after = [](arma::arma_rng::seed_type seed, bool call_forward) {
    arma::arma_rng::set_seed(seed);
    const Layer attention = make_attention({4}, 0.5);
    if (call_forward) attention->forward(arma::cube(3, 4, 2, arma::fill::ones));
    return arma::randu();
  };
  for (const bool call_forward : {false, true}) {
    EXPECT_HOLDS(next_number_after(1, call_forward) != next_number_after(2, call_forward),
                 std::string(call_forward ? "forward" : "the constructor") + " seeds the random generator")
        << note("leave set_seed to the caller");
  }
}

TEST(SelfAttentionInterview, DoesNotHideANaN) {
  const Layer attention = make_attention({6}, 0.0);
  arma::cube X(5, 6, 2, arma::fill::randn);
  X(2, 1, 0) = arma::datum::nan;
  const arma::cube output = attention->forward(X);
  const std::string about =
      note("token 2 of sequence 0 holds NaN: every query of that sequence gets NaN, no other one");
  const arma::cube weights =
      naive_attention_weights(project(attention->query_proj(), X), project(attention->key_proj(), X));
  EXPECT_THAT(attention->attention_weights(), IsNear(weights, {"L", "L", "B"}))
      << about << (hides_nan(attention->attention_weights(), weights) ? likely_mistake("nan_hidden") : "");
  EXPECT_THAT(output, IsNear(naive_output(attention, X, {}), {"L", "E", "B"})) << about;
}

TEST(SelfAttentionInterview, StandsScoresFarFromZero) {
  const GoldenCase golden = load_golden("far_from_zero");
  const Layer attention = layer_from(golden);
  EXPECT_THAT(attention->forward(golden.cube("X"), golden.mask("mask")), Matches(golden.expected("output")));
}

// ------------------------------------------------------------------------------------------------ bad input

TEST(SelfAttentionInterview, RejectsAWidthOfZeroAndAnImpossibleDropout) {
  EXPECT_PRED_FORMAT1(RejectsArgument("dim", {"0"}), [] { make_attention({0}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"1"}), [] { make_attention({4}, 1.0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("p", {"-0.1"}), [] { make_attention({4}, -0.1); });
}

TEST(SelfAttentionInterview, RejectsAnInputOfTheWrongShape) {
  const Layer attention = make_attention({4});
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 3 x 2", "4"}),
                      [&] { attention->forward(arma::cube(5, 3, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 2", "4"}),
                      [&] { attention->forward(arma::cube(5, 8, 2, arma::fill::zeros)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [&] { attention->forward(arma::cube()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 4 x 2"}), [&] { attention->forward(arma::cube(0, 4, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 4 x 0"}), [&] { attention->forward(arma::cube(5, 4, 0)); });
}

TEST(SelfAttentionInterview, RejectsAMaskOfTheWrongShape) {
  const Layer attention = make_attention({4});
  const arma::cube X(5, 4, 3, arma::fill::randn);
  for (const arma::SizeCube wrong : {arma::SizeCube(5, 6, 3), arma::SizeCube(6, 5, 1), arma::SizeCube(5, 5, 2),
                                     arma::SizeCube(5, 1, 3), arma::SizeCube(1, 5, 3), arma::SizeCube(5, 5, 6)}) {
    const Mask mask(wrong, arma::fill::ones);
    EXPECT_PRED_FORMAT1(RejectsArgument("mask", {shape_text(mask), "5 x 5 x 1", "5 x 5 x 3"}),
                        [&] { attention->forward(X, mask); });
  }
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 64 tokens, E = 64", [] {
  const arma::cube X(64, 64, 2, arma::fill::randn);
  std::shared_ptr<AttentionUnderTest> layer = make_attention({64});
  layer->dropout().eval();
  return [layer, X] { return layer->forward(X); };
});

}  // namespace
}  // namespace attn::judge
