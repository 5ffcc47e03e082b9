#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attn/flash_attention.hpp"
#include "checks/allocation.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/properties.hpp"
#include "checks/rounding.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;

const double infinity = arma::datum::inf;
const float nan = arma::fdatum::nan;
const std::vector<std::string> output_axes = {"L", "Dv", "H·B"};
const std::vector<std::string> lse_axes = {"L", "H·B"};

arma::fmat normal(uword rows, uword cols) { return {rows, cols, arma::fill::randn}; }
arma::fcube normal(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::randn}; }
arma::fmat in_float(const arma::mat& x) { return arma::conv_to<arma::fmat>::from(x); }
arma::fcube in_float(const arma::cube& x) { return arma::conv_to<arma::fcube>::from(x); }

FlashOptions blocks_of(uword query_block, uword key_block, bool causal = false, const arma::uvec& key_lengths = {}) {
  return {causal, key_lengths, query_block, key_block};
}

std::string options_note(const FlashOptions& options) {
  std::string text = "query_block = " + std::to_string(options.query_block) +
                     ", key_block = " + std::to_string(options.key_block) + (options.causal ? ", causal" : "");
  for (uword b = 0; b < options.key_lengths.n_elem; ++b) {
    text += (b == 0 ? ", key_lengths = " : ", ") + std::to_string(options.key_lengths(b));
  }
  return note(text);
}

/// The rows of every slice, in another order, or some of them.
arma::fcube rows_of(const arma::fcube& x, const arma::uvec& rows) {
  arma::fcube result(rows.n_elem, x.n_cols, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = arma::fmat(x.slice(n)).rows(rows);
  return result;
}
arma::fcube rows_of(const arma::fcube& x, uword first, uword last) {
  return rows_of(x, arma::regspace<arma::uvec>(first, last));
}

/// What is wanted of flash_attention.
struct Wanted {
  arma::cube output;      // (L x Dv x H·B)
  arma::mat log_sum_exp;  // (L x H·B)
};

/// The definition, one number at a time, in double. For scores of moderate size.
Wanted naive_flash(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, const FlashOptions& options = {}) {
  const uword L = Q.n_rows, S = K.n_rows, N = Q.n_slices, B = options.key_lengths.n_elem;
  Wanted wanted = {arma::cube(L, V.n_cols, N, arma::fill::zeros), arma::mat(L, N)};
  for (uword n = 0; n < N; ++n) {
    const uword kv = n / (N / K.n_slices);
    const uword length = B == 0 ? S : options.key_lengths(n / (N / B));
    for (uword i = 0; i < L; ++i) {
      double sum = 0;
      for (uword j = 0; j < length; ++j) {
        if (options.causal && j + L > i + S) continue;
        double product = 0;
        for (uword d = 0; d < Q.n_cols; ++d) product += static_cast<double>(Q(i, d, n)) * K(j, d, kv);
        const double exponential = std::exp(product / std::sqrt(static_cast<double>(Q.n_cols)));
        sum += exponential;
        for (uword d = 0; d < V.n_cols; ++d) wanted.output(i, d, n) += exponential * V(j, d, kv);
      }
      for (uword d = 0; d < V.n_cols && sum > 0; ++d) wanted.output(i, d, n) /= sum;
      wanted.log_sum_exp(i, n) = std::log(sum);
    }
  }
  return wanted;
}

/// How near a result in float must be: worked out in support/rounding.hpp.
struct Tolerance {
  double output;
  double log_sum_exp;
};

Tolerance tolerance_of(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, uword key_block,
                       const arma::mat& log_sum_exp) {
  const double rounding = rounding_of_attention(as_cube(Q), as_cube(K), key_block);
  const arma::vec sizes = arma::abs(arma::vec(log_sum_exp.elem(arma::find_finite(log_sum_exp))));
  // Matches takes a tolerance as relative to wanted numbers above one; this one is absolute.
  const double smallest = sizes.is_empty() ? 1 : std::max(1.0, sizes.min());
  return {rounding * static_cast<double>(arma::abs(V).max()), rounding / smallest};
}

/// Both parts of a result. Their shapes come first.
void expect_result(const FlashResult& result, Expected output, Expected log_sum_exp, const Tolerance& tolerance,
                   const std::string& about) {
  output.tolerance = tolerance.output;
  log_sum_exp.tolerance = tolerance.log_sum_exp;
  EXPECT_THAT(result.output, Matches(output)) << about;
  EXPECT_THAT(result.log_sum_exp, Matches(log_sum_exp)) << about;
}

/// That the result is what the definition gives.
void expect_definition(const FlashResult& result, const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                       const FlashOptions& options, const std::string& about = "") {
  const Wanted wanted = naive_flash(Q, K, V, options);
  expect_result(result, {wanted.output, output_axes, 0}, {as_cube(wanted.log_sum_exp), lse_axes, 0},
                tolerance_of(Q, K, V, options.key_block, wanted.log_sum_exp), options_note(options) + about);
}
void expect_definition(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V, const FlashOptions& options,
                       const std::string& about = "") {
  expect_definition(flash_attention(Q, K, V, options), Q, K, V, options, about);
}

/// That two calls give the same, but for rounding.
void expect_same(const FlashResult& result, const FlashResult& wanted, const std::string& about) {
  EXPECT_THAT(result.output, IsNear(as_cube(wanted.output), output_axes, 1e-4)) << about;
  EXPECT_THAT(result.log_sum_exp, IsNear(as_cube(wanted.log_sum_exp), lse_axes, 1e-4)) << about;
}

/// A golden case of flash_attention, with the options that it was made with.
struct FlashCase {
  arma::fcube Q, K, V;
  FlashOptions options;
  Expected output, log_sum_exp;
};

FlashCase load_flash(const std::string& name, bool causal = false) {
  const GoldenCase golden = load_golden(name);
  const arma::uvec blocks = arma::conv_to<arma::uvec>::from(golden.rowvec("blocks"));
  arma::uvec key_lengths;
  if (golden.has("key_lengths")) key_lengths = arma::conv_to<arma::uvec>::from(golden.rowvec("key_lengths"));
  return {in_float(golden.cube("Q")), in_float(golden.cube("K")),
          in_float(golden.cube("V")), blocks_of(blocks(0), blocks(1), causal, key_lengths),
          golden.expected("output"),  golden.expected("log_sum_exp")};
}

/// That flash_attention gives what PyTorch does in float64, from the same numbers.
void expect_golden(const FlashCase& c) {
  expect_result(flash_attention(c.Q, c.K, c.V, c.options), c.output, c.log_sum_exp,
                tolerance_of(c.Q, c.K, c.V, c.options.key_block, c.log_sum_exp.values.slice(0)),
                options_note(c.options));
}
void expect_golden(const std::string& name, bool causal = false) { expect_golden(load_flash(name, causal)); }

// ------------------------------------------------------------------------------------------ attention_cost, 19.1

/// The sizes of a golden case: L, S, D and query_block; and what attention_cost gives for them.
void expect_golden_cost(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  const arma::uvec sizes = arma::conv_to<arma::uvec>::from(golden.rowvec("sizes"));
  const AttentionCost cost = attention_cost(sizes(0), sizes(1), sizes(2), sizes(3));
  const arma::mat numbers = arma::rowvec{cost.flops, cost.untiled_bytes, cost.tiled_bytes};
  EXPECT_THAT(numbers, Matches(golden.expected("cost")))
      << note("flops (col 0), untiled_bytes (col 1) and tiled_bytes (col 2) for L = " + std::to_string(sizes(0)) +
              ", S = " + std::to_string(sizes(1)) + ", D = " + std::to_string(sizes(2)) +
              ", query_block = " + std::to_string(sizes(3)));
}

TEST(AttentionCost, CountsTheExampleWorkedByHand) { expect_golden_cost("cost_by_hand"); }

TEST(AttentionCost, CountsALongSequence) { expect_golden_cost("cost"); }

TEST(AttentionCost, CountsASingleQuery) { expect_golden_cost("cost_decode"); }

TEST(AttentionCost, CountsAShorterLastBlock) { expect_golden_cost("cost_uneven"); }

TEST(AttentionCost, CountsBeyondSixtyFourBits) {
  const double length = 4294967296.0;  // 2^32: the square of it is more than 64 bits hold
  const AttentionCost cost = attention_cost(uword(1) << 32, uword(1) << 32, 4, uword(1) << 32);
  const arma::mat numbers = arma::rowvec{cost.flops, cost.untiled_bytes, cost.tiled_bytes};
  const arma::mat wanted = arma::rowvec{16 * length * length, 4 * (16 * length + 4 * length * length), 4 * 16 * length};
  EXPECT_THAT(numbers, IsNear(wanted, {"1", "3"}))
      << note("L = S = query_block = 2^32, D = 4: count in double, integers overflow");
}

TEST(AttentionCost, AcceptsTheLargestBlockSize) {
  const AttentionCost cost = attention_cost(6, 5, 4, std::numeric_limits<uword>::max());
  EXPECT_THAT(arma::mat(arma::rowvec{cost.tiled_bytes}), IsNear(arma::mat(arma::rowvec{352}), {"1", "1"}))
      << note("L = 6, S = 5, D = 4, query_block = the largest arma::uword: one query block; adding to it goes round");
}

TEST(AttentionCost, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { attention_cost(0, 5, 4, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { attention_cost(3, 0, 4, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("D", {"0"}), [] { attention_cost(3, 5, 0, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("query_block", {"0"}), [] { attention_cost(3, 5, 4, 0); });
}

// -------------------------------------------------------------------------------------------- visible_keys, 19.2

arma::mat all_visible(uword L, uword S, uword key_length, bool causal) {
  arma::rowvec counts(L);
  for (uword i = 0; i < L; ++i) counts(i) = static_cast<double>(visible_keys(i, L, S, key_length, causal));
  return counts;
}

void expect_golden_visible(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  const arma::uvec sizes = arma::conv_to<arma::uvec>::from(golden.rowvec("sizes"));
  EXPECT_THAT(all_visible(sizes(0), sizes(1), sizes(2), sizes(3) != 0), Matches(golden.expected("visible")))
      << note("column i: what query i sees. L = " + std::to_string(sizes(0)) + ", S = " + std::to_string(sizes(1)) +
              ", key_length = " + std::to_string(sizes(2)) + (sizes(3) != 0 ? ", causal" : ", not causal"));
}

TEST(VisibleKeys, CountsTheExampleWorkedByHand) { expect_golden_visible("visible_by_hand"); }

TEST(VisibleKeys, GrowsByOnePerQueryInCausalOrder) { expect_golden_visible("visible_causal"); }

TEST(VisibleKeys, IsZeroBeforeTheFirstKey) { expect_golden_visible("visible_more_queries"); }

TEST(VisibleKeys, IsTheKeyLengthWithoutOrder) { expect_golden_visible("visible_padded"); }

TEST(VisibleKeys, IsTheSmallerOfOrderAndKeyLength) { expect_golden_visible("visible_causal_padded"); }

TEST(VisibleKeys, IsZeroWithoutKeys) { expect_golden_visible("visible_nobody"); }

TEST(VisibleKeys, CountsTheKeysThatTheMaskAllows) {
  for (const uword L : {1U, 2U, 5U, 9U}) {
    for (const uword S : {1U, 3U, 5U, 8U}) {
      for (uword key_length = 0; key_length <= S; ++key_length) {
        for (const bool causal : {false, true}) {
          arma::mat wanted(1, L, arma::fill::zeros);
          for (uword i = 0; i < L; ++i) {
            for (uword j = 0; j < key_length; ++j) wanted(0, i) += !causal || j + L <= i + S;
          }
          EXPECT_THAT(all_visible(L, S, key_length, causal), IsNear(wanted, {"1", "L"}))
              << note("L = " + std::to_string(L) + ", S = " + std::to_string(S) +
                      ", key_length = " + std::to_string(key_length) + (causal ? ", causal" : ", not causal"));
        }
      }
    }
  }
}

TEST(VisibleKeys, CountsBeyondThirtyTwoBits) {
  const uword S = uword(1) << 40, L = S / 2;
  const arma::mat counts = arma::rowvec{static_cast<double>(visible_keys(3, L, S, S, true))};
  EXPECT_THAT(counts, IsNear(arma::mat(arma::rowvec{static_cast<double>(S / 2 + 4)}), {"1", "1"}))
      << note("L = 2^39, S = key_length = 2^40, i = 3: no walking through the keys, and no int");
}

TEST(VisibleKeys, RejectsImpossibleSizes) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { visible_keys(0, 0, 5, 5, true); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { visible_keys(0, 3, 0, 0, true); });
  for (const bool causal : {false, true}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("i", {"7"}), [&] { visible_keys(7, 7, 9, 9, causal); });
    EXPECT_PRED_FORMAT1(RejectsArgument("i", {"8"}), [&] { visible_keys(8, 7, 9, 9, causal); });
    EXPECT_PRED_FORMAT1(RejectsArgument("key_length", {"6", "5"}), [&] { visible_keys(2, 3, 5, 6, causal); });
  }
}

// ------------------------------------------------------------------------------------------- add_key_block, 19.3

/// What queries have that have seen no key.
QueryBlock nothing_seen(uword Lb, uword Dv) {
  return {arma::fmat(Lb, Dv, arma::fill::zeros), arma::fvec(Lb).fill(-arma::fdatum::inf),
          arma::fvec(Lb, arma::fill::zeros)};
}

/// One matrix: the columns of output, then maximum, then sum.
arma::mat joined(const QueryBlock& seen) {
  return arma::conv_to<arma::mat>::from(arma::fmat(arma::join_rows(seen.output, seen.maximum, seen.sum)));
}

QueryBlock block_from(const arma::mat& joined) {
  const arma::fmat x = in_float(joined);
  return {x.head_cols(x.n_cols - 2), x.col(x.n_cols - 2), x.col(x.n_cols - 1)};
}

/// All three parts in one matrix, so that all show a mistake. Their shapes come first. Output and sum are not divided
/// yet: their errors may be as much larger as there are keys.
void expect_block(const QueryBlock& seen, Expected wanted, const arma::fmat& Q, const arma::fmat& K,
                  const arma::fmat& V, uword S, const std::string& about = "") {
  const uword Lb = wanted.values.n_rows, Dv = wanted.values.n_cols - 2;
  ASSERT_THAT(seen.output, HasShape({{"Lb", Lb}, {"Dv", Dv}})) << about;
  ASSERT_THAT(arma::fmat(seen.maximum), HasShape({{"Lb", Lb}, {"1", 1}})) << about;
  ASSERT_THAT(arma::fmat(seen.sum), HasShape({{"Lb", Lb}, {"1", 1}})) << about;
  const double largest_value = std::max(1.0, static_cast<double>(arma::abs(V).max()));
  wanted.tolerance = rounding_of_attention(as_cube(Q), as_cube(K), 1) * static_cast<double>(S) * largest_value;
  const arma::mat output_maximum_sum = joined(seen);
  EXPECT_THAT(output_maximum_sum, Matches(wanted))
      << note("the columns of output, then maximum (col " + std::to_string(Dv) + "), then sum (col " +
              std::to_string(Dv + 1) + ")")
      << about;
}

/// One step of a golden case.
void expect_golden_block(const std::string& name, const std::string& about = "") {
  const GoldenCase golden = load_golden(name);
  const arma::fmat Q = in_float(golden.mat("Q")), K = in_float(golden.mat("K")), V = in_float(golden.mat("V"));
  QueryBlock seen = block_from(golden.mat("seen"));
  add_key_block(seen, Q, K, V, arma::conv_to<arma::uvec>::from(golden.rowvec("visible")));
  expect_block(seen, golden.expected("after"), Q, K, V, 8, about);
}

/// The definition, over keys 0 to S - 1, of which query i sees the first visible(i).
Expected naive_block(const arma::fmat& Q, const arma::fmat& K, const arma::fmat& V, const arma::uvec& visible) {
  arma::cube wanted(Q.n_rows, V.n_cols + 2, 1, arma::fill::zeros);
  for (uword i = 0; i < Q.n_rows; ++i) {
    const uword end = std::min<uword>(visible(i), K.n_rows);
    arma::vec scores(end);
    for (uword j = 0; j < end; ++j) {
      for (uword d = 0; d < Q.n_cols; ++d) scores(j) += static_cast<double>(Q(i, d)) * K(j, d);
    }
    scores /= std::sqrt(static_cast<double>(Q.n_cols));
    double& maximum = wanted(i, V.n_cols, 0) = -infinity;
    for (uword j = 0; j < end; ++j) maximum = std::max(maximum, scores(j));
    for (uword j = 0; j < end; ++j) {
      const double exponential = std::exp(scores(j) - maximum);
      for (uword d = 0; d < V.n_cols; ++d) wanted(i, d, 0) += exponential * V(j, d);
      wanted(i, V.n_cols + 1, 0) += exponential;
    }
  }
  return {wanted, {"Lb", "Dv+2"}, 0};
}

TEST(AddKeyBlock, KeepsTheShapesOfItsParts) {
  QueryBlock seen = nothing_seen(4, 5);
  add_key_block(seen, normal(4, 3), normal(6, 3), normal(6, 5), {6, 6, 6, 6});
  EXPECT_THAT(seen.output, HasShape({{"Lb", 4}, {"Dv", 5}}));
  EXPECT_THAT(arma::fmat(seen.maximum), HasShape({{"Lb", 4}, {"1", 1}}));
  EXPECT_THAT(arma::fmat(seen.sum), HasShape({{"Lb", 4}, {"1", 1}}));
}

TEST(AddKeyBlock, TakesInTheFirstBlockWorkedByHand) { expect_golden_block("block_0_by_hand", note("keys 0 and 1")); }

TEST(AddKeyBlock, TakesInTheSecondBlockWorkedByHand) {
  expect_golden_block("block_1_by_hand", note("keys 2 and 3, after 0 and 1; query 0 sees one of them, query 1 both"));
}

TEST(AddKeyBlock, EqualsPyTorchForTheFirstBlock) {
  expect_golden_block("block_first", note("nothing was seen before"));
}

TEST(AddKeyBlock, EqualsPyTorchForALaterBlock) { expect_golden_block("block_later", note("2 keys were seen before")); }

TEST(AddKeyBlock, EqualsPyTorchForAPartlyVisibleBlock) {
  expect_golden_block("block_partly_visible",
                      note("visible: query 1 sees nothing, before and now; query 2 nothing of this block"));
}

TEST(AddKeyBlock, EqualsPyTorchWhereTheFirstBlockIsBlockedForSome) {
  expect_golden_block("block_first_blocked", note("nothing was seen before; queries 1 and 2 see nothing now either"));
}

TEST(AddKeyBlock, ChangesNothingForAQueryThatSeesNoKey) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5), more = 9 * normal(2, 3);
  QueryBlock seen = nothing_seen(4, 5);
  add_key_block(seen, Q, K, V, {6, 6, 0, 6});
  const arma::mat before = joined(seen);
  add_key_block(seen, Q, more, normal(2, 5), {0, 0, 0, 0});
  EXPECT_THAT(joined(seen), IsNear(before, {"Lb", "Dv+2"}, 1e-6))
      << note("a second block of which no query sees a key: output, maximum and sum stay as they were");
}

TEST(AddKeyBlock, TakesMoreThanTheBlockForAllOfIt) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  QueryBlock seen = nothing_seen(4, 5);
  add_key_block(seen, Q, K, V, {6, 7, 5, 1000000});
  expect_block(seen, naive_block(Q, K, V, {6, 6, 5, 6}), Q, K, V, 6, note("visible is 6, 7, 5, 1000000 for 6 keys"));
}

TEST(AddKeyBlock, IgnoresTheOrderOfBlocks) {
  const arma::fmat Q = 2 * normal(4, 3), K = normal(8, 3), V = normal(8, 5);
  const arma::uvec all = {8, 8, 8, 8};
  for (uword cut = 1; cut < 8; ++cut) {
    QueryBlock forward = nothing_seen(4, 5), backward = nothing_seen(4, 5);
    add_key_block(forward, Q, K.head_rows(cut), V.head_rows(cut), all);
    add_key_block(forward, Q, K.tail_rows(8 - cut), V.tail_rows(8 - cut), all);
    add_key_block(backward, Q, K.tail_rows(8 - cut), V.tail_rows(8 - cut), all);
    add_key_block(backward, Q, K.head_rows(cut), V.head_rows(cut), all);
    const std::string about = note("8 keys, cut after " + std::to_string(cut));
    expect_block(forward, naive_block(Q, K, V, all), Q, K, V, 8, about);
    expect_block(backward, naive_block(Q, K, V, all), Q, K, V, 8, about + note("the second part was taken in first"));
  }
}

TEST(AddKeyBlock, FollowsPermutedQueries) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const arma::uvec visible = {2, 6, 0, 4}, order = {2, 0, 3, 1};
  QueryBlock seen = nothing_seen(4, 5), permuted = nothing_seen(4, 5);
  add_key_block(seen, Q, K, V, visible);
  add_key_block(permuted, Q.rows(order), K, V, visible(order));
  EXPECT_THAT(joined(permuted), IsNear(arma::mat(joined(seen).rows(order)), {"Lb", "Dv+2"}, 1e-4))
      << note("the queries were put in another order: all three parts must follow them");
}

TEST(AddKeyBlock, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword Lb, S, D, Dv, Sb;
  };
  for (const Sizes& n : {Sizes{3, 7, 2, 4, 2},
                         {4, 5, 8, 3, 6},
                         {1, 6, 3, 2, 4},
                         {5, 1, 2, 3, 7},
                         {70, 9, 4, 2, 3},
                         {2, 71, 3, 5, 10},
                         {3, 4, 1, 2, 5},
                         {4, 6, 2, 1, 3},
                         {3, 5, 80, 81, 2},
                         {1, 1, 1, 1, 1}}) {
    const arma::fmat Q = 2 * normal(n.Lb, n.D), K = 2 * normal(n.S, n.D), V = normal(n.S, n.Dv);
    const arma::uvec visible = arma::randi<arma::uvec>(n.Lb, arma::distr_param(0, static_cast<int>(n.S)));
    QueryBlock seen = nothing_seen(n.Lb, n.Dv);
    for (uword first = 0; first < n.S; first += n.Sb) {
      const uword last = std::min(first + n.Sb, n.S) - 1;
      arma::uvec here(n.Lb);
      for (uword i = 0; i < n.Lb; ++i) here(i) = visible(i) > first ? visible(i) - first : 0;
      add_key_block(seen, Q, K.rows(first, last), V.rows(first, last), here);
    }
    expect_block(seen, naive_block(Q, K, V, visible), Q, K, V, n.S,
                 note(std::to_string(n.S) + " keys were taken in, " + std::to_string(n.Sb) + " at a time"));
  }
}

TEST(AddKeyBlock, PassesOnANaN) {
  arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const auto taken_in = [&] {
    QueryBlock seen = nothing_seen(4, 5);
    add_key_block(seen, Q, K, V, {6, 4, 6, 5});
    return seen;
  };
  const auto nans = [](const auto& part) { return arma::uvec(arma::find_nan(part)).n_elem; };
  Q(2, 1) = nan;
  QueryBlock seen = taken_in();
  EXPECT_HOLDS(
      nans(seen.output.row(2)) == 5 && nans(seen.output) == 5 && std::isnan(seen.sum(2)) && nans(seen.sum) == 1,
      "query 2 holds a NaN: its output and its sum must be NaN, and no other's")
      << (seen.sum(0) != 0 && nans(seen.sum) == 0 ? likely_mistake("nan_hidden") : "");
  Q(2, 1) = 1;
  K(3, 1) = nan;
  seen = taken_in();
  EXPECT_HOLDS(nans(seen.output) == 20 && nans(seen.sum) == 4,
               "key 3 holds a NaN, and all queries see it: output and sum must be NaN")
      << (seen.sum(0) != 0 && nans(seen.sum) == 0 ? likely_mistake("nan_hidden") : "");
  K(3, 1) = 1;
  V(3, 2) = nan;
  seen = taken_in();
  EXPECT_HOLDS(nans(seen.output.col(2)) == 4 && nans(seen.output) == 4 && nans(seen.sum) == 0,
               "value 3 holds a NaN in col 2, and all queries see it: col 2 of output must be NaN, and no other")
      << (seen.output(0, 0) != 0 && nans(seen.output) == 0 ? likely_mistake("nan_hidden") : "");
}

TEST(AddKeyBlock, LeavesItsArguments) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const arma::uvec visible = {2, 6, 0, 4};
  QueryBlock seen = nothing_seen(4, 5);
  expect_leaves_its_arguments("add_key_block", {{"Q_block", Q}, {"K_block", K}, {"V_block", V}, {"visible", visible}},
                              [&] { add_key_block(seen, Q, K, V, visible); });
}

TEST(AddKeyBlock, RejectsShapesThatDoNotFit) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3), V = normal(6, 5);
  const arma::uvec visible = {6, 6, 6, 6};
  const auto reject = [&](const std::string& name, const std::vector<std::string>& words, const arma::fmat& q,
                          const arma::fmat& k, const arma::fmat& v, const arma::uvec& seen_here) {
    EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] {
      QueryBlock seen = nothing_seen(4, 5);
      add_key_block(seen, q, k, v, seen_here);
    });
  };
  reject("Q_block", {"0 x 0"}, arma::fmat(), K, V, visible);
  reject("Q_block", {"4 x 0"}, arma::fmat(4, 0), arma::fmat(6, 0), V, visible);
  reject("K_block", {"6 x 2", "3"}, Q, normal(6, 2), V, visible);
  reject("K_block", {"3 x 6", "3"}, Q, normal(3, 6), V, visible);
  reject("K_block", {"0 x 3"}, Q, arma::fmat(0, 3), arma::fmat(0, 5), visible);
  reject("V_block", {"7 x 5", "6"}, Q, K, normal(7, 5), visible);
  reject("V_block", {"4 x 5", "6"}, Q, K, normal(4, 5), visible);
  reject("V_block", {"6 x 0"}, Q, K, arma::fmat(6, 0), visible);
  reject("visible", {"3 x 1", "4"}, Q, K, V, {6, 6, 6});
  reject("visible", {"6 x 1", "4"}, Q, K, V, {6, 6, 6, 6, 6, 6});
  reject("visible", {"0 x 1", "4"}, Q, K, V, {});
}

TEST(AddKeyBlock, RejectsPartsThatDoNotFit) {
  const QueryBlock right = nothing_seen(4, 5);
  const auto reject = [&](const std::string& part, const std::vector<std::string>& words, const QueryBlock& wrong) {
    std::vector<std::string> all = {"seen." + part};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_PRED_FORMAT1(RejectsArgument(part, all), [&] {
      QueryBlock seen = wrong;
      add_key_block(seen, normal(4, 3), normal(6, 3), normal(6, 5), {6, 6, 6, 6});
    });
  };
  const arma::fvec five(5, arma::fill::zeros), three(3, arma::fill::zeros);
  const arma::fmat narrow(4, 4, arma::fill::zeros), wide(4, 6, arma::fill::zeros);
  reject("output", {"3 x 5", "4 x 5"}, {arma::fmat(3, 5), right.maximum, right.sum});
  reject("output", {"4 x 6", "4 x 5"}, {wide, right.maximum, right.sum});
  reject("output", {"4 x 4", "4 x 5"}, {narrow, right.maximum, right.sum});
  reject("output", {"0 x 0", "4 x 5"}, {arma::fmat(), right.maximum, right.sum});
  reject("maximum", {"3 x 1", "4 x 1"}, {right.output, three, right.sum});
  reject("maximum", {"5 x 1", "4 x 1"}, {right.output, five, right.sum});
  reject("maximum", {"0 x 1", "4 x 1"}, {right.output, arma::fvec(), right.sum});
  reject("sum", {"5 x 1", "4 x 1"}, {right.output, right.maximum, five});
  reject("sum", {"3 x 1", "4 x 1"}, {right.output, right.maximum, three});
  reject("sum", {"0 x 1", "4 x 1"}, {right.output, right.maximum, arma::fvec()});
}

// ----------------------------------------------- flash_attention, step 1 of 3: slice by slice, all keys visible, 19.4

/// That a golden case gives the same in blocks of any size.
void expect_any_block_size(FlashCase c) {
  const uword L = c.Q.n_rows, S = c.K.n_rows;
  const std::vector<std::pair<uword, uword>> sizes = {{1, 1}, {3, 3},  {16, 16},   {L, S},
                                                      {3, 1}, {1, 16}, {L - 1, 3}, {L + 1, S + 1}};
  for (const auto& [query_block, key_block] : sizes) {
    c.options.query_block = query_block;
    c.options.key_block = key_block;
    expect_golden(c);
  }
}

TEST(FlashAttentionStep1, GivesEveryQueryAnOutputAndALogSumExp) {
  const FlashResult result = flash_attention(normal(5, 4, 6), normal(7, 4, 6), normal(7, 3, 6), blocks_of(2, 3));
  EXPECT_THAT(result.output, HasShape({{"L", 5}, {"Dv", 3}, {"H·B", 6}}));
  EXPECT_THAT(result.log_sum_exp, HasShape({{"L", 5}, {"H·B", 6}}));
}

TEST(FlashAttentionStep1, EqualsPyTorch) { expect_golden("attention"); }

TEST(FlashAttentionStep1, EqualsPyTorchWhenScoresRise) { expect_golden("rising"); }

TEST(FlashAttentionStep1, EqualsPyTorchWhenScoresFall) { expect_golden("falling"); }

TEST(FlashAttentionStep1, AcceptsScoresFarAboveZero) { expect_golden("far_above"); }

TEST(FlashAttentionStep1, AcceptsScoresFarBelowZero) { expect_golden("far_below"); }

TEST(FlashAttentionStep1, IgnoresTheSizeOfItsBlocks) { expect_any_block_size(load_flash("attention")); }

TEST(FlashAttentionStep1, HasBlocksOf64ByDefault) {
  const arma::fcube Q = normal(70, 4, 2), K = normal(67, 4, 2), V = normal(67, 3, 2);
  const FlashResult result = flash_attention(Q, K, V);
  ASSERT_THAT(result.output, HasShape({{"L", 70}, {"Dv", 3}, {"H·B", 2}}));
  expect_definition(result, Q, K, V, {});
}

TEST(FlashAttentionStep1, AcceptsTheLargestBlockSize) {
  const arma::fcube Q = normal(5, 4, 2), K = normal(7, 4, 2), V = normal(7, 3, 2);
  const uword largest = ~uword(0);
  expect_definition(Q, K, V, blocks_of(largest, largest), note("the largest number that there is"));
}

TEST(FlashAttentionStep1, IsTheValueItselfForASingleKey) {
  const arma::fcube Q = normal(5, 4, 2), K = normal(1, 4, 2), V = normal(1, 3, 2);
  const FlashResult result = flash_attention(Q, K, V, blocks_of(2, 3));
  expect_definition(result, Q, K, V, blocks_of(2, 3), note("one key: the log-sum-exp is its score"));
  EXPECT_THAT(result.output, IsNear(naive_flash(Q, K, V).output, output_axes, 2e-7))
      << note("one key: its weight is exp(0) / exp(0), and float rounds nothing there");
}

TEST(FlashAttentionStep1, IgnoresTheOrderOfKeys) {
  const arma::fcube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const arma::uvec order = {4, 0, 6, 2, 5, 1, 3};
  expect_same(flash_attention(Q, rows_of(K, order), rows_of(V, order), blocks_of(3, 2)),
              flash_attention(Q, K, V, blocks_of(3, 2)),
              note("keys and values were put in another order, both in the same: nothing may change"));
}

TEST(FlashAttentionStep1, FollowsPermutedQueries) {
  const arma::fcube Q = normal(5, 3, 2), K = normal(7, 3, 2), V = normal(7, 4, 2);
  const arma::uvec order = {2, 0, 3, 1, 4};
  const FlashResult result = flash_attention(Q, K, V, blocks_of(2, 3));
  expect_same(flash_attention(rows_of(Q, order), K, V, blocks_of(2, 3)),
              {rows_of(result.output, order), result.log_sum_exp.rows(order)},
              note("the queries were put in another order: output and log_sum_exp must follow them"));
}

TEST(FlashAttentionStep1, MergesByItsLogSumExp) {
  const arma::fcube Q = normal(5, 3, 2), K = normal(9, 3, 2), V = normal(9, 4, 2);
  const FlashOptions options = blocks_of(2, 3);
  const FlashResult whole = flash_attention(Q, K, V, options);
  for (const uword cut : {1U, 4U, 8U}) {
    const FlashResult a = flash_attention(Q, rows_of(K, 0, cut - 1), rows_of(V, 0, cut - 1), options);
    const FlashResult b = flash_attention(Q, rows_of(K, cut, 8), rows_of(V, cut, 8), options);
    const arma::fmat lse = arma::log(arma::exp(a.log_sum_exp) + arma::exp(b.log_sum_exp));
    FlashResult merged = {arma::fcube(5, 4, 2), lse};
    for (uword n = 0; n < 2; ++n) {
      merged.output.slice(n) = a.output.slice(n).each_col() % arma::exp(a.log_sum_exp.col(n) - lse.col(n)) +
                               b.output.slice(n).each_col() % arma::exp(b.log_sum_exp.col(n) - lse.col(n));
    }
    expect_same(merged, whole,
                note("the first " + std::to_string(cut) + " of 9 keys and the others, merged by their log_sum_exp"));
  }
}

TEST(FlashAttentionStep1, TreatsNoFiniteScoreAsBlocked) {
  const arma::fcube Q = arma::fcube(4, 4, 2).fill(131072), K = arma::fcube(7, 4, 2).fill(-131072);
  const arma::fcube V = normal(7, 5, 2);
  const Wanted wanted = naive_flash(0 * Q, K, V);
  EXPECT_THAT(flash_attention(Q, K, V, blocks_of(3, 2)).output, IsNear(wanted.output, output_axes, 1e-5))
      << note("all scores are -2^35, far below -1e9: each query takes the mean of the values");
}

TEST(FlashAttentionStep1, AcceptsExtremeScores) {
  arma::fcube Q(4, 4, 2, arma::fill::zeros), K(7, 4, 2, arma::fill::zeros);
  const arma::fcube V = normal(7, 5, 2);
  Q.tube(arma::span::all, arma::span(0)).fill(2);  // a score is the first number of its key: 2 * K / sqrt(4)
  for (const float unit : {10000.F, -10000.F, 1099511627776.F, -1099511627776.F}) {
    for (uword j = 0; j < 7; ++j) K.tube(j, 0).fill(unit * static_cast<float>(j + 1));
    const uword largest = unit > 0 ? 6 : 0;
    Wanted wanted = {arma::cube(4, 5, 2), arma::mat(4, 2)};
    for (uword n = 0; n < 2; ++n) {
      for (uword i = 0; i < 4; ++i) wanted.output.slice(n).row(i) = as_cube(V).slice(n).row(largest);
    }
    wanted.log_sum_exp.fill(K(largest, 0, 0));
    const FlashResult result = flash_attention(Q, K, V, blocks_of(3, 2));
    const std::string about = note("the scores of keys 0 to 6 are " + std::to_string(static_cast<long long>(unit)) +
                                   " times 1 to 7: key " + std::to_string(largest) + " has all the weight");
    EXPECT_THAT(result.output, IsNear(wanted.output, output_axes, 1e-6)) << about;
    EXPECT_THAT(result.log_sum_exp, IsNear(wanted.log_sum_exp, lse_axes, 1e-6))
        << note("log_sum_exp is the largest score, as the others add nothing") << about;
  }
}

TEST(FlashAttentionStep1, PassesOnANaN) {
  const arma::fcube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const auto expect = [&](const FlashResult& result, const Wanted& wanted, const std::string& about) {
    EXPECT_THAT(result.output, IsNear(wanted.output, output_axes, 1e-5)) << note(about);
    EXPECT_THAT(result.log_sum_exp, IsNear(wanted.log_sum_exp, lse_axes, 1e-5)) << note(about);
  };
  Wanted wanted = naive_flash(Q, K, V);
  arma::fcube with_nan = Q;
  with_nan(2, 1, 1) = nan;
  wanted.output.slice(1).row(2).fill(arma::datum::nan);
  wanted.log_sum_exp(2, 1) = arma::datum::nan;
  expect(flash_attention(with_nan, K, V, blocks_of(3, 2)), wanted,
         "query 2 of slice 1 holds a NaN: its row must be NaN, so that it is noticed, and no other");

  wanted = naive_flash(Q, K, V);
  with_nan = K;
  with_nan(2, 1, 1) = nan;
  wanted.output.slice(1).fill(arma::datum::nan);
  wanted.log_sum_exp.col(1).fill(arma::datum::nan);
  expect(flash_attention(Q, with_nan, V, blocks_of(3, 2)), wanted,
         "key 2 of slice 1 holds a NaN, and all queries see it: the slice must be NaN, and no other");
  std::memset(&with_nan(2, 1, 1), 0xff, sizeof(float));
  expect(flash_attention(Q, with_nan, V, blocks_of(3, 2)), wanted,
         "key 2 of slice 1 holds a NaN with all bits set, as memory that was never written may: the slice must be NaN");

  wanted = naive_flash(Q, K, V);
  with_nan = V;
  with_nan(2, 1, 1) = nan;
  wanted.output.slice(1).col(1).fill(arma::datum::nan);
  expect(flash_attention(Q, K, with_nan, blocks_of(3, 2)), wanted,
         "value 2 of slice 1 holds a NaN in col 1: that column of the slice must be NaN, and no other");
}

// ------------------------------------------------------------------- flash_attention, step 2 of 3: causal order, 19.4

TEST(FlashAttentionStep2, GivesTheExampleWorkedByHand) { expect_golden("by_hand", true); }

TEST(FlashAttentionStep2, EqualsPyTorchInCausalOrder) { expect_golden("causal", true); }

TEST(FlashAttentionStep2, EqualsPyTorchInCausalOrderWithMoreQueriesThanKeys) {
  expect_golden("causal_more_queries", true);
}

TEST(FlashAttentionStep2, IgnoresTheSizeOfItsBlocks) {
  expect_any_block_size(load_flash("causal", true));
  expect_any_block_size(load_flash("causal_more_queries", true));
}

TEST(FlashAttentionStep2, BlocksTheFuture) {
  const arma::fcube Q = normal(5, 4, 2), V = normal(8, 3, 2);
  arma::fcube K = normal(8, 4, 2);
  const FlashOptions options = blocks_of(2, 3, true);
  const FlashResult before = flash_attention(Q, K, V, options);
  for (uword n = 0; n < 2; ++n) K.slice(n).row(6) += 3;
  const FlashResult after = flash_attention(Q, K, V, options);
  EXPECT_THAT(rows_of(after.output, 0, 2), IsNear(as_cube(rows_of(before.output, 0, 2)), output_axes))
      << note("key 6 was changed, and queries 0, 1 and 2 may only see keys up to 3, 4 and 5");
}

TEST(FlashAttentionStep2, StartsAfresh) {
  const arma::fcube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  flash_attention(9 * normal(4, 3, 2), normal(7, 3, 2), normal(7, 5, 2), blocks_of(3, 2, true));
  expect_definition(Q, K, V, blocks_of(3, 2), note("a call with other arguments came before"));
}

// ------------------------------------------------- flash_attention, step 3 of 3: key lengths and grouped slices, 19.4

TEST(FlashAttentionStep3, EqualsPyTorchWithPadding) { expect_golden("padded"); }

TEST(FlashAttentionStep3, EqualsPyTorchInCausalOrderWithPadding) { expect_golden("causal_padded", true); }

TEST(FlashAttentionStep3, GivesZerosToAQueryWithoutKeys) {
  const FlashResult result =
      flash_attention(normal(5, 4, 6), normal(7, 4, 6), normal(7, 3, 6), blocks_of(2, 3, false, {0, 0, 0}));
  EXPECT_THAT(result.output, IsNear(arma::cube(5, 3, 6, arma::fill::zeros), output_axes));
  EXPECT_THAT(result.log_sum_exp, IsNear(arma::mat(arma::mat(5, 6).fill(-infinity)), lse_axes));
}

TEST(FlashAttentionStep3, EqualsPyTorchWithGroupedQueries) { expect_golden("grouped"); }

TEST(FlashAttentionStep3, EqualsPyTorchWithAllOfIt) { expect_golden("grouped_causal_padded", true); }

TEST(FlashAttentionStep3, IgnoresTheSizeOfItsBlocks) {
  expect_any_block_size(load_flash("grouped_causal_padded", true));
}

TEST(FlashAttentionStep3, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, D, Dv, B, H, G, query_block, key_block;
  };
  for (const Sizes& n : {Sizes{3, 5, 2, 4, 2, 6, 3, 2, 4},
                         {6, 4, 8, 3, 2, 5, 1, 4, 3},
                         {1, 7, 3, 2, 4, 2, 2, 5, 3},
                         {4, 1, 2, 3, 3, 2, 1, 3, 5},
                         {18, 3, 4, 2, 2, 1, 1, 16, 2},
                         {3, 18, 4, 5, 2, 6, 2, 2, 16},
                         {41, 39, 3, 4, 1, 4, 2, 32, 20},
                         {6, 4, 1, 2, 3, 2, 2, 4, 3},
                         {4, 6, 3, 1, 2, 3, 3, 3, 5},
                         {3, 5, 70, 71, 2, 2, 1, 2, 4},
                         {1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    const arma::fcube Q = 2 * normal(n.L, n.D, n.H * n.B), K = 2 * normal(n.S, n.D, n.G * n.B);
    const arma::fcube V = normal(n.S, n.Dv, n.G * n.B);
    const arma::uvec lengths = arma::randi<arma::uvec>(n.B, arma::distr_param(0, static_cast<int>(n.S)));
    for (const bool causal : {false, true}) {
      expect_definition(Q, K, V, blocks_of(n.query_block, n.key_block, causal));
      expect_definition(Q, K, V, blocks_of(n.query_block, n.key_block, causal, lengths));
    }
  }
}

TEST(FlashAttentionStep3, KeepsTheSlicesApart) {
  const arma::fcube Q = normal(4, 3, 12), K = normal(7, 3, 6), V = normal(7, 5, 6);  // B = 3, H = 4, G = 2
  const arma::uvec lengths = {6, 0, 4};
  const FlashResult together = flash_attention(Q, K, V, blocks_of(3, 2, true, lengths));
  for (uword n = 0; n < 12; ++n) {
    const FlashOptions alone = blocks_of(3, 2, true, {lengths(n / 4)});
    const uword kv = n / 2;
    const FlashResult one = flash_attention(Q.slices(n, n), K.slices(kv, kv), V.slices(kv, kv), alone);
    EXPECT_THAT(arma::fcube(together.output.slices(n, n)), IsNear(as_cube(one.output), output_axes))
        << note("this is slice " + std::to_string(n) + "; alone, the same slice gives what is wanted");
    EXPECT_THAT(arma::fmat(together.log_sum_exp.col(n)), IsNear(as_cube(one.log_sum_exp), lse_axes))
        << note("this is log_sum_exp of slice " + std::to_string(n));
  }
}

// ----------------------------------------------------------------------------- flash_attention, all three steps, 19.4

TEST(FlashAttention, LeavesItsArguments) {
  const arma::fcube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_leaves_its_arguments("flash_attention", {{"Q", Q}, {"K", K}, {"V", V}},
                              [&] { flash_attention(Q, K, V, blocks_of(3, 2)); });
}

TEST(FlashAttention, LeavesTheGeneratorAlone) {
  const arma::fcube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_leaves_the_generator_alone("flash_attention", [&] { flash_attention(Q, K, V, blocks_of(3, 2)); });
}

// ---------------------------------------------------------------------------------------- flash_attention, its work

/// One slice is judged, the last of 4: B = 2, H = 2, G = 1. Key lengths are those of its sequence; those of the
/// other one are S.
struct Tiles {
  uword L, S;
  FlashOptions options;

  static constexpr uword slice = 3, kv_slice = 1;

  bool sees(uword i, uword j) const {
    const bool there = options.key_lengths.is_empty() || j < options.key_lengths(1);
    return there && (!options.causal || j + L <= i + S);
  }
  uword query_blocks() const { return (L + options.query_block - 1) / options.query_block; }
  uword key_blocks() const { return (S + options.key_block - 1) / options.key_block; }
  arma::span queries(uword a) const {
    return arma::span(a * options.query_block, std::min(L, (a + 1) * options.query_block) - 1);
  }
  arma::span keys(uword t) const {
    return arma::span(t * options.key_block, std::min(S, (t + 1) * options.key_block) - 1);
  }
  /// Whether some query of block a sees some key of block t.
  bool needed(uword a, uword t) const {
    for (uword i = queries(a).a; i <= queries(a).b; ++i) {
      for (uword j = keys(t).a; j <= keys(t).b; ++j) {
        if (sees(i, j)) return true;
      }
    }
    return false;
  }
};

/// Sizes for which some tiles are seen by no query of their block.
std::vector<Tiles> tiles_to_skip() {
  return {{7, 11, blocks_of(2, 3, true)},         {12, 5, blocks_of(4, 2, true)},
          {6, 9, blocks_of(6, 1, true)},          {5, 11, blocks_of(2, 3, false, {11, 4})},
          {5, 7, blocks_of(2, 3, false, {7, 0})}, {8, 11, blocks_of(3, 2, true, {11, 6})}};
}

/// Whether a tile is computed: with numbers whose product overflows in this tile and in no other. The processor
/// remembers an overflow.
bool computes(const Tiles& n, uword a, uword t) {
  arma::fcube Q(n.L, 3, 4, arma::fill::zeros), K(n.S, 3, 2, arma::fill::zeros);
  const arma::fcube V(n.S, 2, 2, arma::fill::ones);
  Q(n.queries(a), arma::span(1), arma::span(n.slice)).fill(1e30F);
  K(n.keys(t), arma::span(1), arma::span(n.kv_slice)).fill(1e30F);
  std::feclearexcept(FE_OVERFLOW);
  flash_attention(Q, K, V, n.options);
  const bool computed = std::fetestexcept(FE_OVERFLOW) != 0;
  std::feclearexcept(FE_OVERFLOW);
  return computed;
}

/// Which tile is computed that no query needs; empty: none.
std::string needless_tile(const Tiles& n) {
  for (uword a = 0; a < n.query_blocks(); ++a) {
    for (uword t = 0; t < n.key_blocks(); ++t) {
      if (n.needed(a, t) || !computes(n, a, t)) continue;
      return "query block " + std::to_string(a) + " computed key block " + std::to_string(t) +
             ", of which none of its queries sees a key";
    }
  }
  return {};
}

/// Which mistake computes a needless tile. The cases without key lengths come first.
std::string likely_of_a_needless_tile(const Tiles& n) {
  Tiles square = n;
  square.options.query_block = square.options.key_block = std::min(n.options.query_block, n.options.key_block);
  if (needless_tile(square).empty()) return likely_mistake("blocks_ignored");  // the two sizes were mixed up
  return n.options.key_lengths.is_empty() ? likely_mistake("all_tiles") : likely_mistake("padding_computed");
}

TEST(FlashAttention, ComputesNoUnseenTile) {
  for (const Tiles& n : tiles_to_skip()) {
    const arma::fcube Q = normal(n.L, 3, 4), K = normal(n.S, 3, 2), V = normal(n.S, 2, 2);
    expect_definition(Q, K, V, n.options);
    if (HasFailure()) return;  // which query sees which key is wrong: other checks show that better
    const std::string needless = needless_tile(n);
    ASSERT_HOLDS(needless.empty(), needless)
        << note("the last of 4 slices, L = " + std::to_string(n.L) + ", S = " + std::to_string(n.S))
        << options_note(n.options) << note("or the tiles are not of the size asked for")
        << likely_of_a_needless_tile(n);
  }
}

TEST(FlashAttention, ReadsNoUnseenTile) {
  for (const Tiles& n : tiles_to_skip()) {
    const arma::fcube Q = normal(n.L, 3, 4), K = normal(n.S, 3, 2), V = normal(n.S, 2, 2);
    expect_definition(Q, K, V, n.options);
    if (HasFailure()) return;
    const arma::fcube wanted = flash_attention(Q, K, V, n.options).output;
    for (uword a = 0; a < n.query_blocks(); ++a) {
      arma::fcube K_nan = K, V_nan = V;
      for (uword t = 0; t < n.key_blocks(); ++t) {
        if (n.needed(a, t)) continue;
        K_nan(n.keys(t), arma::span::all, arma::span(n.kv_slice)).fill(nan);
        V_nan(n.keys(t), arma::span::all, arma::span(n.kv_slice)).fill(nan);
      }
      const arma::fcube output = flash_attention(Q, K_nan, V_nan, n.options).output;
      const uword first = n.queries(a).a, last = n.queries(a).b;
      ASSERT_THAT(arma::fcube(output(arma::span(first, last), arma::span::all, arma::span(n.slice))),
                  IsNear(as_cube(arma::fcube(wanted(arma::span(first, last), arma::span::all, arma::span(n.slice)))),
                         output_axes, 1e-5))
          << note("these are queries " + std::to_string(first) + " to " + std::to_string(last) +
                  " of the last of 4 slices; NaN was put into the key blocks of which none of them sees a key")
          << options_note(n.options) << likely_of_a_needless_tile(n);
    }
  }
}

// -------------------------------------------------------------------------------------- flash_attention, its memory

/// Bytes held at one time by flash_attention: D = 2, Dv = 3, one slice; or 4 (B = 2, H = 2), causal and padded.
std::size_t bytes_held(uword L, uword S, uword query_block, uword key_block, bool with_all) {
  const uword N = with_all ? 4 : 1;
  const arma::fcube Q = normal(L, 2, N), K = normal(S, 2, N), V = normal(S, 3, N);
  const FlashOptions options =
      with_all ? blocks_of(query_block, key_block, true, {S, S - 1}) : blocks_of(query_block, key_block);
  return peak_bytes([&] { flash_attention(Q, K, V, options); });
}

/// Queries or keys, or both, twice as many: what is held may grow by 16 numbers per token and slice: more than results,
/// lengths, packed copies of Q, K and V, and what the allocator rounds up take, but not by L x S.
void expect_few_bytes_more(uword L, uword S, uword L_twice, uword S_twice, uword query_block, uword key_block,
                           const std::string& also = "") {
  for (const bool with_all : {false, true}) {
    const std::size_t shorter = bytes_held(L, S, query_block, key_block, with_all);
    const std::size_t longer = bytes_held(L_twice, S_twice, query_block, key_block, with_all);
    const std::size_t more = longer > shorter ? longer - shorter : 0;
    const std::size_t allowed = std::max(L_twice - L, S_twice - S) * (with_all ? 4 : 1) * 16 * sizeof(float);
    EXPECT_TRUE(more <= allowed) << line("memory", bytes_text(longer) + " were held at one time, " + bytes_text(more) +
                                                       " more than for half the length, want at most " +
                                                       bytes_text(allowed) + " more")
                                 << note("L = " + std::to_string(L_twice) + ", S = " + std::to_string(S_twice) +
                                         ", query_block = " + std::to_string(query_block) +
                                         ", key_block = " + std::to_string(key_block) + also)
                                 << note(with_all ? "4 slices, causal, with key_lengths" : "one slice")
                                 << (with_all ? likely_mistake("whole_mask") : likely_mistake("whole_scores"));
    if (more > allowed) return;
  }
}

TEST(FlashAttention, HoldsNoMatrixOfQueriesTimesKeys) { expect_few_bytes_more(64, 64, 128, 128, 8, 16); }

TEST(FlashAttention, HoldsNoMatrixOfAQueryBlockTimesAllKeys) {
  expect_few_bytes_more(64, 128, 64, 256, 64, 16, ": also 64 x 256 is L x S");
}

TEST(FlashAttention, HoldsNoMatrixOfAllQueriesTimesAKeyBlock) {
  expect_few_bytes_more(128, 64, 256, 64, 16, 64, ": also 256 x 64 is L x S");
}

TEST(FlashAttention, HoldsTilesOfTheGivenSize) {
  const auto held = [](uword L, uword S, uword D, uword Dv, uword query_block, uword key_block) {
    const arma::fcube Q = normal(L, D, 1), K = normal(S, D, 1), V = normal(S, Dv, 1);
    return peak_bytes([&] { flash_attention(Q, K, V, blocks_of(query_block, key_block)); });
  };
  const bool computes = !flash_attention(normal(5, 4, 2), normal(7, 4, 2), normal(7, 3, 2)).output.is_zero();
  const auto expect_less = [&](std::size_t small, std::size_t large, const std::string& what) {
    EXPECT_TRUE(small <= large / 2) << line("memory", bytes_text(small) + " were held at one time, want at most " +
                                                          bytes_text(large / 2))
                                    << note(what + ", and " + bytes_text(large) + " with 128")
                                    << (computes && small > large / 10 * 9 ? likely_mistake("blocks_ignored") : "");
  };
  // Rows of D = 64 numbers: the copied tiles of Q, K and V are large, whatever is done with the scores.
  expect_less(held(8, 128, 64, 64, 8, 8), held(8, 128, 64, 64, 8, 128),
              "L = query_block = 8, S = 128, D = Dv = 64, key_block = 8");
  expect_less(held(128, 8, 64, 1, 8, 8), held(128, 8, 64, 1, 128, 8),
              "S = key_block = 8, L = 128, D = 64, Dv = 1, query_block = 8");
}

TEST(FlashAttention, CopiesNoKeyForEachHeadOfAGroup) {
  const arma::fcube Q = normal(2, 16, 24), K = normal(64, 16, 6), V = normal(64, 16, 6);  // B = 3, H = 8, G = 2
  const std::size_t whole = (K.n_elem + V.n_elem) * sizeof(float);
  const std::size_t held = peak_bytes([&] { flash_attention(Q, K, V, blocks_of(2, 16)); });
  EXPECT_TRUE(held <= whole / 2) << line("memory", bytes_text(held) + " were held at one time, want at most " +
                                                       bytes_text(whole / 2))
                                 << note("K and V have " + bytes_text(whole) +
                                         " together: heads of a group share them where they lie")
                                 << (held > 3 * whole ? likely_mistake("groups_copied") : "");
}

// ------------------------------------------------------------------------------------- flash_attention, bad input

TEST(FlashAttention, RejectsShapesThatDoNotFit) {
  const arma::fcube Q = normal(4, 3, 6), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const auto reject = [](const std::string& name, const std::vector<std::string>& words, const arma::fcube& q,
                         const arma::fcube& k, const arma::fcube& v) {
    EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] { flash_attention(q, k, v, blocks_of(3, 2)); });
  };
  reject("Q", {"0 x 0 x 0"}, arma::fcube(), K, V);
  reject("Q", {"0 x 3 x 6"}, arma::fcube(0, 3, 6), K, V);
  reject("Q", {"4 x 0 x 6"}, arma::fcube(4, 0, 6), arma::fcube(7, 0, 2), V);
  reject("Q", {"4 x 3 x 0"}, arma::fcube(4, 3, 0), arma::fcube(7, 3, 0), arma::fcube(7, 5, 0));
  reject("K", {"7 x 4 x 2", "3"}, Q, normal(7, 4, 2), V);
  reject("K", {"3 x 7 x 2", "3"}, Q, normal(3, 7, 2), V);
  reject("K", {"0 x 3 x 2"}, Q, arma::fcube(0, 3, 2), arma::fcube(0, 5, 2));
  reject("K", {"7 x 3 x 0"}, Q, arma::fcube(7, 3, 0), arma::fcube(7, 5, 0));
  reject("K", {"4", "6"}, Q, normal(7, 3, 4), normal(7, 5, 4));
  reject("K", {"12", "6"}, Q, normal(7, 3, 12), normal(7, 5, 12));
  reject("V", {"8 x 5 x 2", "7"}, Q, K, normal(8, 5, 2));
  reject("V", {"4 x 5 x 2", "7"}, Q, K, normal(4, 5, 2));
  reject("V", {"7 x 5 x 1", "2"}, Q, K, normal(7, 5, 1));
  reject("V", {"7 x 5 x 6", "2"}, Q, K, normal(7, 5, 6));
  reject("V", {"7 x 0 x 2"}, Q, K, arma::fcube(7, 0, 2));
}

TEST(FlashAttention, RejectsBlockSizesOfZero) {
  const auto with = [](uword query_block, uword key_block) {
    return
        [=] { flash_attention(normal(4, 3, 2), normal(7, 3, 2), normal(7, 5, 2), blocks_of(query_block, key_block)); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("query_block", {"0"}), with(0, 2));
  EXPECT_PRED_FORMAT1(RejectsArgument("key_block", {"0"}), with(3, 0));
}

TEST(FlashAttention, RejectsKeyLengthsThatDoNotFit) {
  for (const auto& [L, causal] : {std::pair<uword, bool>{4, false}, {9, true}}) {
    const auto with = [L = L, causal = causal](const arma::uvec& key_lengths) {
      return [=] {
        flash_attention(normal(L, 3, 12), normal(7, 3, 6), normal(7, 5, 6), blocks_of(3, 2, causal, key_lengths));
      };
    };
    const std::string slices =
        note("Q has 12 slices, K has 6: as many sequences as key_lengths has must share each of them evenly");
    EXPECT_PRED_FORMAT1(RejectsArgument("key_lengths", {"4", "6"}), with({1, 2, 3, 4})) << slices;
    EXPECT_PRED_FORMAT1(RejectsArgument("key_lengths", {"5", "6"}), with({1, 2, 3, 4, 5})) << slices;
    EXPECT_PRED_FORMAT1(RejectsArgument("key_lengths", {"12", "6"}), with(arma::uvec(12, arma::fill::ones))) << slices;
    EXPECT_PRED_FORMAT1(RejectsArgument("key_lengths", {"8", "7"}), with({1, 8, 3}));
    EXPECT_PRED_FORMAT1(RejectsArgument("key_lengths", {"9", "7"}), with({1, 2, 9}));
  }
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("flash attention in tiles of 32 x 32, 2 heads of 64 queries and 96 keys, D = 32, in float", [] {
  const arma::fcube Q(64, 32, 2, arma::fill::randn);
  const arma::fcube K(96, 32, 2, arma::fill::randn);
  const arma::fcube V(96, 32, 2, arma::fill::randn);
  return [Q, K, V] { return as_cube(flash_attention(Q, K, V, blocks_of(32, 32)).output); };
});

}  // namespace
}  // namespace attn::judge
