#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <string>
#include <vector>

#include "attn/masking.hpp"
#include "attn/softmax.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

const double infinity = arma::datum::inf;

/// 1 where a mask allows, so that it can be compared and printed. Any number but 0 allows.
arma::cube allowed(const Mask& mask) {
  arma::cube numbers(mask.n_rows, mask.n_cols, mask.n_slices);
  for (arma::uword i = 0; i < mask.n_elem; ++i) numbers(i) = mask(i) != 0;
  return numbers;
}

arma::uvec lengths_of(const GoldenCase& golden) { return arma::conv_to<arma::uvec>::from(golden.rowvec("lengths")); }

arma::cube attention_of(const GoldenCase& golden) {
  return scaled_dot_product_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), golden.mask("mask"));
}

/// The weights that attention mixes with: those are its output when the values are the identity matrix.
arma::cube weights_of(const arma::cube& Q, const arma::cube& K, const Mask& mask) {
  arma::cube identity(K.n_rows, K.n_rows, K.n_slices);  // (S x S x N)
  for (arma::uword n = 0; n < K.n_slices; ++n) identity.slice(n).eye();
  return scaled_dot_product_attention(Q, K, identity, mask);
}

std::string shape_note(const char* name, const std::string& shape) { return note(std::string(name) + " is " + shape); }

// ------------------------------------------------------------------------------------------- masked_fill, 03.1

TEST(MaskedFill, KeepsTheShapeOfTheScores) {
  EXPECT_THAT(masked_fill(normal(3, 4, 6), ones(3, 4, 2), 0), HasShape({{"L", 3}, {"S", 4}, {"N", 6}}));
}

TEST(MaskedFill, FillsWhereTheMaskIsZero) {
  arma::cube scores(2, 3, 1);
  scores.slice(0) = {{2, 1, 3}, {0, 1, 5}};
  Mask mask(2, 3, 1);
  mask.slice(0) = {{1, 1, 0}, {0, 0, 0}};
  arma::cube wanted(2, 3, 1);
  wanted.slice(0) = {{2, 1, -8}, {-8, -8, -8}};
  EXPECT_THAT(masked_fill(scores, mask, -8), IsNear(wanted, {"L", "S", "N"}))
      << note("1 may attend and keeps its score, 0 is blocked");
}

TEST(MaskedFill, GivesASingleSliceToAll) {
  const GoldenCase golden = load_golden("fill_shared");
  EXPECT_THAT(masked_fill(golden.cube("scores"), golden.mask("mask"), -7), Matches(golden.expected("filled")));
}

TEST(MaskedFill, GivesEachSliceToNeighbours) {
  const GoldenCase golden = load_golden("fill_heads");
  EXPECT_THAT(masked_fill(golden.cube("scores"), golden.mask("mask"), -infinity), Matches(golden.expected("filled")))
      << note("6 slices of scores, 2 of the mask: the first is for slices 0, 1, 2, the second for 3, 4, 5");
}

TEST(MaskedFill, TakesAMaskWithASliceForEach) {
  const GoldenCase golden = load_golden("fill_each");
  EXPECT_THAT(masked_fill(golden.cube("scores"), golden.mask("mask"), -1e9), Matches(golden.expected("filled")));
}

TEST(MaskedFill, TakesAnyNumberButZeroAsAllowed) {
  const GoldenCase golden = load_golden("fill_any_number");
  EXPECT_THAT(masked_fill(golden.cube("scores"), golden.mask("mask"), -infinity), Matches(golden.expected("filled")));
}

TEST(MaskedFill, ChangesNothingForAnEmptyMask) {
  const arma::cube scores = normal(3, 4, 2);
  EXPECT_THAT(masked_fill(scores, {}, -infinity), IsNear(scores, {"L", "S", "N"}))
      << note("an empty mask blocks nothing");
}

TEST(MaskedFill, ReplacesWhateverWasThere) {
  arma::cube scores(2, 3, 2, arma::fill::ones);
  scores(0, 1, 0) = arma::datum::nan;
  scores(1, 2, 1) = infinity;
  scores(0, 0, 1) = -infinity;
  Mask mask = ones(2, 3, 2);
  mask(0, 1, 0) = mask(1, 2, 1) = mask(0, 0, 1) = 0;
  EXPECT_THAT(masked_fill(scores, mask, 4), IsNear(arma::cube(4 - 3 * allowed(mask)), {"L", "S", "N"}))
      << note("a blocked score is replaced, whatever it was: NaN and infinity too");
}

TEST(MaskedFill, LeavesItsArguments) {
  const arma::cube scores = normal(3, 4, 2);
  const Mask mask = random_mask(3, 4, 2);
  expect_leaves_its_arguments("masked_fill", {{"scores", scores}, {"mask", mask}},
                              [&] { masked_fill(scores, mask, -infinity); });
}

TEST(MaskedFill, RejectsAMaskThatDoesNotFit) {
  const arma::cube scores(3, 4, 6, arma::fill::zeros);
  const auto reject = [&](arma::uword rows, arma::uword cols, arma::uword slices, const std::string& shape) {
    EXPECT_PRED_FORMAT1(RejectsArgument("mask", {shape, "3 x 4 x 6"}),
                        [&] { masked_fill(scores, ones(rows, cols, slices), 0); });
  };
  reject(5, 4, 6, "5 x 4 x 6");
  reject(3, 5, 6, "3 x 5 x 6");
  reject(4, 3, 6, "4 x 3 x 6");
  reject(1, 4, 6, "1 x 4 x 6");
  reject(3, 1, 6, "3 x 1 x 6");
  reject(3, 4, 4, "3 x 4 x 4");
  reject(3, 4, 5, "3 x 4 x 5");
  reject(3, 4, 12, "3 x 4 x 12");
}

// ------------------------------------------------------------------------------------------ padding_mask, 03.2

TEST(PaddingMask, HasOneSliceForEachSequence) {
  EXPECT_THAT(allowed(padding_mask({3, 5}, 4, 6)), HasShape({{"L", 4}, {"S", 6}, {"B", 2}}));
}

TEST(PaddingMask, BlocksTheKeysAfterTheEnd) {
  const GoldenCase golden = load_golden("padding");
  EXPECT_THAT(allowed(padding_mask(lengths_of(golden), 4, 6)), Matches(golden.expected("mask")));
}

TEST(PaddingMask, BlocksAllOfAnEmptySequence) {
  const GoldenCase golden = load_golden("padding_empty_sequence");
  EXPECT_THAT(allowed(padding_mask(lengths_of(golden), 3, 4)), Matches(golden.expected("mask")));
}

TEST(PaddingMask, BlocksNothingOfAFullSequence) {
  EXPECT_THAT(allowed(padding_mask({4, 4}, 3, 4)), IsNear(allowed(ones(3, 4, 2)), {"L", "S", "B"}));
}

TEST(PaddingMask, WorksForOtherSizes) {
  struct Sizes {
    arma::uword L, S;
    arma::uvec lengths;
  };
  for (const Sizes& n : {Sizes{1, 4, {2, 3}}, {5, 1, {1, 0, 1}}, {6, 3, {2}}, {70, 71, {70, 1, 71}}, {2, 9, {7, 8}}}) {
    arma::cube wanted(n.L, n.S, n.lengths.n_elem);
    for (arma::uword b = 0; b < n.lengths.n_elem; ++b)
      for (arma::uword j = 0; j < n.lengths(b); ++j)
        for (arma::uword i = 0; i < n.L; ++i) wanted(i, j, b) = 1;
    EXPECT_THAT(allowed(padding_mask(n.lengths, n.L, n.S)), IsNear(wanted, {"L", "S", "B"}));
  }
}

TEST(PaddingMask, RejectsALengthAboveTheNumberOfKeys) {
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"7", "6"}), [] { padding_mask({3, 7}, 4, 6); });
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"9", "8"}), [] {
    padding_mask({9, 2, 3}, 10, 8);
  }) << note("a length counts keys: at most S, however many queries there are");
}

TEST(PaddingMask, TakesALengthAboveTheNumberOfQueries) {
  EXPECT_THAT(allowed(padding_mask({5, 6}, 2, 6)), HasShape({{"L", 2}, {"S", 6}, {"B", 2}}))
      << note("a length counts keys: at most S, however few queries there are");
}

TEST(PaddingMask, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {}), [] { padding_mask({}, 3, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { padding_mask({2, 1}, 0, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { padding_mask({0, 0}, 3, 0); });
}

// ------------------------------------------------------------------------------------------- causal_mask, 03.3

TEST(CausalMask, HasASingleSlice) {
  EXPECT_THAT(allowed(causal_mask(3, 5)), HasShape({{"L", 3}, {"S", 5}, {"shared by all", 1}}));
}

TEST(CausalMask, BlocksTheFuture) {
  const GoldenCase golden = load_golden("causal_square");
  EXPECT_THAT(allowed(causal_mask(4, 4)), Matches(golden.expected("mask")));
}

TEST(CausalMask, EndsWithTheLastKeyWhenThereAreMoreKeys) {
  const GoldenCase golden = load_golden("causal_more_keys");
  EXPECT_THAT(allowed(causal_mask(3, 5)), Matches(golden.expected("mask")))
      << note("the last query sees all keys, also when S is larger than L");
}

TEST(CausalMask, EndsWithTheLastKeyWhenThereAreMoreQueries) {
  const GoldenCase golden = load_golden("causal_more_queries");
  EXPECT_THAT(allowed(causal_mask(5, 3)), Matches(golden.expected("mask")))
      << note("the first L - S queries see no key at all");
}

TEST(CausalMask, WorksForOtherSizes) {
  struct Sizes {
    arma::uword L, S;
  };
  for (const Sizes& n : {Sizes{1, 1}, {1, 6}, {6, 1}, {2, 3}, {7, 4}, {70, 71}, {71, 70}}) {
    arma::cube wanted(n.L, n.S, 1);
    for (arma::uword back = 0; back < n.L; ++back)  // the query so many places before the last one
      for (arma::uword j = 0; j + back < n.S; ++j) wanted(n.L - 1 - back, j, 0) = 1;
    EXPECT_THAT(allowed(causal_mask(n.L, n.S)), IsNear(wanted, {"L", "S", "shared by all"}));
  }
}

TEST(CausalMask, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { causal_mask(0, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { causal_mask(3, 0); });
}

// ----------------------------------------------------------------------------------------- combine_masks, 03.4

TEST(CombineMasks, KeepsTheShape) {
  EXPECT_THAT(allowed(combine_masks(ones(4, 5, 3), ones(4, 5, 3))), HasShape({{"L", 4}, {"S", 5}, {"M", 3}}));
  EXPECT_THAT(allowed(combine_masks(ones(4, 5, 3), ones(4, 5, 1))), HasShape({{"L", 4}, {"S", 5}, {"M", 3}}));
  EXPECT_THAT(allowed(combine_masks(ones(4, 5, 1), ones(4, 5, 3))), HasShape({{"L", 4}, {"S", 5}, {"M", 3}}));
}

TEST(CombineMasks, AllowsWhatBothAllow) {
  const GoldenCase golden = load_golden("combine");
  EXPECT_THAT(allowed(combine_masks(golden.mask("a"), golden.mask("b"))), Matches(golden.expected("mask")));
}

TEST(CombineMasks, GivesASingleSliceToAll) {
  for (const char* name : {"combine_shared_b", "combine_shared_a"}) {
    const GoldenCase golden = load_golden(name);
    const Mask a = golden.mask("a");
    const Mask b = golden.mask("b");
    EXPECT_THAT(allowed(combine_masks(a, b)), Matches(golden.expected("mask")))
        << shape_note("a", shape_text(a)) << shape_note("b", shape_text(b));
  }
}

TEST(CombineMasks, TakesAnyNumberButZeroAsAllowed) {
  const GoldenCase golden = load_golden("combine_any_number");
  EXPECT_THAT(allowed(combine_masks(golden.mask("a"), golden.mask("b"))), Matches(golden.expected("mask")))
      << note("2 in one mask and 1 in the other: both allow");
  EXPECT_THAT(allowed(combine_masks(golden.mask("b"), golden.mask("a"))), Matches(golden.expected("mask")))
      << note("1 in one mask and 2 in the other: both allow");
}

TEST(CombineMasks, TakesAnEmptyMaskAsNone) {
  const Mask mask = load_golden("combine").mask("a");
  for (const arma::cube& result : {allowed(combine_masks(mask, {})), allowed(combine_masks({}, mask))}) {
    ASSERT_HOLDS(!result.is_empty(), "a mask combined with an empty one is empty")
        << likely_mistake("combined_with_empty_is_empty");
    EXPECT_THAT(result, IsNear(allowed(mask), {"L", "S", "M"})) << note("an empty mask blocks nothing");
  }
  EXPECT_HOLDS(combine_masks({}, {}).is_empty(), "two empty masks do not give an empty one");
}

TEST(CombineMasks, LeavesItsArguments) {
  const GoldenCase golden = load_golden("combine");
  const Mask a = golden.mask("a");
  const Mask b = golden.mask("b");
  expect_leaves_its_arguments("combine_masks", {{"a", a}, {"b", b}}, [&] { combine_masks(a, b); });
}

TEST(CombineMasks, RejectsShapesThatDoNotFit) {
  const auto reject = [](const Mask& a, const Mask& b) {
    EXPECT_PRED_FORMAT1(RejectsArgument("b", {shape_text(a), shape_text(b)}), [&] { combine_masks(a, b); });
  };
  reject(ones(4, 5, 3), ones(6, 5, 3));
  reject(ones(4, 5, 3), ones(4, 6, 3));
  reject(ones(4, 5, 3), ones(5, 4, 3));
  reject(ones(4, 5, 3), ones(1, 5, 3));
  reject(ones(4, 5, 3), ones(4, 1, 1));
  reject(ones(4, 5, 1), ones(4, 6, 1));
  reject(ones(4, 5, 3), ones(4, 5, 2));
  reject(ones(4, 5, 2), ones(4, 5, 6));
  reject(ones(4, 5, 6), ones(4, 5, 2));
}

// ------------------------------------------------------------------------------------- safe_softmax_rows, 03.5

TEST(SafeSoftmaxRows, KeepsTheShape) {
  EXPECT_THAT(safe_softmax_rows(normal(4, 5, 2)), HasShape({{"L", 4}, {"S", 5}, {"N", 2}}));
}

TEST(SafeSoftmaxRows, EqualsThePlainSoftmaxWithoutInfinities) {
  for (const arma::SizeCube size :
       {arma::SizeCube(3, 4, 2), arma::SizeCube(1, 5, 2), arma::SizeCube(4, 1, 3), arma::SizeCube(70, 6, 1)}) {
    const arma::cube scores(size, arma::fill::randn);
    EXPECT_THAT(safe_softmax_rows(scores), IsNear(naive_softmax_rows(scores), {"L", "S", "N"}));
  }
}

TEST(SafeSoftmaxRows, GivesZerosToARowOfMinusInfinity) {
  arma::cube scores(2, 3, 2, arma::fill::zeros);
  scores.slice(0).row(1).fill(-infinity);
  arma::cube wanted(2, 3, 2);
  wanted.fill(1.0 / 3);
  wanted.slice(0).row(1).zeros();
  EXPECT_THAT(safe_softmax_rows(scores), IsNear(wanted, {"L", "S", "N"}))
      << note("slice 0, row 1 is all -inf; every other row is all 0");
}

TEST(SafeSoftmaxRows, EqualsPyTorch) {
  const GoldenCase golden = load_golden("softmax");
  EXPECT_THAT(safe_softmax_rows(golden.cube("scores")), Matches(golden.expected("weights")));
}

TEST(SafeSoftmaxRows, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("softmax_far_from_zero");
  EXPECT_THAT(safe_softmax_rows(golden.cube("scores")), Matches(golden.expected("weights")));
}

TEST(SafeSoftmaxRows, GivesZerosWhenEveryRowIsMinusInfinity) {
  const arma::cube scores = arma::cube(3, 4, 2, arma::fill::ones) * -infinity;
  EXPECT_THAT(safe_softmax_rows(scores), IsNear(arma::cube(3, 4, 2), {"L", "S", "N"}));
}

TEST(SafeSoftmaxRows, PassesOnANaN) {
  arma::cube scores(2, 3, 2, arma::fill::randn);
  scores(0, 1, 0) = arma::datum::nan;
  scores(1, 0, 1) = scores(1, 1, 1) = scores(1, 2, 1) = arma::datum::nan;
  const arma::cube weights = safe_softmax_rows(scores);
  ASSERT_THAT(weights, HasShape({{"L", 2}, {"S", 3}, {"N", 2}}));
  const arma::cube right = naive_softmax_rows(scores);
  const bool others_right = arma::approx_equal(weights.slice(0).row(1), right.slice(0).row(1), "absdiff", 1e-9) &&
                            arma::approx_equal(weights.slice(1).row(0), right.slice(1).row(0), "absdiff", 1e-9);
  EXPECT_HOLDS(weights.slice(0).row(0).has_nan() && weights.slice(1).row(1).has_nan(), "a row of NaN became numbers")
      << (others_right ? likely_mistake("nan_hidden") : "");
}

TEST(SafeSoftmaxRows, LeavesItsArguments) {
  const arma::cube scores = load_golden("softmax").cube("scores");
  expect_leaves_its_arguments("safe_softmax_rows", {{"scores", scores}}, [&] { safe_softmax_rows(scores); });
}

TEST(SafeSoftmaxRows, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"0 x 3 x 2"}), [] { safe_softmax_rows(arma::cube(0, 3, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"4 x 0 x 2"}), [] { safe_softmax_rows(arma::cube(4, 0, 2)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"4 x 3 x 0"}), [] { safe_softmax_rows(arma::cube(4, 3, 0)); });
}

// --------------------------------------------------------- what becomes of a query that may attend to no key, 03.1
//
// Your masked_fill and the plain softmax of lesson 00, with the three fill values that one finds in other people's
// code; and last your safe_softmax_rows. In slice 1 query 1 may attend to no key.

TEST(FullyMaskedRow, BecomesTheMeanOfAllValuesWithMinus1e20) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube V = golden.cube("V");
  const arma::cube weights = softmax_rows(masked_fill(golden.cube("scores"), golden.mask("mask"), -1e20));
  EXPECT_THAT(weights, Matches(golden.expected("weights_minus_1e20")));
  const arma::cube output = naive_mix(weights, V);
  EXPECT_THAT(output, Matches(golden.expected("output_minus_1e20")));
  EXPECT_THAT(arma::mat(output.slice(1).row(1)), IsNear(arma::mat(arma::mean(V.slice(1), 0)), {"1", "Dv"}))
      << note("all four weights of the row are 1/4, so it takes the mean of all values, padding included");
}

TEST(FullyMaskedRow, BecomesTheMeanOfAllValuesWithMinus1e9) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube V = golden.cube("V");
  const arma::cube weights = softmax_rows(masked_fill(golden.cube("scores"), golden.mask("mask"), -1e9));
  EXPECT_THAT(weights, Matches(golden.expected("weights_minus_1e9")));
  const arma::cube output = naive_mix(weights, V);
  EXPECT_THAT(output, Matches(golden.expected("output_minus_1e9")));
  EXPECT_THAT(arma::mat(output.slice(1).row(1)), IsNear(arma::mat(arma::mean(V.slice(1), 0)), {"1", "Dv"}))
      << note("all four weights of the row are 1/4, so it takes the mean of all values, padding included");
}

TEST(FullyMaskedRow, BecomesNaNWithMinusInfinity) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube weights = softmax_rows(masked_fill(golden.cube("scores"), golden.mask("mask"), -infinity));
  ASSERT_THAT(weights, HasShape({{"L", 3}, {"S", 4}, {"B", 2}}));
  EXPECT_HOLDS(weights.slice(1).row(1).has_nan(), "slice 1, row 1 is not NaN: was all of it filled with -inf?");
  arma::cube others = weights;
  others.slice(1).row(1).zeros();
  EXPECT_THAT(others, Matches(golden.expected("weights"))) << note("all rows but that one are as they should be");
}

// One NaN row is enough: in the next layer every query meets it among its keys.
TEST(FullyMaskedRow, SpreadsItsNaNOverTheWholeSequence) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube weights = softmax_rows(masked_fill(golden.cube("scores"), golden.mask("mask"), -infinity));
  const arma::cube context = naive_mix(weights, golden.cube("V"));
  const arma::mat next = softmax_rows(arma::mat(context.slice(1) * context.slice(1).t())) * context.slice(1);
  EXPECT_HOLDS(arma::find_nan(next).eval().n_elem == next.n_elem,
               "a second attention over that sequence is not all NaN");
}

TEST(FullyMaskedRow, GetsItsUnmaskedWeightsBackWhenMinus1e9IsAdded) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube scores = golden.cube("scores");
  const arma::cube blocked = 1 - allowed(golden.mask("mask"));
  const arma::cube added = softmax_rows(arma::cube(scores - 1e9 * blocked));
  EXPECT_THAT(added, Matches(golden.expected("weights_added")));
  // 1e-6: a double near 1e9 has steps of 1.2e-7, and that is how far the added scores are rounded.
  EXPECT_THAT(arma::mat(added.slice(1).row(1)),
              IsNear(arma::mat(naive_softmax_rows(scores).slice(1).row(1)), {"1", "S"}, 1e-6));
  const arma::cube filled = masked_fill(scores, golden.mask("mask"), -1e9);
  EXPECT_THAT(arma::mat(filled.slice(1).row(1)), IsNear(arma::mat(1, 4).fill(-1e9), {"1", "S"}))
      << note("filling forgets the scores, adding does not");
}

// --------------------------------------------------------------------------------- and with the safe softmax, 03.5

TEST(FullyMaskedRow, TakesNothingWithTheSafeSoftmax) {
  const GoldenCase golden = load_golden("fully_masked");
  const arma::cube weights = safe_softmax_rows(masked_fill(golden.cube("scores"), golden.mask("mask"), -infinity));
  EXPECT_THAT(weights, Matches(golden.expected("weights")));
  EXPECT_THAT(naive_mix(weights, golden.cube("V")), Matches(golden.expected("output")));
}

// -------------------------------------------------------------------------- scaled_dot_product_attention, 03.6

TEST(ScaledDotProductAttention, GivesOneRowForEachQuery) {
  const arma::cube Q = normal(4, 3, 2);
  const arma::cube K = normal(5, 3, 2);
  const arma::cube V = normal(5, 6, 2);
  EXPECT_THAT(scaled_dot_product_attention(Q, K, V), HasShape({{"L", 4}, {"Dv", 6}, {"N", 2}}));
}

TEST(ScaledDotProductAttention, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, GivesWeightsThatSumToOneOrAreAllZero) {
  const GoldenCase golden = load_golden("with_fully_masked_rows");
  const arma::cube weights = weights_of(golden.cube("Q"), golden.cube("K"), golden.mask("mask"));
  const arma::cube can_attend = arma::max(allowed(golden.mask("mask")), 1);  // (L x 1 x N)
  EXPECT_THAT(arma::cube(arma::sum(weights, 1)), IsNear(can_attend, {"L", "sum of the row", "N"}));
}

TEST(ScaledDotProductAttention, GivesBlockedKeysAWeightOfExactlyZero) {
  const GoldenCase golden = load_golden("heads");
  const Mask mask = golden.mask("mask");
  const arma::cube weights = weights_of(golden.cube("Q"), golden.cube("K"), mask);
  ASSERT_THAT(weights, HasShape({{"L", 4}, {"S", 5}, {"N", 6}}));
  double largest = 0;
  for (arma::uword n = 0; n < weights.n_slices; ++n) {
    largest = std::max(largest, arma::abs(weights.slice(n) % (1 - allowed(mask).slice(n / 3))).max());
  }
  EXPECT_HOLDS(largest == 0, "a blocked key has the weight " + std::to_string(largest) + ", want 0");
}

TEST(ScaledDotProductAttention, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("unmasked");
  EXPECT_THAT(scaled_dot_product_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V")),
              Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, EqualsPyTorchWithASharedMask) {
  const GoldenCase golden = load_golden("shared");
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, EqualsPyTorchWithAMaskForEachSequence) {
  const GoldenCase golden = load_golden("heads");
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, EqualsPyTorchWithFullyMaskedRows) {
  const GoldenCase golden = load_golden("with_fully_masked_rows");
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, CombinesPaddingAndCausality) {
  const GoldenCase golden = load_golden("padding_and_causal");
  const Mask mask = combine_masks(padding_mask({5, 3}, 4, 5), causal_mask(4, 5));
  EXPECT_THAT(allowed(mask), Matches(golden.expected("mask")));
  EXPECT_THAT(scaled_dot_product_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), mask),
              Matches(golden.expected("output")));
}

TEST(ScaledDotProductAttention, BlocksTheFuture) {
  const arma::uword L = 5;
  const arma::cube Q = normal(L, 3, 2);
  arma::cube K(L, 3, 2, arma::fill::randn);
  arma::cube V(L, 4, 2, arma::fill::randn);
  const arma::cube before = scaled_dot_product_attention(Q, K, V, causal_mask(L, L));
  for (arma::uword t = L - 1; t > 0; --t) {
    K.row(t) += 3;
    V.row(t) -= 5;
    const arma::cube after = scaled_dot_product_attention(Q, K, V, causal_mask(L, L));
    EXPECT_THAT(arma::cube(after.rows(0, t - 1)), IsNear(arma::cube(before.rows(0, t - 1)), {"L", "Dv", "N"}))
        << note("token " + std::to_string(t) + " and those after it were changed; these are the rows before it");
  }
}

TEST(ScaledDotProductAttention, ContinuesASequenceWithCausality) {
  const arma::cube Q = normal(6, 3, 2);
  const arma::cube K = normal(6, 3, 2);
  const arma::cube V = normal(6, 4, 2);
  const arma::cube whole = scaled_dot_product_attention(Q, K, V, causal_mask(6, 6));
  for (arma::uword known = 1; known < 6; ++known) {
    const arma::cube rest = scaled_dot_product_attention(Q.rows(known, 5), K, V, causal_mask(6 - known, 6));
    EXPECT_THAT(rest, IsNear(arma::cube(whole.rows(known, 5)), {"L", "Dv", "N"}))
        << note("the last " + std::to_string(6 - known) + " queries alone must give the last rows of the whole");
  }
}

TEST(ScaledDotProductAttention, IgnoresPadding) {
  const arma::uvec lengths = {3, 5, 4};
  const arma::cube Q = normal(4, 2, 3);
  arma::cube K(6, 2, 3, arma::fill::randn);
  arma::cube V(6, 5, 3, arma::fill::randn);
  const Mask mask = padding_mask(lengths, 4, 6);
  const arma::cube before = scaled_dot_product_attention(Q, K, V, mask);
  for (arma::uword b = 0; b < 3; ++b) {
    const arma::uword real = lengths(b);
    const arma::cube alone = scaled_dot_product_attention(Q.slices(b, b), K.slices(b, b).eval().rows(0, real - 1),
                                                          V.slices(b, b).eval().rows(0, real - 1));
    EXPECT_THAT(arma::cube(before.slices(b, b)), IsNear(alone, {"L", "Dv", "N"}))
        << note("this is sequence " + std::to_string(b) + "; with its padding cut off it gives what is wanted");
    K.slice(b).rows(real, 5).fill(1000);
    V.slice(b).rows(real, 5).fill(-1000);
  }
  EXPECT_THAT(scaled_dot_product_attention(Q, K, V, mask), IsNear(before, {"L", "Dv", "N"}))
      << note("only padded keys and values were changed");
}

TEST(ScaledDotProductAttention, IgnoresTheOrderOfKeys) {
  const GoldenCase golden = load_golden("with_fully_masked_rows");
  const arma::cube Q = golden.cube("Q");
  expect_ignores_the_order_of_keys([&](const arma::cube& K, const arma::cube& V,
                                       const Mask& mask) { return scaled_dot_product_attention(Q, K, V, mask); },
                                   golden.cube("K"), golden.cube("V"), golden.mask("mask"));
}

TEST(ScaledDotProductAttention, FollowsPermutedQueries) {
  const arma::cube K = normal(5, 3, 2), V = normal(5, 6, 2);
  expect_follows_permuted_queries([&](const arma::cube& Q) { return scaled_dot_product_attention(Q, K, V); },
                                  normal(4, 3, 2));
}

TEST(ScaledDotProductAttention, TakesAnEmptyMaskAsOnes) {
  const GoldenCase golden = load_golden("unmasked");
  const arma::cube Q = golden.cube("Q");
  const arma::cube K = golden.cube("K");
  const arma::cube V = golden.cube("V");
  for (const arma::uword slices : {1U, 2U}) {
    EXPECT_THAT(scaled_dot_product_attention(Q, K, V, ones(4, 5, slices)), Matches(golden.expected("output")))
        << note("a mask of ones blocks nothing");
  }
}

TEST(ScaledDotProductAttention, TakesAnyNumberButZeroAsAllowed) {
  const GoldenCase golden = load_golden("heads");
  const arma::cube Q = golden.cube("Q"), K = golden.cube("K"), V = golden.cube("V");
  for (const arma::uword number : {3U, 5U}) {
    const Mask mask = number * golden.mask("mask");
    EXPECT_THAT(scaled_dot_product_attention(Q, K, V, mask), Matches(golden.expected("output")))
        << note("the mask holds " + std::to_string(number) + " instead of 1");
  }
}

TEST(ScaledDotProductAttention, KeepsTheSlicesApart) {
  const GoldenCase golden = load_golden("with_fully_masked_rows");
  expect_keeps_apart("slice", 2, attention_of(golden), [&](arma::uword n) {
    return scaled_dot_product_attention(golden.cube("Q").slices(n, n), golden.cube("K").slices(n, n),
                                        golden.cube("V").slices(n, n), golden.mask("mask").slices(n, n));
  });
}

TEST(ScaledDotProductAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, Dv, N, M;
  };
  for (const Sizes& n : {Sizes{3, 4, 5, 2, 6, 2},
                         {3, 4, 2, 5, 6, 1},
                         {4, 3, 2, 5, 6, 3},
                         {5, 2, 3, 4, 6, 6},
                         {1, 4, 3, 2, 2, 2},
                         {4, 1, 3, 2, 2, 1},
                         {3, 4, 1, 2, 8, 4},
                         {3, 4, 2, 1, 1, 1},
                         {34, 35, 2, 3, 4, 2},
                         {3, 4, 40, 41, 6, 2}}) {
    const arma::cube Q(n.L, n.D, n.N, arma::fill::randn);
    const arma::cube K(n.S, n.D, n.N, arma::fill::randn);
    const arma::cube V(n.S, n.Dv, n.N, arma::fill::randn);
    const Mask mask = random_mask(n.L, n.S, n.M);
    EXPECT_THAT(scaled_dot_product_attention(Q, K, V, mask), IsNear(naive_attention(Q, K, V, mask), {"L", "Dv", "N"}))
        << note("the mask has " + std::to_string(n.M) + " slices for " + std::to_string(n.N));
    EXPECT_THAT(scaled_dot_product_attention(Q, K, V), IsNear(naive_attention(Q, K, V), {"L", "Dv", "N"}))
        << note("without a mask");
  }
}

TEST(ScaledDotProductAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("heads");
  const std::string about = note("it was called before with other arguments; nothing of those calls may be left");
  attention_of(load_golden("shared"));
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output"))) << about;
  scaled_dot_product_attention(-golden.cube("Q"), golden.cube("K"), -golden.cube("V"));
  EXPECT_THAT(attention_of(golden), Matches(golden.expected("output"))) << about;
}

TEST(ScaledDotProductAttention, PassesOnANaN) {
  const GoldenCase golden = load_golden("unmasked");
  arma::cube Q = golden.cube("Q");
  Q(1, 2, 0) = arma::datum::nan;
  arma::cube output = scaled_dot_product_attention(Q, golden.cube("K"), golden.cube("V"));
  ASSERT_THAT(output, HasShape({{"L", 4}, {"Dv", 6}, {"N", 2}}));
  const bool passed_on = output.slice(0).row(1).has_nan();
  output.slice(0).row(1) = golden.cube("output").slice(0).row(1);
  const bool others_right = arma::approx_equal(output, golden.cube("output"), "absdiff", 1e-9);
  EXPECT_HOLDS(passed_on, "the row of a query that holds NaN became numbers")
      << (others_right ? likely_mistake("nan_hidden") : "");
  EXPECT_THAT(output, Matches(golden.expected("output")))
      << note("one query holds NaN: the other rows stay as they are");
}

TEST(ScaledDotProductAttention, LeavesTheGeneratorAlone) {
  const GoldenCase golden = load_golden("heads");
  const arma::cube Q = golden.cube("Q"), K = golden.cube("K"), V = golden.cube("V");
  expect_leaves_the_generator_alone("a function of this lesson", [&] {
    scaled_dot_product_attention(Q, K, V, combine_masks(padding_mask({3, 5}, 4, 5), causal_mask(4, 5)));
  });
}

TEST(ScaledDotProductAttention, LeavesItsArguments) {
  const GoldenCase golden = load_golden("heads");
  const arma::cube Q = golden.cube("Q"), K = golden.cube("K"), V = golden.cube("V");
  const Mask mask = golden.mask("mask");
  expect_leaves_its_arguments("scaled_dot_product_attention", {{"Q", Q}, {"K", K}, {"V", V}, {"mask", mask}},
                              [&] { scaled_dot_product_attention(Q, K, V, mask); });
}

TEST(ScaledDotProductAttention, RejectsShapesThatDoNotFit) {
  const auto reject = [](const char* name, const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                         const std::vector<std::string>& words) {
    EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] { scaled_dot_product_attention(Q, K, V); });
  };
  const arma::cube Q = zeros(4, 3, 2);
  const arma::cube K = zeros(5, 3, 2);
  const arma::cube V = zeros(5, 6, 2);
  reject("K", Q, zeros(5, 7, 2), V, {"5 x 7 x 2", "3"});
  reject("K", Q, zeros(5, 1, 2), V, {"5 x 1 x 2", "3"});
  reject("K", Q, zeros(5, 3, 7), zeros(5, 6, 7), {"5 x 3 x 7", "2"});
  reject("K", Q, zeros(5, 3, 1), V, {"5 x 3 x 1", "2"});
  reject("V", Q, K, zeros(7, 6, 2), {"7 x 6 x 2", "5"});
  reject("V", Q, K, zeros(4, 6, 2), {"4 x 6 x 2", "5"});
  reject("V", Q, K, zeros(1, 6, 2), {"1 x 6 x 2", "5"});
  reject("V", Q, K, zeros(5, 6, 7), {"5 x 6 x 7", "2"});
  reject("V", Q, K, zeros(5, 6, 1), {"5 x 6 x 1", "2"});
  reject("Q", zeros(0, 3, 2), K, V, {"0 x 3 x 2"});
  reject("Q", zeros(4, 0, 2), zeros(5, 0, 2), V, {"4 x 0 x 2"});
  reject("Q", zeros(4, 3, 0), zeros(5, 3, 0), zeros(5, 6, 0), {"4 x 3 x 0"});
  reject("K", Q, zeros(0, 3, 2), zeros(0, 6, 2), {"0 x 3 x 2"});
  reject("V", Q, K, zeros(5, 0, 2), {"5 x 0 x 2"});
}

TEST(ScaledDotProductAttention, RejectsAMaskThatDoesNotFit) {
  const arma::cube Q(4, 3, 6, arma::fill::zeros);
  const arma::cube K(5, 3, 6, arma::fill::zeros);
  const arma::cube V(5, 2, 6, arma::fill::zeros);
  const auto reject = [&](arma::uword rows, arma::uword cols, arma::uword slices, const std::string& shape) {
    EXPECT_PRED_FORMAT1(RejectsArgument("mask", {shape, "4 x 5"}),
                        [&] { scaled_dot_product_attention(Q, K, V, ones(rows, cols, slices)); });
  };
  reject(3, 5, 6, "3 x 5 x 6");
  reject(4, 3, 6, "4 x 3 x 6");
  reject(5, 4, 6, "5 x 4 x 6");
  reject(1, 5, 2, "1 x 5 x 2");
  reject(4, 1, 2, "4 x 1 x 2");
  reject(4, 5, 4, "4 x 5 x 4");
  reject(4, 5, 12, "4 x 5 x 12");
}

// --------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("causal attention, 2 sequences of 64 tokens, D = 64", [] {
  const arma::cube Q = normal(64, 64, 2);
  const arma::cube K = normal(64, 64, 2);
  const arma::cube V = normal(64, 64, 2);
  return [Q, K, V] { return scaled_dot_product_attention(Q, K, V, causal_mask(64, 64)); };
});

}  // namespace
}  // namespace attn::judge
