#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/todo.hpp"
#include "checks/allocation.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;

MultiHeadAttention layer_from(const GoldenCase& golden, uword num_heads, double dropout_p = 0.1) {
  MultiHeadAttention attention =
      with_projections(MultiHeadAttention(golden.linear("query_proj").weight.n_rows, num_heads, dropout_p), golden);
  attention.dropout.eval();
  return attention;
}

/// A new layer without dropout.
MultiHeadAttention quiet_layer(uword embed_dim, uword num_heads) {
  MultiHeadAttention attention(embed_dim, num_heads);
  attention.dropout.eval();
  return attention;
}

/// The weights that forward keeps. They are judged even while task 07.3 is not written: they are kept before it.
arma::cube weights_of(MultiHeadAttention attention, const arma::cube& X, const Mask& mask = {}) {
  try {
    attention.forward(X, mask);
  } catch (const NotWritten&) {
    if (attention.attention_weights().is_empty()) throw;
  }
  return attention.attention_weights();
}

/// The definition, one number at a time, with dropout's mask if there is one.
Attended naive(const MultiHeadAttention& attention, const arma::cube& X, const Mask& mask = {}, const Mask& keep = {}) {
  return naive_multi_head(projections_of(attention), attention.num_heads(), X, X, X, mask, keep, attention.dropout.p());
}

const std::vector<std::string> output_axes = {"L", "E", "B"};
const std::vector<std::string> weights_axes = {"L (queries)", "L (keys)", "H·B"};

// ------------------------------------------------------------------------------------------------ the layer, 07.1

TEST(MultiHeadAttention, HasFourProjectionsWithBias) {
  expect_four_projections_with_bias(projections_of(MultiHeadAttention(12, 3)), 12,
                                    likely_mistake("projections_without_bias"));
}

TEST(MultiHeadAttention, KeepsItsNumberOfHeads) {
  EXPECT_HOLDS(MultiHeadAttention(12, 3).num_heads() == 3, "num_heads() is not the H that the constructor was given");
  EXPECT_HOLDS(MultiHeadAttention(6, 1).num_heads() == 1, "num_heads() is not the H that the constructor was given");
}

TEST(MultiHeadAttention, TakesTheDropoutItIsGiven) {
  expect_new_dropout(MultiHeadAttention(12, 3, 0.25).dropout, 0.25);
  expect_new_dropout(MultiHeadAttention(12, 3).dropout, 0.1);
}

TEST(MultiHeadAttention, KeepsWhatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(MultiHeadAttention(48, 3)));
}

TEST(MultiHeadAttention, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(MultiHeadAttention(12, 3)));
}

// ------------------------------------------------------------------------------------------------- weights, 07.2

TEST(MultiHeadAttention, KeepsTheWeightsOfEveryHead) {
  const arma::cube weights = weights_of(quiet_layer(12, 3), normal(5, 12, 2));
  const bool per_sequence = arma::size(weights) == arma::SizeCube(5, 5, 2);
  EXPECT_THAT(weights, HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 6}}))
      << (per_sequence ? note("there is one slice per sequence; want one per head and sequence") : "");
}

TEST(MultiHeadAttention, GivesTheWeightsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(weights_of(layer_from(golden, 2), golden.cube("X")), Matches(golden.expected("weights")))
      << given("X", golden.cube("X"));
}

TEST(MultiHeadAttention, GivesEveryQueryWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(weights_of(layer_from(golden, 3), golden.cube("X")), RowsSumToOne());
}

TEST(MultiHeadAttention, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(weights_of(layer_from(golden, 3), golden.cube("X")), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttention, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("mask_one");
  const GoldenCase batch = load_golden("batch");
  EXPECT_THAT(weights_of(layer_from(batch, 3), batch.cube("X"), golden.mask("mask")),
              Matches(golden.expected("weights")));
}

TEST(MultiHeadAttention, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("mask_batch");
  const GoldenCase batch = load_golden("batch");
  EXPECT_THAT(weights_of(layer_from(batch, 3), batch.cube("X"), golden.mask("mask")),
              Matches(golden.expected("weights")))
      << note("query 2 of sequence 1 may attend to no key: its weights are zeros in every head");
}

TEST(MultiHeadAttention, EqualsPyTorchWithAMaskForEachHead) {
  const GoldenCase golden = load_golden("mask_heads");
  const GoldenCase batch = load_golden("batch");
  EXPECT_THAT(weights_of(layer_from(batch, 3), batch.cube("X"), golden.mask("mask")),
              Matches(golden.expected("weights")))
      << note("query 4 of sequence 0 may attend to no key in head 1, and only there");
}

TEST(MultiHeadAttention, TakesAnyNumberButZeroAsAllowed) {
  const GoldenCase batch = load_golden("batch");
  const Mask mask = load_golden("mask_batch").mask("mask");
  EXPECT_THAT(weights_of(layer_from(batch, 3), batch.cube("X"), 7 * mask),
              Matches(load_golden("mask_batch").expected("weights")))
      << note("the mask is 7 where one may attend; any number but 0 allows it");
}

TEST(MultiHeadAttention, KeepsTheWeightsThatDropoutLeaves) {
  const GoldenCase golden = load_golden("dropout");
  const GoldenCase batch = load_golden("batch");
  MultiHeadAttention attention = layer_from(batch, 3, 0.3);
  attention.dropout.train();
  attention.dropout.inject(golden.mask("keep"));
  try {
    EXPECT_THAT(weights_of(attention, batch.cube("X")), Matches(golden.expected("weights")));
  } catch (const std::invalid_argument& error) {
    FAIL() << line("threw", "std::invalid_argument: " + std::string(error.what()))
           << note("dropout is called once, with the weights of all heads and sequences, 5 x 5 x 6 here");
  }
}

// -------------------------------------------------------------------------------------------------- output, 07.3

TEST(MultiHeadAttention, KeepsTheShapeOfItsInput) {
  MultiHeadAttention attention = quiet_layer(12, 3);
  try {
    EXPECT_THAT(attention.forward(normal(5, 12, 2)), HasShape({{"L", 5}, {"E", 12}, {"B", 2}}));
  } catch (const std::invalid_argument& error) {
    // The sizes in the message show what was handed to output_proj.
    const std::string what = error.what();
    std::string likely;
    if (what.find("5 x 4 x 6") != std::string::npos) likely = likely_mistake("output_before_merge");
    if (what.find("5 x 36 x 2") != std::string::npos) likely = likely_mistake("values_not_split");
    FAIL() << line("threw", "std::invalid_argument: " + what) << likely;
  }
}

TEST(MultiHeadAttention, GivesTheOutputWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(layer_from(golden, 2).forward(golden.cube("X")), Matches(golden.expected("output")))
      << given("X", golden.cube("X"));
}

TEST(MultiHeadAttention, IsSelfAttentionForOneHead) {
  MultiHeadAttention attention = quiet_layer(3, 1);
  const arma::cube X = normal(5, 3, 2);
  const auto projected = [&](const Linear& proj) { return naive_linear(X, proj.weight, proj.bias); };
  const arma::cube context =
      naive_attention(projected(attention.query_proj), projected(attention.key_proj), projected(attention.value_proj));
  EXPECT_THAT(attention.forward(X),
              IsNear(naive_linear(context, attention.output_proj.weight, attention.output_proj.bias), output_axes))
      << note("H = 1: the layer is a single attention over all E columns, and the output projection");
}

TEST(MultiHeadAttention, GivesEachHeadItsOwnColumns) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  attention.output_proj.weight.eye();
  attention.output_proj.bias.zeros();  // so that the output is the merged heads
  const arma::cube X = golden.cube("X");
  const arma::cube output = attention.forward(X);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 12}, {"B", 2}}));
  for (uword h = 0; h < 3; ++h) {
    const auto columns = [&](const Linear& proj) {
      return arma::cube(naive_linear(X, proj.weight, proj.bias).cols(4 * h, 4 * h + 3));
    };
    const arma::cube alone =
        naive_attention(columns(attention.query_proj), columns(attention.key_proj), columns(attention.value_proj));
    EXPECT_THAT(arma::cube(output.cols(4 * h, 4 * h + 3)), IsNear(alone, {"L", "D", "B"}))
        << note("this is head " + std::to_string(h) + ", columns " + std::to_string(4 * h) + " to " +
                std::to_string(4 * h + 3) + ": expected: a single-head attention on these columns of Q, K and V");
  }
}

TEST(MultiHeadAttention, KeepsTheBatchApart) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  expect_keeps_the_batch_apart(attention, golden.cube("X"));
}

TEST(MultiHeadAttention, FollowsPermutedTokens) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  expect_follows_permuted_tokens(attention, golden.cube("X"));
}

TEST(MultiHeadAttention, IgnoresTheOrderOfHeads) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  MultiHeadAttention exchanged = attention;
  const arma::uvec columns = {8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7};  // heads 2, 0, 1
  for (Linear* proj : {&exchanged.query_proj, &exchanged.key_proj, &exchanged.value_proj}) {
    proj->weight = arma::mat(proj->weight.cols(columns));
    proj->bias = arma::rowvec(proj->bias.cols(columns));
  }
  exchanged.output_proj.weight = arma::mat(exchanged.output_proj.weight.rows(columns));
  const arma::cube X = golden.cube("X");
  EXPECT_THAT(exchanged.forward(X), IsNear(attention.forward(X), output_axes)) << note(
      "the heads were put in another order, in the columns of query, key and value and in the rows of the output "
      "projection; the output must not change");
}

TEST(MultiHeadAttention, BlocksTheFuture) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  expect_blocks_the_future(attention, golden.cube("X"));
}

TEST(MultiHeadAttention, IgnoresPadding) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  const arma::cube X = golden.cube("X");
  const arma::uvec lengths = {5, 3};
  const arma::cube padded = attention.forward(X, padding_mask(lengths, 5, 5));
  ASSERT_THAT(padded, HasShape({{"L", 5}, {"E", 12}, {"B", 2}}));
  for (uword b = 0; b < 2; ++b) {
    const uword last = lengths(b) - 1;
    const arma::cube cut = X.slices(b, b);
    EXPECT_THAT(arma::cube(arma::cube(padded.slices(b, b)).rows(0, last)),
                IsNear(attention.forward(cut.rows(0, last)), output_axes))
        << note("sequence " + std::to_string(b) + " has " + std::to_string(lengths(b)) +
                " tokens that are not padding; expected: what they give with the padding cut off");
  }
}

TEST(MultiHeadAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(layer_from(golden, 3).forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(MultiHeadAttention, EqualsPyTorchWithMasks) {
  const GoldenCase batch = load_golden("batch");
  MultiHeadAttention attention = layer_from(batch, 3);
  for (const std::string name : {"mask_one", "mask_batch", "mask_heads"}) {
    const GoldenCase golden = load_golden(name);
    EXPECT_THAT(attention.forward(batch.cube("X"), golden.mask("mask")), Matches(golden.expected("output")))
        << note("the mask is " + shape_text(golden.mask("mask")) + ", H is 3");
  }
}

TEST(MultiHeadAttention, DropsWeightsAndNothingElse) {
  MultiHeadAttention attention(12, 3, 0.5);  // training
  arma::arma_rng::set_seed(2);
  const arma::cube output = attention.forward(normal(40, 12, 2));  // no row is dropped whole
  EXPECT_HOLDS(arma::all(arma::vectorise(output) != 0), "the output of a layer that is training holds zeros")
      << (arma::any(arma::vectorise(output) != 0) ? likely_mistake("dropout_on_output") : "");
  const arma::vec weights = arma::vectorise(attention.attention_weights());
  EXPECT_HOLDS(arma::any(weights == 0) && arma::any(weights != 0),
               "p is 0.5 and the layer is training: wanted are some weights of zero");
}

TEST(MultiHeadAttention, DropsAnewAtEveryCall) {
  MultiHeadAttention attention(12, 3, 0.5);
  expect_drops_anew(attention, normal(5, 12, 2));
}

TEST(MultiHeadAttention, DropsNothingWithAProbabilityOfZero) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3, 0);
  attention.dropout.train();
  EXPECT_THAT(attention.forward(golden.cube("X")), Matches(golden.expected("output")));
}

TEST(MultiHeadAttention, MixesTheValuesWithTheWeightsThatItKeeps) {
  MultiHeadAttention attention(12, 3, 0.5);  // training, and drawing masks of its own
  arma::arma_rng::set_seed(6);
  const arma::cube X = normal(5, 12, 2);
  const arma::cube output = attention.forward(X);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 5}, {"L (keys)", 5}, {"H·B", 6}}));
  const arma::cube V = naive_split_heads(naive_linear(X, attention.value_proj.weight, attention.value_proj.bias), 3);
  const arma::cube merged = naive_merge_heads(naive_mix(attention.attention_weights(), V), 3);
  const Linear& last = attention.output_proj;
  EXPECT_THAT(output, IsNear(naive_linear(merged, last.weight, last.bias), output_axes))
      << note("expected: what attention_weights() makes of the values: the weights after dropout, drawn once");
}

TEST(MultiHeadAttention, EqualsPyTorchWithDropout) {
  const GoldenCase golden = load_golden("dropout");
  const GoldenCase batch = load_golden("batch");
  MultiHeadAttention attention = layer_from(batch, 3, 0.3);
  attention.dropout.train();
  attention.dropout.inject(golden.mask("keep"));
  EXPECT_THAT(attention.forward(batch.cube("X")), Matches(golden.expected("output")));
}

// B 3, L 2, E 128, H 8; the same mask for all sequences and heads. Its layer fills with -1e20, which is the same where
// every query may attend to some key.
TEST(MultiHeadAttention, EqualsTheNotebooksMultiHeadAttention) {
  // As in the golden values: sin(k²) for k = start + 1, start + 2, ..., row by row.
  const auto wave = [](uword rows, uword columns, uword start) {
    arma::mat numbers(rows, columns);
    for (uword i = 0; i < rows; ++i) {
      for (uword j = 0; j < columns; ++j) {
        const double k = static_cast<double>(start + i * columns + j + 1);
        numbers(i, j) = std::sin(k * k);
      }
    }
    return numbers;
  };
  const GoldenCase golden = load_golden("notebook");
  MultiHeadAttention attention = quiet_layer(128, 8);
  uword number = 1;
  for (Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj, &attention.output_proj}) {
    proj->weight = wave(128, 128, 20000 * number).t() / 8;
    proj->bias = arma::rowvec(wave(1, 128, 1000 * number));
    ++number;
  }
  arma::cube X(2, 128, 3);
  for (uword b = 0; b < 3; ++b) X.slice(b) = wave(2, 128, 256 * b);
  EXPECT_THAT(attention.forward(X, golden.mask("mask")), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

// One sentence of ten tokens, H 8, no mask. Token 3 is a word that the vocabulary does not have, tokens 6 to 9 are
// padding; the five have the same embedding.
TEST(MultiHeadAttention, EqualsTheArticlesMultiHeadAttention) {
  const GoldenCase golden = load_golden("article");
  MultiHeadAttention attention = layer_from(golden, 8);
  const arma::cube output = attention.forward(golden.cube("X"));
  EXPECT_THAT(output, Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
  ASSERT_THAT(output, HasShape({{"L", 10}, {"E", 16}, {"B", 1}}));
  for (const uword padding : {6U, 7U, 8U, 9U}) {
    EXPECT_THAT(arma::mat(output.slice(0).row(padding)), IsNear(arma::mat(output.slice(0).row(3)), {"1", "E"}))
        << note("equal tokens get equal outputs: without positions, nothing tells them apart");
  }
}

// ---------------------------------------------------------------------------------------------- naive, edges, 07.3

TEST(MultiHeadAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, B, H;
  };
  arma::arma_rng::set_seed(3);
  for (const Sizes& size :
       {Sizes{3, 10, 4, 2}, Sizes{6, 5, 2, 5}, Sizes{1, 6, 4, 2}, Sizes{4, 1, 2, 1}, Sizes{2, 12, 1, 4},
        Sizes{7, 6, 3, 1}, Sizes{34, 8, 3, 2}, Sizes{4, 6, 7, 3}, Sizes{3, 68, 4, 2}}) {
    const auto& [L, E, B, H] = size;
    const std::string about = note("L = " + std::to_string(L) + ", E = " + std::to_string(E) +
                                   ", B = " + std::to_string(B) + ", H = " + std::to_string(H));
    MultiHeadAttention attention = quiet_layer(E, H);
    const arma::cube X = normal(L, E, B);
    const Attended wanted = naive(attention, X);
    EXPECT_THAT(attention.forward(X), IsNear(wanted.output, output_axes)) << about;
    EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
  }
}

TEST(MultiHeadAttention, EqualsTheDefinitionWithMaskAndDropout) {
  struct Sizes {
    uword L, E, B, H;
  };
  arma::arma_rng::set_seed(5);
  for (const Sizes& size :
       {Sizes{5, 8, 3, 2}, Sizes{3, 6, 2, 6}, Sizes{4, 15, 1, 3}, Sizes{1, 4, 3, 2}, Sizes{4, 6, 3, 3}}) {
    const auto& [L, E, B, H] = size;
    for (const uword slices : {uword{1}, B, H * B}) {
      const Mask mask = Dropout::draw(L, L, slices, 0.5);  // many rows are fully blocked
      const Mask keep = Dropout::draw(L, L, H * B, 0.25);
      MultiHeadAttention attention(E, H, 0.25);
      attention.dropout.inject(keep);
      const arma::cube X = normal(L, E, B);
      const Attended wanted = naive(attention, X, mask, keep);
      const std::string about =
          note("L = " + std::to_string(L) + ", B = " + std::to_string(B) + ", H = " + std::to_string(H) +
               ", a mask with slices: " + std::to_string(slices) + ", and dropout");
      EXPECT_THAT(attention.forward(X, mask), IsNear(wanted.output, output_axes)) << about;
      EXPECT_THAT(attention.attention_weights(), IsNear(wanted.weights, weights_axes)) << about;
    }
  }
}

TEST(MultiHeadAttention, GivesTheBiasToAQueryWithoutKeys) {
  MultiHeadAttention attention = quiet_layer(12, 3);
  const arma::cube output = attention.forward(normal(5, 12, 2), arma::zeros<Mask>(5, 5, 1));
  arma::cube wanted(5, 12, 2);
  wanted.each_slice() = arma::repmat(attention.output_proj.bias, 5, 1);
  EXPECT_THAT(output, IsNear(wanted, output_axes))
      << note("everything is blocked: all weights are zero, and the output is the bias of the output projection");
  EXPECT_THAT(attention.attention_weights(), IsNear(zeros(5, 5, 6), weights_axes));
}

TEST(MultiHeadAttention, PassesOnANaN) {
  MultiHeadAttention attention = quiet_layer(6, 3);
  expect_passes_on_a_nan(attention, normal(5, 6, 2), [&](const arma::cube& X) { return naive(attention, X); });
}

TEST(MultiHeadAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  const GoldenCase batch = load_golden("batch");
  MultiHeadAttention attention = layer_from(batch, 3);
  EXPECT_THAT(attention.forward(100 * batch.cube("X")), Matches(golden.expected("output")));
  EXPECT_THAT(attention.attention_weights(), Matches(golden.expected("weights")));
}

TEST(MultiHeadAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 3);
  expect_starts_afresh(attention, golden);
}

TEST(MultiHeadAttention, LeavesItsFieldsAndArguments) {
  MultiHeadAttention attention(12, 3, 0.5);
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 12, 2);
  const Mask mask = causal_mask(5, 5);
  expect_leaves_its_arguments("forward", {{"X", X}, {"mask", mask}}, [&] { attention.forward(X, mask); });
  expect_unchanged(before, projections_of(attention));
  EXPECT_HOLDS(attention.dropout.training() && attention.dropout.p() == 0.5 && attention.num_heads() == 3,
               "forward changed the dropout or the number of heads");
}

TEST(MultiHeadAttention, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return MultiHeadAttention(12, 3).query_proj.weight; });
  MultiHeadAttention attention(12, 3, 0.5);
  const arma::cube X = normal(5, 12, 2);
  expect_leaves_seeding_to_the_caller("forward", [&]() -> arma::mat {
    attention.forward(X);
    return attention.attention_weights().slice(0);
  });
}

/// The scores are small here, so that it is the L x E x B cubes that count. There is room for two more of them.
TEST(MultiHeadAttention, CopiesNoHeads) {
  MultiHeadAttention attention = quiet_layer(96, 3);
  const arma::cube X = normal(4, 96, 2);
  const std::size_t unit = X.n_elem * sizeof(double);
  attention.forward(X);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L (queries)", 4}, {"L (keys)", 4}, {"H·B", 6}}));
  const std::size_t one_projection = allocated_bytes([&] { split_heads(attention.query_proj(X), 3); });
  // four of them (a merge costs no more than a split), the context, and all that has the size of the scores
  const std::size_t needed = 4 * one_projection + unit + unit;
  const std::size_t one_weight = 96 * 96 * sizeof(double);
  const std::size_t asked_for = allocated_bytes([&] { attention.forward(X); });
  // A wrong answer may ask for memory for other reasons.
  const auto right = [&] {
    return arma::approx_equal(attention.forward(X), naive(attention, X).output, "absdiff", 1e-9);
  };
  EXPECT_HOLDS(asked_for <= needed + 2 * unit, "forward asks for " + bytes_text(asked_for) + ", and " +
                                                   bytes_text(needed) + " are enough; " + bytes_text(unit) +
                                                   " are one L x E x B cube")
      << (asked_for >= needed + one_weight ? note("a weight, or rows of one, is copied: use it where it is")
          : right()                        ? likely_mistake("heads_copied")
                                           : "");
}

// -------------------------------------------------------------------------------------- bad input: the layer, 07.1

TEST(MultiHeadAttention, RejectsImpossibleSizes) {
  expect_rejects_impossible_sizes([](uword embed_dim, uword num_heads) { MultiHeadAttention(embed_dim, num_heads); },
                                  likely_mistake("heads_do_not_divide"));
}

TEST(MultiHeadAttention, RejectsAnImpossibleProbability) {
  expect_rejects_impossible_probabilities([](double p) { MultiHeadAttention(12, 3, p); });
}

// ---------------------------------------------------------------------------------------- bad input: forward, 07.2

TEST(MultiHeadAttention, RejectsAnInputOfTheWrongShape) {
  MultiHeadAttention attention(12, 3);
  expect_rejects_inputs(attention, 12);
}

TEST(MultiHeadAttention, RejectsAMaskOfTheWrongShape) {
  MultiHeadAttention attention(12, 3);
  expect_rejects_masks(attention, normal(5, 12, 2), 3, likely_mistake("mask_slices_unchecked"));
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("forward, 2 sequences of 32 tokens, E = 64, H = 4", [] {
  const arma::cube X = normal(32, 64, 2);
  MultiHeadAttention layer(64, 4);
  layer.dropout.eval();
  return [layer, X]() mutable { return layer.forward(X); };
});

}  // namespace
}  // namespace attn::judge
