#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/online_softmax.hpp"
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

const double infinity = arma::datum::inf;
const double nan = arma::datum::nan;
const std::vector<std::string> row_axes = {"1", "S"};
const std::vector<std::string> running_axes = {"maximum, sum", "S"};
const std::vector<std::string> output_axes = {"L", "Dv", "N"};

/// Maximum and sum after each score of a row: (2 x S).
arma::mat walk(const arma::rowvec& scores) {
  arma::mat running(2, scores.n_elem);
  RunningSoftmax seen;
  for (uword t = 0; t < scores.n_elem; ++t) {
    seen = add_score(seen, scores(t));
    running(0, t) = seen.maximum;
    running(1, t) = seen.sum;
  }
  return running;
}

/// What is where in the matrix of a walk.
const std::string walk_note = note("row 0 is maximum, row 1 is sum, and column t holds them after score t");

/// What a query has that has seen no key.
PartialAttention nothing_seen(uword L, uword Dv) {
  return {arma::mat(L, Dv, arma::fill::zeros), arma::vec(L).fill(-infinity), arma::vec(L, arma::fill::zeros)};
}

/// A partial attention, one number at a time. The mask has one slice, or is empty.
PartialAttention naive_partial(const arma::mat& Q, const arma::mat& K, const arma::mat& V, const Mask& mask = {}) {
  const arma::cube products = naive_scores(as_cube(Q), as_cube(K));
  PartialAttention part = nothing_seen(Q.n_rows, V.n_cols);
  const auto score = [&](uword i, uword j) {
    const bool blocked = !mask.is_empty() && mask(i, j, 0) == 0;
    return blocked ? -infinity : products(i, j, 0) / std::sqrt(static_cast<double>(Q.n_cols));
  };
  for (uword i = 0; i < Q.n_rows; ++i) {
    for (uword j = 0; j < K.n_rows; ++j) part.maximum(i) = std::max(part.maximum(i), score(i, j));
    for (uword j = 0; j < K.n_rows; ++j) {
      if (score(i, j) == -infinity) continue;
      const double exponential = std::exp(score(i, j) - part.maximum(i));
      part.sum(i) += exponential;
      for (uword d = 0; d < V.n_cols; ++d) part.output(i, d) += exponential * V(j, d);
    }
  }
  return part;
}

/// Keys first ... last of a mask with one slice; none of no mask.
Mask keys_of(const Mask& mask, uword first, uword last) {
  return mask.is_empty() ? Mask() : Mask(mask.cols(first, last));
}

/// A partial attention of a golden case, where it is one matrix: the columns of output, then maximum, then sum.
PartialAttention part_from(const GoldenCase& golden, const std::string& array) {
  const arma::mat joined = golden.mat(array);
  const uword Dv = joined.n_cols - 2;
  return {joined.head_cols(Dv), joined.col(Dv), joined.col(Dv + 1)};
}

/// The three parts as that matrix, so that all three show a mistake. Their shapes come first.
void expect_part(const PartialAttention& part, const Expected& wanted, const std::string& about) {
  const uword L = wanted.values.n_rows, Dv = wanted.values.n_cols - 2;
  ASSERT_THAT(part.output, HasShape({{"L", L}, {"Dv", Dv}})) << note("this is output") << about;
  ASSERT_THAT(arma::mat(part.maximum), HasShape({{"L", L}, {"1", 1}})) << note("this is maximum") << about;
  ASSERT_THAT(arma::mat(part.sum), HasShape({{"L", L}, {"1", 1}})) << note("this is sum") << about;
  const arma::mat output_maximum_sum = arma::join_rows(part.output, part.maximum, part.sum);
  EXPECT_THAT(output_maximum_sum, Matches(wanted))
      << note("the columns of output, then maximum (col " + std::to_string(Dv) + "), then sum (col " +
              std::to_string(Dv + 1) + ")")
      << about;
}

void expect_part(const PartialAttention& part, const GoldenCase& golden, const std::string& array,
                 const std::string& about = "") {
  expect_part(part, golden.expected(array), about);
}

void expect_part(const PartialAttention& part, const PartialAttention& wanted, const std::string& about) {
  const arma::cube values = as_cube(arma::mat(arma::join_rows(wanted.output, wanted.maximum, wanted.sum)));
  expect_part(part, {values, {"L", "Dv+2"}, default_tolerance}, about);
}

/// Query 2 has NaN for output and sum, whatever its maximum is: that depends on the version of Armadillo. The others are
/// as wanted.
void expect_nan_in_query_2(PartialAttention part, PartialAttention wanted, const std::string& likely,
                           const std::string& about) {
  wanted.output.row(2).fill(nan);
  wanted.sum(2) = nan;
  if (part.maximum.n_elem == wanted.maximum.n_elem) part.maximum(2) = wanted.maximum(2) = 0;
  const bool zero = part.sum.n_elem == wanted.sum.n_elem && part.sum(2) == 0 && part.sum.max() > 0;
  expect_part(part, wanted, (zero ? likely : "") + about);
}

// ------------------------------------------------------------------------------------------------ add_score, 18.1

TEST(AddScore, FollowsTheRowWorkedByHand) {
  const GoldenCase golden = load_golden("running_by_hand");
  EXPECT_THAT(walk({1, 3, 2}), Matches(golden.expected("running"))) << walk_note;
}

TEST(AddScore, BeginsWithAnyScore) {
  for (const double score : {0.0, 5.0, -5.0, 1e4, -1e4, -1e300}) {
    EXPECT_THAT(walk({score}), IsNear(arma::mat(arma::vec{score, 1}), running_axes)) << note(
        "row 0 is maximum, row 1 is sum; nothing was seen before: the score is the maximum, and the sum is exp(0) = 1");
  }
}

TEST(AddScore, TakesSingleStepsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("steps");
  const arma::mat before = golden.mat("seen");
  const arma::rowvec scores = golden.rowvec("scores");
  arma::mat after(arma::size(before));
  for (uword t = 0; t < scores.n_elem; ++t) {
    const RunningSoftmax seen = add_score({before(t, 0), before(t, 1)}, scores(t));
    after.row(t) = arma::rowvec{seen.maximum, seen.sum};
  }
  EXPECT_THAT(after, Matches(golden.expected("after")))
      << note("each row is a step of its own, from some maximum and sum; column 0 is maximum, column 1 is sum");
}

TEST(AddScore, EqualsPyTorch) {
  const GoldenCase golden = load_golden("running");
  EXPECT_THAT(walk(golden.rowvec("scores")), Matches(golden.expected("running"))) << walk_note;
}

TEST(AddScore, EqualsPyTorchWhenScoresRise) {
  const GoldenCase golden = load_golden("running_rising");
  EXPECT_THAT(walk(golden.rowvec("scores")), Matches(golden.expected("running"))) << walk_note;
}

TEST(AddScore, EqualsPyTorchWhenScoresFall) {
  const GoldenCase golden = load_golden("running_falling");
  EXPECT_THAT(walk(golden.rowvec("scores")), Matches(golden.expected("running"))) << walk_note;
}

TEST(AddScore, AddsNothingForABlockedScore) {
  const GoldenCase golden = load_golden("running_blocked");
  EXPECT_THAT(walk(golden.rowvec("scores")), Matches(golden.expected("running")))
      << walk_note << note("a score of -inf is a blocked key; this row begins with two of them");
}

TEST(AddScore, IgnoresTheOrderOfScores) {
  const arma::rowvec scores = {-2, 0.5, 3, 1, -7};
  const arma::vec wanted = walk(scores).tail_cols(1);
  for (const arma::uvec& order : {arma::uvec{4, 3, 2, 1, 0}, arma::uvec{2, 0, 4, 1, 3}, arma::uvec{1, 4, 0, 3, 2}}) {
    const arma::rowvec again = scores.cols(order);
    EXPECT_THAT(arma::mat(walk(again).tail_cols(1)), IsNear(arma::mat(wanted), {"maximum, sum", "1"}))
        << note("row 0 is maximum, row 1 is sum; the same scores in another order must give the same maximum and sum");
  }
}

TEST(AddScore, CountsEqualScores) {
  arma::mat wanted(2, 70);
  wanted.row(0).fill(-3.5);
  wanted.row(1) = arma::linspace<arma::rowvec>(1, 70, 70);
  EXPECT_THAT(walk(arma::rowvec(70).fill(-3.5)), IsNear(wanted, running_axes))
      << note("row 0 is maximum, row 1 is sum; 70 times the same score: each adds exp(0) = 1");
}

TEST(AddScore, AcceptsExtremeScores) {
  const arma::rowvec scores = {0.5, 2, -1, 3.25, 1};
  const arma::mat wanted = walk(scores);
  for (const double shift : {1e4, -1e4, 1e12, -1e12}) {
    arma::mat shifted = wanted;
    shifted.row(0) += shift;
    EXPECT_THAT(walk(scores + shift), IsNear(shifted, running_axes))
        << note("row 0 is maximum, row 1 is sum; a number was added to all scores: the maximum follows, the sum stays");
  }
}

// ------------------------------------------------------------------------------------------- online_softmax, 18.2

TEST(OnlineSoftmax, GivesEveryScoreAWeight) {
  EXPECT_THAT(arma::mat(online_softmax({3, -1, 2, 0.5, 1})), HasShape({{"1", 1}, {"S", 5}}));
}

TEST(OnlineSoftmax, GivesTheWeightsWorkedByHand) {
  const GoldenCase golden = load_golden("row_by_hand");
  EXPECT_THAT(arma::mat(online_softmax({1, 3, 2})), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, SumsToOne) {
  const arma::rowvec scores = 4 * arma::rowvec(9, arma::fill::randn);
  EXPECT_THAT(arma::mat(online_softmax(scores)), RowsSumToOne());
}

TEST(OnlineSoftmax, GivesASingleScoreAllTheWeight) {
  for (const double score : {0.0, 3.0, -3.0, -1e4}) {
    EXPECT_THAT(arma::mat(online_softmax({score})), IsNear(arma::mat(1, 1, arma::fill::ones), row_axes));
  }
}

TEST(OnlineSoftmax, FollowsPermutedScores) {
  const arma::rowvec scores = {-2, 0.5, 3, 1, -7};
  const arma::uvec order = {2, 0, 4, 1, 3};
  const arma::mat wanted = online_softmax(scores).cols(order);
  EXPECT_THAT(arma::mat(online_softmax(scores.cols(order))), IsNear(wanted, row_axes))
      << note("the scores were put in another order: the weights must follow them");
}

TEST(OnlineSoftmax, EqualsPyTorch) {
  const GoldenCase golden = load_golden("row");
  EXPECT_THAT(arma::mat(online_softmax(golden.rowvec("scores"))), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, GivesBlockedScoresNoWeight) {
  const GoldenCase golden = load_golden("row_blocked");
  EXPECT_THAT(arma::mat(online_softmax(golden.rowvec("scores"))), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, GivesZerosToARowOfMinusInfinity) {
  const GoldenCase golden = load_golden("row_of_minus_infinity");
  EXPECT_THAT(arma::mat(online_softmax(golden.rowvec("scores"))), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, EqualsTheDefinitionFor70Scores) {
  const arma::mat scores = 2 * normal(1, 70);
  EXPECT_THAT(arma::mat(online_softmax(scores)), IsNear(naive_softmax_rows(as_cube(scores)), {"1", "S", "1"}));
}

TEST(OnlineSoftmax, AcceptsScoresFarAboveZero) {
  const GoldenCase golden = load_golden("row_far_above");
  EXPECT_THAT(arma::mat(online_softmax(golden.rowvec("scores"))), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, AcceptsScoresFarBelowZero) {
  const GoldenCase golden = load_golden("row_far_below");
  EXPECT_THAT(arma::mat(online_softmax(golden.rowvec("scores"))), Matches(golden.expected("weights")));
}

TEST(OnlineSoftmax, PassesOnANaN) {
  const bool has_weights = arma::any(online_softmax({1, 3, 2}) != 0);
  const auto judge = [&](const char* row, const arma::rowvec& scores, const std::string& likely) {
    const arma::mat weights = online_softmax(scores);
    const bool zeros = has_weights && arma::accu(weights != 0) == 0;
    EXPECT_THAT(weights, IsNear(arma::mat(arma::size(scores)).fill(nan), row_axes))
        << (zeros ? likely : "") << note(std::string("the scores are ") + row + ": every weight must be NaN")
        << note("a NaN comes from a mistake elsewhere; as zeros, or as numbers, it would go unnoticed");
  };
  judge("{1, NaN, 2}", {1, nan, 2}, likely_mistake("nan_hidden"));
  judge("{NaN, 1, 2}", {nan, 1, 2}, likely_mistake("nan_hidden"));
  judge("{-inf, NaN}", {-infinity, nan}, likely_mistake("zeros_by_maximum"));
}

TEST(OnlineSoftmax, StartsAfresh) {
  const arma::rowvec scores = {0.5, -2, 1};
  const arma::mat wanted = online_softmax(scores);
  online_softmax({50, 40});
  EXPECT_THAT(arma::mat(online_softmax(scores)), IsNear(wanted, row_axes))
      << note("a row with other scores came in between; nothing of it may be left");
}

TEST(OnlineSoftmax, LeavesItsArguments) {
  const arma::rowvec scores = {0.5, -2, 1};
  expect_leaves_its_arguments("online_softmax", {{"scores", scores}}, [&] { online_softmax(scores); });
}

TEST(OnlineSoftmax, RejectsAnEmptyRow) {
  EXPECT_PRED_FORMAT1(RejectsArgument("scores", {"0"}), [] { online_softmax(arma::rowvec()); });
}

// ---------------------------------------------------------------------------------------- partial_attention, 18.3

TEST(PartialAttention, HasThreePartsForEveryQuery) {
  const PartialAttention part = partial_attention(normal(4, 3), normal(6, 3), normal(6, 5));
  EXPECT_THAT(part.output, HasShape({{"L", 4}, {"Dv", 5}}));
  EXPECT_THAT(arma::mat(part.maximum), HasShape({{"L", 4}, {"1", 1}}));
  EXPECT_THAT(arma::mat(part.sum), HasShape({{"L", 4}, {"1", 1}}));
}

TEST(PartialAttention, GivesTheBlocksWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const arma::mat Q = {{1, 3, 2, 0}, {1, 0, 4, 1}};
  const arma::mat K = {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}};
  const arma::mat V = {{1, 0}, {0, 2}, {4, 4}};
  expect_part(partial_attention(Q, K.rows(0, 1), V.rows(0, 1)), golden, "a", note("block a: keys 0 and 1"));
  expect_part(partial_attention(Q, K.rows(2, 2), V.rows(2, 2)), golden, "b", note("block b: key 2"));
}

TEST(PartialAttention, IsTheValueItselfForASingleKey) {
  const arma::mat Q = normal(4, 3), K = normal(1, 3), V = normal(1, 5);
  const PartialAttention wanted = naive_partial(Q, K, V);
  ASSERT_TRUE(wanted.sum.min() == 1 && wanted.sum.max() == 1);
  expect_part(partial_attention(Q, K, V), wanted, note("one key: its own score is the maximum, and the sum is 1"));
}

TEST(PartialAttention, FollowsPermutedQueries) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const PartialAttention part = partial_attention(Q, K, V);
  const arma::uvec order = {2, 0, 3, 1};
  expect_part(partial_attention(Q.rows(order), K, V),
              {part.output.rows(order), part.maximum.rows(order), part.sum.rows(order)},
              note("the queries were put in another order: all three parts must follow them"));
}

TEST(PartialAttention, IgnoresTheOrderOfKeys) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const Mask mask = random_mask(4, 6, 1);
  const arma::uvec order = {4, 0, 2, 5, 1, 3};
  expect_part(partial_attention(Q, K.rows(order), V.rows(order), reordered_columns(mask, order)),
              partial_attention(Q, K, V, mask),
              note("keys, values and the mask's columns were put in another order, all in the same"));
}

TEST(PartialAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("partial");
  expect_part(partial_attention(golden.mat("Q"), golden.mat("K"), golden.mat("V")), golden, "part");
}

TEST(PartialAttention, EqualsPyTorchWithAMask) {
  const GoldenCase golden = load_golden("partial_masked");
  expect_part(partial_attention(golden.mat("Q"), golden.mat("K"), golden.mat("V"), golden.mask("mask")), golden, "part",
              note("query 1 may attend to no key of this block: 0, -inf and 0"));
}

TEST(PartialAttention, TakesAnyNumberButZeroAsAllowed) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const Mask mask = random_mask(4, 6, 1);
  expect_part(partial_attention(Q, K, V, 5 * mask), partial_attention(Q, K, V, mask),
              note("the mask holds 5 instead of 1 here; any number but 0 means may attend"));
}

TEST(PartialAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, D, Dv;
  };
  for (const Sizes& n : {Sizes{3, 5, 2, 4},
                         {5, 2, 7, 3},
                         {1, 6, 3, 2},
                         {4, 1, 2, 3},
                         {70, 3, 4, 2},
                         {2, 71, 3, 5},
                         {3, 4, 1, 2},
                         {3, 4, 2, 1},
                         {3, 5, 40, 41},
                         {1, 1, 1, 1}}) {
    const arma::mat Q = 2 * normal(n.L, n.D), K = 2 * normal(n.S, n.D), V = normal(n.S, n.Dv);
    for (const Mask& mask : {Mask(), random_mask(n.L, n.S, 1), Mask(n.L, n.S, 1, arma::fill::zeros)}) {
      expect_part(partial_attention(Q, K, V, mask), naive_partial(Q, K, V, mask), "");
    }
  }
}

TEST(PartialAttention, AcceptsScoresFarAboveZero) {
  const GoldenCase golden = load_golden("partial_far_above");
  expect_part(partial_attention(golden.mat("Q"), golden.mat("K"), golden.mat("V")), golden, "part");
}

TEST(PartialAttention, AcceptsScoresFarBelowZero) {
  const GoldenCase golden = load_golden("partial_far_below");
  expect_part(partial_attention(golden.mat("Q"), golden.mat("K"), golden.mat("V")), golden, "part");
}

TEST(PartialAttention, PassesOnANaN) {
  arma::mat Q = normal(4, 3);
  const arma::mat K = normal(6, 3), V = normal(6, 5);
  Mask mask = ones(4, 6, 1);
  mask.col(0).zeros();
  const PartialAttention unmasked = naive_partial(Q, K, V), masked = naive_partial(Q, K, V, mask);
  Q(2, 1) = nan;
  expect_nan_in_query_2(partial_attention(Q, K, V), unmasked, likely_mistake("nan_hidden"),
                        note("query 2 holds a NaN: its output and its sum must be NaN; its maximum may be anything"));
  expect_nan_in_query_2(
      partial_attention(Q, K, V, mask), masked, likely_mistake("zeros_by_maximum"),
      note("query 2 holds a NaN, and key 0 is blocked: its maximum may be -inf, as arma::max may pass "
           "over NaN, but its output and its sum must be NaN"));
}

TEST(PartialAttention, LeavesItsArguments) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const Mask mask = ones(4, 6, 1);
  expect_leaves_its_arguments("partial_attention", {{"Q", Q}, {"K_block", K}, {"V_block", V}, {"mask_block", mask}},
                              [&] { partial_attention(Q, K, V, mask); });
}

// ---------------------------------------------------------------------------------------------------- merge, 18.4

TEST(Merge, KeepsTheShapeOfTheParts) {
  const PartialAttention a = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const PartialAttention merged = merge(a, nothing_seen(4, 5));
  EXPECT_THAT(merged.output, HasShape({{"L", 4}, {"Dv", 5}}));
  EXPECT_THAT(arma::mat(merged.maximum), HasShape({{"L", 4}, {"1", 1}}));
  EXPECT_THAT(arma::mat(merged.sum), HasShape({{"L", 4}, {"1", 1}}));
}

TEST(Merge, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  expect_part(merge(part_from(golden, "a"), part_from(golden, "b")), golden, "merged");
}

TEST(Merge, IsCommutative) {
  const arma::mat Q = 2 * normal(4, 3);
  const PartialAttention a = naive_partial(Q, normal(6, 3), normal(6, 5));
  const PartialAttention b = naive_partial(Q, normal(2, 3), normal(2, 5));
  expect_part(merge(b, a), merge(a, b), note("this is merge(b, a), and expected is what merge(a, b) gave"));
}

TEST(Merge, IsAssociative) {
  const arma::mat Q = 2 * normal(4, 3);
  const PartialAttention a = naive_partial(Q, normal(6, 3), normal(6, 5));
  const PartialAttention b = naive_partial(Q, 5 * normal(2, 3), normal(2, 5));
  const PartialAttention c = naive_partial(Q, normal(7, 3), normal(7, 5), random_mask(4, 7, 1));
  expect_part(merge(a, merge(b, c)), merge(merge(a, b), c),
              note("this is merge(a, merge(b, c)), and expected: what merge(merge(a, b), c) gave"));
}

TEST(Merge, ChangesNothingWhereNothingWasSeen) {
  const PartialAttention a = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const PartialAttention nothing = nothing_seen(4, 5);
  const std::string about = note("one of the two is {zeros, -inf, zeros}: the other one must come out as it is");
  expect_part(merge(a, nothing), a, about);
  expect_part(merge(nothing, a), a, about);
}

TEST(Merge, MergesNothingWithNothing) {
  const PartialAttention merged = merge(nothing_seen(4, 5), nothing_seen(4, 5));
  ASSERT_HOLDS(!(merged.output.has_nan() || merged.sum.has_nan()), "NaN where both parts are {zeros, -inf, zeros}")
      << likely_mistake("nan_merge");
  expect_part(merged, nothing_seen(4, 5), note("both parts are {zeros, -inf, zeros}: no query has seen a key"));
}

TEST(Merge, DoublesWhatIsMergedWithItself) {
  const PartialAttention a = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  expect_part(merge(a, a), {2 * a.output, a.maximum, 2 * a.sum}, note("a and b are one and the same object"));
}

TEST(Merge, EqualsPyTorch) {
  const GoldenCase golden = load_golden("merge");
  expect_part(merge(part_from(golden, "a"), part_from(golden, "b")), golden, "merged");
}

TEST(Merge, EqualsPyTorchWithBlockedBlocks) {
  const GoldenCase golden = load_golden("merge_blocked");
  expect_part(merge(part_from(golden, "a"), part_from(golden, "b")), golden, "merged",
              note("query 0 has keys in b only, query 1 in a only, query 2 in none of the two"));
}

TEST(Merge, IsAttentionOverAllKeysWhereverTheyAreCut) {
  const uword S = 7;
  const arma::mat Q = 2 * normal(4, 3), K = 2 * normal(S, 3), V = normal(S, 5);
  for (const Mask& mask : {Mask(), random_mask(4, S, 1)}) {
    for (uword cut = 1; cut < S; ++cut) {
      const PartialAttention a = naive_partial(Q, K.head_rows(cut), V.head_rows(cut), keys_of(mask, 0, cut - 1));
      const PartialAttention b =
          naive_partial(Q, K.tail_rows(S - cut), V.tail_rows(S - cut), keys_of(mask, cut, S - 1));
      expect_part(merge(a, b), naive_partial(Q, K, V, mask),
                  note("a has the first " + std::to_string(cut) + " of " + std::to_string(S) + " keys"));
    }
  }
}

TEST(Merge, TakesKeyAfterKey) {
  const uword S = 70;
  const arma::mat Q = 2 * normal(4, 3), K = 2 * normal(S, 3), V = normal(S, 5);
  PartialAttention seen = nothing_seen(4, 5);
  for (uword j = 0; j < S; ++j) seen = merge(seen, naive_partial(Q, K.row(j), V.row(j)));
  expect_part(seen, naive_partial(Q, K, V), note("70 keys were merged, one after the other"));
}

TEST(Merge, AcceptsExtremeScores) {
  const PartialAttention part = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const PartialAttention high = {part.output, part.maximum + 1e4, part.sum};
  const PartialAttention low = {-2 * part.output, part.maximum - 1e4, 3 * part.sum};
  const std::string about = note("one part has scores near 10000, the other near -10000: nothing is left of the lower");
  expect_part(merge(high, low), high, about);
  expect_part(merge(low, high), high, about);
  PartialAttention other = high;
  other.maximum -= 1;
  const double e = std::exp(-1);
  expect_part(merge(high, other), {(1 + e) * high.output, high.maximum, (1 + e) * high.sum},
              note("both parts have scores near 10000"));
}

TEST(Merge, PassesOnANaN) {
  const PartialAttention right = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const PartialAttention doubled = {2 * right.output, right.maximum, 2 * right.sum};
  for (const double maximum : {nan, -infinity}) {
    PartialAttention holds_nan = right;
    holds_nan.output.row(2).fill(nan);
    holds_nan.sum(2) = nan;
    holds_nan.maximum(2) = maximum;
    const std::string likely = std::isnan(maximum) ? likely_mistake("nan_hidden") : likely_mistake("zeros_by_maximum");
    const std::string about = note("one part has NaN for output and sum of query 2, and the maximum " +
                                   std::string(std::isnan(maximum) ? "NaN" : "-inf") + ": both must stay NaN");
    expect_nan_in_query_2(merge(holds_nan, right), doubled, likely, about);
    expect_nan_in_query_2(merge(right, holds_nan), doubled, likely, about);
    expect_nan_in_query_2(merge(holds_nan, nothing_seen(4, 5)), right, likely, about);
  }
}

TEST(Merge, LeavesItsArguments) {
  const PartialAttention a = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const PartialAttention b = {3 * a.output, a.maximum + 1, 2 * a.sum};
  expect_leaves_its_arguments("merge",
                              {{"a.output", a.output},
                               {"a.maximum", a.maximum},
                               {"a.sum", a.sum},
                               {"b.output", b.output},
                               {"b.maximum", b.maximum},
                               {"b.sum", b.sum}},
                              [&] { merge(a, b); });
}

// --------------------------------------------------------------------------------------------------- finish, 18.5

TEST(Finish, GivesARowAndANumberForEveryQuery) {
  const FinishedAttention finished = finish(naive_partial(normal(4, 3), normal(6, 3), normal(6, 5)));
  EXPECT_THAT(finished.output, HasShape({{"L", 4}, {"Dv", 5}}));
  EXPECT_THAT(arma::mat(finished.log_sum_exp), HasShape({{"L", 4}, {"1", 1}}));
}

TEST(Finish, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const FinishedAttention finished = finish(part_from(golden, "merged"));
  EXPECT_THAT(finished.output, Matches(golden.expected("output")));
  EXPECT_THAT(arma::mat(finished.log_sum_exp), Matches(golden.expected("log_sum_exp")));
}

TEST(Finish, IgnoresWhatWasSubtracted) {
  const PartialAttention part = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  const FinishedAttention wanted = finish(part);
  const double e = std::exp(-2);
  const FinishedAttention finished = finish({e * part.output, part.maximum + 2, e * part.sum});
  EXPECT_THAT(finished.output, IsNear(wanted.output, {"L", "Dv"}))
      << note("2 more was subtracted from every score: output and sum became smaller by the same factor");
  EXPECT_THAT(arma::mat(finished.log_sum_exp), IsNear(arma::mat(wanted.log_sum_exp), {"L", "1"}))
      << note("2 more was subtracted from every score: it is in maximum, and no longer in sum");
}

TEST(Finish, EqualsPyTorch) {
  const GoldenCase golden = load_golden("finish");
  const FinishedAttention finished = finish(part_from(golden, "part"));
  EXPECT_THAT(finished.output, Matches(golden.expected("finished")))
      << note("query 2 may attend to no key: its row is zeros");
  EXPECT_THAT(arma::mat(finished.log_sum_exp), Matches(golden.expected("log_sum_exp")))
      << note("query 2 may attend to no key: log(0) is -inf");
}

TEST(Finish, EqualsTheDefinition) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const arma::cube scores = naive_scores(as_cube(Q), as_cube(K)) / std::sqrt(3.0);
  arma::mat wanted(4, 1);
  for (uword i = 0; i < 4; ++i) {
    double sum = 0;
    for (uword j = 0; j < 6; ++j) sum += std::exp(scores(i, j, 0));
    wanted(i, 0) = std::log(sum);
  }
  const FinishedAttention finished = finish(naive_partial(Q, K, V));
  EXPECT_THAT(arma::mat(finished.log_sum_exp), IsNear(wanted, {"L", "1"}));
  EXPECT_THAT(as_cube(finished.output), IsNear(naive_attention(as_cube(Q), as_cube(K), as_cube(V)), output_axes));
}

TEST(Finish, AcceptsExtremeScores) {
  for (const double far : {1e4, -1e4}) {
    const PartialAttention part = {{{2, 4, 6}, {1, 2, 0}}, {far, far + 1}, {2, 1.25}};
    const FinishedAttention finished = finish(part);
    EXPECT_THAT(finished.output, IsNear(arma::mat{{1, 2, 3}, {0.8, 1.6, 0}}, {"L", "Dv"}));
    EXPECT_THAT(arma::mat(finished.log_sum_exp),
                IsNear(arma::mat(arma::vec{far + std::log(2), far + 1 + std::log(1.25)}), {"L", "1"}))
        << note("the sum of exp(score) itself overflows, or becomes 0: add the maximum to the logarithm of the sum");
  }
}

TEST(Finish, PassesOnANaN) {
  const PartialAttention part = {
      {{nan, nan, nan}, {nan, nan, nan}, {2, 4, 6}, {0, 0, 0}}, {nan, -infinity, 1, -infinity}, {nan, nan, 2, 0}};
  const FinishedAttention finished = finish(part);
  ASSERT_THAT(finished.output, HasShape({{"L", 4}, {"Dv", 3}}));
  const bool divides = finished.output(2, 0) != 0;
  const bool hidden = divides && finished.output(0, 0) == 0, hidden_by_maximum = divides && finished.output(1, 0) == 0;
  const arma::mat output = {{nan, nan, nan}, {nan, nan, nan}, {1, 2, 3}, {0, 0, 0}};
  const std::string about =
      note("output and sum are NaN in rows 0 and 1, where the maximum is NaN and -inf; only row 3 has seen no key");
  EXPECT_THAT(finished.output, IsNear(output, {"L", "Dv"})) << (hidden              ? likely_mistake("nan_hidden")
                                                                : hidden_by_maximum ? likely_mistake("zeros_by_maximum")
                                                                                    : "")
                                                            << about;
  EXPECT_THAT(arma::mat(finished.log_sum_exp),
              IsNear(arma::mat(arma::vec{nan, nan, 1 + std::log(2), -infinity}), {"L", "1"}))
      << about;
}

TEST(Finish, LeavesItsArguments) {
  const PartialAttention part = naive_partial(normal(4, 3), normal(6, 3), normal(6, 5));
  expect_leaves_its_arguments("finish", {{"output", part.output}, {"maximum", part.maximum}, {"sum", part.sum}},
                              [&] { finish(part); });
}

// -------------------------------------------------------------------------------------- attention_in_blocks, 18.6

const std::vector<uword> block_sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1000, std::numeric_limits<uword>::max()};

/// Attention of a golden case, in blocks of that many keys.
arma::cube attention_of(const GoldenCase& golden, uword block_size) {
  return attention_in_blocks(golden.cube("Q"), golden.cube("K"), golden.cube("V"), block_size,
                             golden.has("mask") ? golden.mask("mask") : Mask());
}

std::string block_note(uword block_size) { return note("block_size is " + std::to_string(block_size)); }

void expect_golden_in_blocks(const char* name, uword block_size) {
  const GoldenCase golden = load_golden(name);
  arma::cube output;
  try {
    output = attention_of(golden, block_size);
  } catch (const std::invalid_argument& error) {
    if (!golden.has("mask") || !names_argument(error.what(), "mask")) throw;
    FAIL() << line("threw", error.what()) << likely_mistake("mask_rejected");
  }
  EXPECT_THAT(output, Matches(golden.expected("output"))) << block_note(block_size);
}

TEST(AttentionInBlocks, GivesOneRowForEachQuery) {
  EXPECT_THAT(attention_in_blocks(normal(4, 3, 2), normal(7, 3, 2), normal(7, 5, 2), 3, ones(4, 7, 2)),
              HasShape({{"L", 4}, {"Dv", 5}, {"N", 2}}));
}

TEST(AttentionInBlocks, TakesAnEmptyMaskAsNone) {
  EXPECT_THAT(attention_in_blocks(normal(4, 3, 2), normal(7, 3, 2), normal(7, 5, 2), 3, Mask()),
              HasShape({{"L", 4}, {"Dv", 5}, {"N", 2}}));
}

TEST(AttentionInBlocks, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const arma::mat Q = {{1, 3, 2, 0}, {1, 0, 4, 1}};
  const arma::mat K = {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}};
  const arma::mat V = {{1, 0}, {0, 2}, {4, 4}};
  const arma::cube output = attention_in_blocks(as_cube(Q), as_cube(K), as_cube(V), 2);
  EXPECT_THAT(output, IsNear(as_cube(golden.mat("output")), output_axes)) << note("keys 0 and 1, then key 2");
}

TEST(AttentionInBlocks, EqualsPyTorch) { expect_golden_in_blocks("attention", 3); }

TEST(AttentionInBlocks, EqualsPyTorchWithAMask) { expect_golden_in_blocks("attention_masked", 3); }

TEST(AttentionInBlocks, EqualsPyTorchWithASharedMask) { expect_golden_in_blocks("attention_shared_mask", 3); }

TEST(AttentionInBlocks, EqualsPyTorchWhenScoresRise) { expect_golden_in_blocks("attention_rising", 2); }

TEST(AttentionInBlocks, EqualsPyTorchWhenScoresFall) { expect_golden_in_blocks("attention_falling", 2); }

TEST(AttentionInBlocks, IgnoresTheSizeOfItsBlocks) {
  for (const char* name : {"attention", "attention_masked", "attention_rising", "attention_falling"}) {
    const GoldenCase golden = load_golden(name);
    for (const uword block_size : block_sizes) {
      const arma::cube output = attention_of(golden, block_size);
      EXPECT_THAT(output, IsNear(golden.cube("output"), output_axes)) << block_note(block_size);
    }
  }
}

TEST(AttentionInBlocks, AcceptsABlockedFirstBlock) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  for (const uword first : {0U, 3U, 6U}) {
    Mask mask = ones(4, 7, 2);
    mask.cols(first, std::min<uword>(first + 2, 6)).zeros();
    EXPECT_THAT(attention_in_blocks(Q, K, V, 3, mask), IsNear(naive_attention(Q, K, V, mask), output_axes))
        << note("block_size is 3, and all queries may attend to no key of the block that begins with key " +
                std::to_string(first));
  }
}

TEST(AttentionInBlocks, GivesZerosToAQueryWithoutKeys) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const Mask none(4, 7, 2, arma::fill::zeros);
  for (const uword block_size : {1U, 3U, 7U, 9U}) {
    EXPECT_THAT(attention_in_blocks(Q, K, V, block_size, none), IsNear(zeros(4, 5, 2), output_axes))
        << block_note(block_size);
  }
}

TEST(AttentionInBlocks, BlocksTheFuture) {
  const arma::cube Q = normal(4, 3, 2), V = normal(7, 5, 2);
  arma::cube K = normal(7, 3, 2);
  Mask causal(4, 7, 1);
  for (uword i = 0; i < 4; ++i) {
    for (uword j = 0; j < 7; ++j) causal(i, j, 0) = j <= i + 3;
  }
  for (const uword block_size : {1U, 2U, 3U, 5U, 7U}) {
    EXPECT_THAT(attention_in_blocks(Q, K, V, block_size, causal), IsNear(naive_attention(Q, K, V, causal), output_axes))
        << block_note(block_size);
  }
  const arma::cube before = attention_in_blocks(Q, K, V, 2, causal);
  K.row(5) += 3.0;
  const arma::cube after = attention_in_blocks(Q, K, V, 2, causal);
  EXPECT_THAT(arma::cube(after.rows(0, 1)), IsNear(arma::cube(before.rows(0, 1)), output_axes))
      << note("key 5 was changed, and queries 0 and 1 may only see keys up to 3 and 4");
}

TEST(AttentionInBlocks, KeepsTheSlicesApart) {
  const arma::cube Q = normal(4, 3, 6), K = normal(7, 3, 6), V = normal(7, 5, 6);
  const Mask mask = random_mask(4, 7, 6);
  expect_keeps_apart("slice", 6, attention_in_blocks(Q, K, V, 3, mask), [&](uword n) {
    return attention_in_blocks(Q.slices(n, n), K.slices(n, n), V.slices(n, n), 3, mask.slices(n, n));
  });
}

TEST(AttentionInBlocks, IgnoresTheOrderOfKeys) {
  const arma::cube Q = normal(4, 3, 2);
  expect_ignores_the_order_of_keys(
      [&](const arma::cube& K, const arma::cube& V, const Mask& mask) { return attention_in_blocks(Q, K, V, 3, mask); },
      normal(7, 3, 2), normal(7, 5, 2), random_mask(4, 7, 1));
}

TEST(AttentionInBlocks, FollowsPermutedQueries) {
  const arma::cube K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_follows_permuted_queries([&](const arma::cube& Q) { return attention_in_blocks(Q, K, V, 3); },
                                  normal(4, 3, 2));
}

TEST(AttentionInBlocks, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, D, Dv, N, block_size;
  };
  for (const Sizes& n : {Sizes{3, 5, 2, 4, 6, 2},
                         {5, 7, 8, 3, 2, 4},
                         {1, 7, 3, 2, 4, 3},
                         {4, 1, 2, 3, 6, 5},
                         {70, 3, 4, 2, 2, 1},
                         {3, 70, 4, 5, 2, 16},
                         {2, 71, 3, 4, 1, 10},
                         {6, 4, 1, 2, 3, 4},
                         {4, 6, 3, 1, 2, 3},
                         {3, 5, 40, 41, 4, 2},
                         {1, 1, 1, 1, 1, 1}}) {
    const arma::cube Q = 2 * normal(n.L, n.D, n.N), K = 2 * normal(n.S, n.D, n.N), V = normal(n.S, n.Dv, n.N);
    for (uword slices = 0; slices <= n.N; ++slices) {
      if (slices > 0 && n.N % slices != 0) continue;
      const Mask mask = slices == 0 ? Mask() : random_mask(n.L, n.S, slices);
      EXPECT_THAT(attention_in_blocks(Q, K, V, n.block_size, mask), IsNear(naive_attention(Q, K, V, mask), output_axes))
          << block_note(n.block_size)
          << note("the mask has " + std::to_string(slices) + " slices for N = " + std::to_string(n.N) +
                  " (0: an empty mask)");
    }
  }
}

TEST(AttentionInBlocks, AcceptsScoresFarAboveZero) {
  for (const uword block_size : {3U, 1U, 7U}) expect_golden_in_blocks("attention_far_above", block_size);
}

TEST(AttentionInBlocks, AcceptsScoresFarBelowZero) {
  for (const uword block_size : {3U, 1U, 7U}) expect_golden_in_blocks("attention_far_below", block_size);
}

TEST(AttentionInBlocks, TreatsNoFiniteScoreAsBlocked) {
  const arma::cube Q = arma::cube(4, 3, 2).fill(1e8), K = arma::cube(7, 3, 2).fill(-1e8), V = normal(7, 5, 2);
  EXPECT_THAT(attention_in_blocks(Q, K, V, 3), IsNear(naive_attention(0 * Q, K, V), output_axes))
      << note("all scores are equal, and far below -1e9: each query takes the mean of the values");
}

TEST(AttentionInBlocks, PassesOnANaN) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  Mask mask = ones(4, 7, 2);
  mask.col(0).zeros();  // then the maximum of a row of NaN may be -inf
  arma::cube Q_with_nan = Q;
  Q_with_nan(2, 1, 1) = nan;
  for (const bool masked : {false, true}) {
    const Mask used = masked ? mask : Mask();
    arma::cube wanted = naive_attention(Q, K, V, used);
    wanted.slice(1).row(2).fill(nan);
    for (const uword block_size : {3U, 1U, 7U}) {
      EXPECT_THAT(attention_in_blocks(Q_with_nan, K, V, block_size, used), IsNear(wanted, output_axes))
          << block_note(block_size) << note(masked ? "key 0 is blocked" : "the mask is empty")
          << note("query 2 of slice 1 holds a NaN: its row must be NaN, so that it is noticed, and no other");
    }
  }
}

TEST(AttentionInBlocks, StartsAfresh) {
  const GoldenCase golden = load_golden("attention");
  attention_in_blocks(normal(4, 3, 6), 9 * normal(8, 3, 6), normal(8, 5, 6), 2, random_mask(4, 8, 6));
  EXPECT_THAT(attention_of(golden, 3), Matches(golden.expected("output")))
      << note("a call with other arguments came before; nothing of it may be left");
}

TEST(AttentionInBlocks, LeavesItsArguments) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const Mask mask = ones(4, 7, 2);
  expect_leaves_its_arguments("attention_in_blocks", {{"Q", Q}, {"K", K}, {"V", V}, {"mask", mask}},
                              [&] { attention_in_blocks(Q, K, V, 3, mask); });
}

TEST(AttentionInBlocks, LeavesTheGeneratorAlone) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_leaves_the_generator_alone("attention_in_blocks", [&] { attention_in_blocks(Q, K, V, 3); });
}

TEST(AttentionInBlocks, MakesNoMatrixOfQueriesTimesKeys) {
  const uword L = 96, S = 512;
  const arma::cube Q = normal(L, 3, 2), K = normal(S, 3, 2), V = normal(S, 1, 2);  // K has the size of L x 32
  const std::size_t whole = L * S * sizeof(double);
  const std::size_t largest = largest_allocation([&] { attention_in_blocks(Q, K, V, 8); });
  EXPECT_TRUE(largest <= whole / 15) << line("memory", "the largest piece of memory that was asked for has " +
                                                           bytes_text(largest) + ", want at most " +
                                                           bytes_text(whole / 15))
                                     << note("L = 96, S = 512, block_size = 8; an L x S matrix has " +
                                             bytes_text(whole) + ", an L x 8 matrix " +
                                             bytes_text(L * 8 * sizeof(double)))
                                     << (largest >= whole ? likely_mistake("whole_scores") : "");
}

TEST(AttentionInBlocks, TakesBlocksOfTheGivenSize) {
  const arma::cube Q = normal(24, 3, 2), K = normal(40, 3, 2), V = normal(40, 5, 2);
  const std::size_t key_by_key = allocated_bytes([&] { attention_in_blocks(Q, K, V, 1); });
  const std::size_t at_once = allocated_bytes([&] { attention_in_blocks(Q, K, V, 40); });
  EXPECT_TRUE(key_by_key != at_once) << line("memory", bytes_text(at_once) +
                                                           " were asked for in all, with block_size 1 and 40 alike")
                                     << note("S = 40: that is 40 blocks, or one")
                                     << likely_mistake("block_size_ignored");
}

// ------------------------------------------------------------------------------------------------------- bad input

TEST(PartialAttention, RejectsShapesThatDoNotFit) {
  const arma::mat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const auto with = [](const arma::mat& q, const arma::mat& k, const arma::mat& v, const Mask& mask = {}) {
    return [q, k, v, mask] { partial_attention(q, k, v, mask); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 0"}), with(arma::mat(), K, V));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 3"}), with(arma::mat(0, 3), K, V));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"4 x 0"}), with(arma::mat(4, 0), arma::mat(6, 0), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_block", {"6 x 2", "3"}), with(Q, normal(6, 2), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_block", {"3 x 6", "3"}), with(Q, normal(3, 6), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_block", {"0 x 3"}), with(Q, arma::mat(0, 3), arma::mat(0, 5)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V_block", {"7 x 5", "6"}), with(Q, K, normal(7, 5)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V_block", {"4 x 5", "6"}), with(Q, K, normal(4, 5)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V_block", {"6 x 0"}), with(Q, K, arma::mat(6, 0)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask_block", {"6 x 4 x 1", "4 x 6"}), with(Q, K, V, ones(6, 4, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask_block", {"4 x 5 x 1", "4 x 6"}), with(Q, K, V, ones(4, 5, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask_block", {"4 x 7 x 1", "4 x 6"}), with(Q, K, V, ones(4, 7, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask_block", {"1 x 6 x 1", "4 x 6"}), with(Q, K, V, ones(1, 6, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask_block", {"4 x 6 x 2", "4 x 6"}), with(Q, K, V, ones(4, 6, 2)));
}

TEST(Merge, RejectsPartsThatDoNotFit) {
  const PartialAttention right = nothing_seen(4, 5);
  const auto reject = [&](const std::string& part, const std::string& shape, const PartialAttention& wrong) {
    EXPECT_PRED_FORMAT1(RejectsArgument(part, {"a." + part, shape}), [&] { merge(wrong, right); });
    EXPECT_PRED_FORMAT1(RejectsArgument(part, {"b." + part, shape}), [&] { merge(right, wrong); });
  };
  reject("maximum", "3 x 1", {right.output, arma::vec(3, arma::fill::zeros), right.sum});
  reject("maximum", "0 x 1", {right.output, arma::vec(), right.sum});
  reject("sum", "6 x 1", {right.output, right.maximum, arma::vec(6, arma::fill::zeros)});
  reject("sum", "0 x 1", {right.output, right.maximum, arma::vec()});
  reject("output", "0 x 0", {arma::mat(), right.maximum, right.sum});
  const auto reject_other = [&](uword L, uword Dv, const std::string& shape) {
    EXPECT_PRED_FORMAT1(RejectsArgument("output", {"b.output", shape, "4 x 5"}),
                        [&] { merge(right, nothing_seen(L, Dv)); });
  };
  reject_other(3, 5, "3 x 5");
  reject_other(1, 5, "1 x 5");
  reject_other(4, 6, "4 x 6");
  reject_other(4, 1, "4 x 1");
}

TEST(Finish, RejectsPartsThatDoNotFit) {
  const PartialAttention right = nothing_seen(4, 5);
  const auto reject = [&](const std::string& part, const std::string& shape, const PartialAttention& wrong) {
    EXPECT_PRED_FORMAT1(RejectsArgument(part, {"partial." + part, shape}), [&] { finish(wrong); });
  };
  reject("output", "0 x 0", {arma::mat(), arma::vec(), arma::vec()});
  reject("maximum", "3 x 1", {right.output, arma::vec(3, arma::fill::zeros), right.sum});
  reject("sum", "1 x 1", {right.output, right.maximum, arma::vec(1, arma::fill::ones)});
}

TEST(AttentionInBlocks, RejectsBlockSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("block_size", {"0"}),
                      [] { attention_in_blocks(normal(4, 3, 2), normal(7, 3, 2), normal(7, 5, 2), 0); });
}

TEST(AttentionInBlocks, RejectsShapesThatDoNotFit) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const auto with = [](const arma::cube& q, const arma::cube& k, const arma::cube& v) {
    return [q, k, v] { attention_in_blocks(q, k, v, 3); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 0 x 0"}), with(arma::cube(), K, V));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 3 x 2"}), with(arma::cube(0, 3, 2), K, V));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"4 x 0 x 2"}), with(arma::cube(4, 0, 2), arma::cube(7, 0, 2), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"4 x 3 x 0"}),
                      with(arma::cube(4, 3, 0), arma::cube(7, 3, 0), arma::cube(7, 5, 0)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 4 x 2", "3"}), with(Q, normal(7, 4, 2), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 3 x 1", "2"}), with(Q, normal(7, 3, 1), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 3 x 4", "2"}), with(Q, normal(7, 3, 4), V));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"0 x 3 x 2"}), with(Q, arma::cube(0, 3, 2), arma::cube(0, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"8 x 5 x 2", "7"}), with(Q, K, normal(8, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"4 x 5 x 2", "7"}), with(Q, K, normal(4, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 5 x 1", "2"}), with(Q, K, normal(7, 5, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 5 x 4", "2"}), with(Q, K, normal(7, 5, 4)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 0 x 2"}), with(Q, K, arma::cube(7, 0, 2)));
}

/// A call with a mask of that shape, for L = 4, S = 7 and N = 6.
std::function<void()> with_mask(uword rows, uword cols, uword slices) {
  return [Q = normal(4, 3, 6), K = normal(7, 3, 6), V = normal(7, 5, 6), mask = ones(rows, cols, slices)] {
    attention_in_blocks(Q, K, V, 3, mask);
  };
}

TEST(AttentionInBlocks, RejectsAMaskOfTheWrongShape) {
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"7 x 4 x 1", "4 x 7"}), with_mask(7, 4, 1));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 7 x 2", "4 x 7"}), with_mask(5, 7, 2));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 8 x 6", "4 x 7"}), with_mask(4, 8, 6));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 3 x 6", "4 x 7"}), with_mask(4, 3, 6));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"1 x 7 x 6", "4 x 7"}), with_mask(1, 7, 6));
}

TEST(AttentionInBlocks, RejectsAMaskOf4Or5SlicesFor6) {
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 7 x 4", "6"}), with_mask(4, 7, 4));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 7 x 5", "6"}), with_mask(4, 7, 5));
}

TEST(AttentionInBlocks, RejectsAMaskOf12SlicesFor6) {
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"4 x 7 x 12", "6"}), with_mask(4, 7, 12));
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("attention in blocks of 32 keys, 2 sequences of 64 queries and 96 keys, D = 32", [] {
  const arma::cube Q = normal(64, 32, 2);
  const arma::cube K = normal(96, 32, 2);
  const arma::cube V = normal(96, 32, 2);
  return [Q, K, V] { return attention_in_blocks(Q, K, V, 32); };
});

}  // namespace
}  // namespace attn::judge
