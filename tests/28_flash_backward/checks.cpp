#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <array>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention_backward.hpp"
#include "attn/flash_backward.hpp"
#include "checks/allocation.hpp"
#include "checks/differences.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const float nan = arma::fdatum::nan;
const Strings delta_axes = {"L", "N"};
const Strings weights_axes = {"Lb", "Sb"};
const Strings query_axes = {"L", "D", "H·B"};
const Strings key_axes = {"S", "D", "G·B"};
const Strings value_axes = {"S", "Dv", "G·B"};

arma::fmat normal(uword rows, uword cols) { return {rows, cols, arma::fill::randn}; }
arma::fcube normal(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::randn}; }
arma::fmat in_float(const arma::mat& x) { return arma::conv_to<arma::fmat>::from(x); }
arma::fcube in_float(const arma::cube& x) { return arma::conv_to<arma::fcube>::from(x); }
arma::mat in_double(const arma::fmat& x) { return arma::conv_to<arma::mat>::from(x); }
arma::cube zeros(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::zeros}; }

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

// ------------------------------------------------------------------------- the definition, one number at a time

/// Inputs of flash_backward, and what a right forward pass gives for them.
struct Problem {
  arma::fcube d_output, Q, K, V;
  FlashOptions options;
  FlashResult forward;

  uword kv_of(uword n) const { return n / (Q.n_slices / K.n_slices); }
  bool sees(uword n, uword i, uword j) const {
    const arma::uvec& lengths = options.key_lengths;
    if (!lengths.is_empty() && j >= lengths(n / (Q.n_slices / lengths.n_elem))) return false;
    return !options.causal || j + Q.n_rows <= i + K.n_rows;
  }
  FlashGradients gradients() const { return flash_backward(d_output, Q, K, V, forward, options); }
};

/// Sets `forward` by the definition in double, rounded to float: flash_backward is judged without the learner's lesson
/// 19. For scores of moderate size.
Problem with_forward(Problem x) {
  const uword L = x.Q.n_rows, S = x.K.n_rows, N = x.Q.n_slices;
  x.forward = {arma::fcube(L, x.V.n_cols, N), arma::fmat(L, N)};
  for (uword n = 0; n < N; ++n) {
    const uword kv = x.kv_of(n);
    for (uword i = 0; i < L; ++i) {
      double sum = 0;
      arma::rowvec output(x.V.n_cols, arma::fill::zeros);
      for (uword j = 0; j < S; ++j) {
        if (!x.sees(n, i, j)) continue;
        double product = 0;
        for (uword d = 0; d < x.Q.n_cols; ++d) product += static_cast<double>(x.Q(i, d, n)) * x.K(j, d, kv);
        const double exponential = std::exp(product / std::sqrt(static_cast<double>(x.Q.n_cols)));
        sum += exponential;
        for (uword d = 0; d < x.V.n_cols; ++d) output(d) += exponential * x.V(j, d, kv);
      }
      for (uword d = 0; d < x.V.n_cols; ++d) {
        x.forward.output(i, d, n) = sum > 0 ? static_cast<float>(output(d) / sum) : 0.F;
      }
      x.forward.log_sum_exp(i, n) = static_cast<float>(std::log(sum));
    }
  }
  return x;
}

Problem drawn(uword L, uword S, uword D, uword Dv, uword slices, uword kv_slices, const FlashOptions& options) {
  return with_forward(
      {normal(L, Dv, slices), normal(L, D, slices), normal(S, D, kv_slices), normal(S, Dv, kv_slices), options, {}});
}

/// What is wanted of flash_backward.
struct Wanted {
  arma::cube d_Q, d_K, d_V;
  double most = 0;  // the largest sum of weights that one key gets
};

Wanted naive_backward(const Problem& x) {
  const arma::cube Q = as_cube(x.Q), K = as_cube(x.K), V = as_cube(x.V), d_output = as_cube(x.d_output);
  const double root = std::sqrt(static_cast<double>(Q.n_cols));
  Wanted wanted = {zeros(Q.n_rows, Q.n_cols, Q.n_slices), zeros(K.n_rows, K.n_cols, K.n_slices),
                   zeros(V.n_rows, V.n_cols, V.n_slices), 0};
  arma::mat received(K.n_rows, K.n_slices, arma::fill::zeros);
  for (uword n = 0; n < Q.n_slices; ++n) {
    const uword kv = x.kv_of(n);
    for (uword i = 0; i < Q.n_rows; ++i) {
      arma::vec weights(K.n_rows, arma::fill::zeros), d_weights(K.n_rows, arma::fill::zeros);
      double largest = -arma::datum::inf;
      for (uword j = 0; j < K.n_rows; ++j) {
        for (uword d = 0; d < Q.n_cols; ++d) weights(j) += Q(i, d, n) * K(j, d, kv) / root;
        for (uword d = 0; d < V.n_cols; ++d) d_weights(j) += d_output(i, d, n) * V(j, d, kv);
        if (x.sees(n, i, j)) largest = std::max(largest, weights(j));
      }
      double sum = 0, mean = 0;
      for (uword j = 0; j < K.n_rows; ++j) {
        weights(j) = x.sees(n, i, j) ? std::exp(weights(j) - largest) : 0;
        sum += weights(j);
      }
      if (sum == 0) continue;
      weights /= sum;
      for (uword j = 0; j < K.n_rows; ++j) mean += weights(j) * d_weights(j);
      for (uword j = 0; j < K.n_rows; ++j) {
        const double d_score = weights(j) * (d_weights(j) - mean) / root;
        for (uword d = 0; d < V.n_cols; ++d) wanted.d_V(j, d, kv) += weights(j) * d_output(i, d, n);
        for (uword d = 0; d < Q.n_cols; ++d) {
          wanted.d_Q(i, d, n) += d_score * K(j, d, kv);
          wanted.d_K(j, d, kv) += d_score * Q(i, d, n);
        }
        received(j, kv) += weights(j);
      }
    }
  }
  wanted.most = received.max();
  return wanted;
}

// ----------------------------------------------------------------------- how near a result in float must be

double longest_row(const arma::cube& x) {
  double longest = 0;
  for (uword n = 0; n < x.n_slices; ++n) {
    for (uword i = 0; i < x.n_rows; ++i) longest = std::max(longest, arma::norm(x.slice(n).row(i)));
  }
  return longest;
}

const double u = std::ldexp(1.0, -24);  // the largest relative error of one rounding in float

/// By how much the backward pass in float may differ from the exact one over the same numbers, through rounding alone:
/// absolute bounds, for every order of summing up. Products of (1 + error) are added up as if errors were infinitely
/// small, as in checks/rounding.hpp. Norms are those of the longest rows.
///
/// - Score, at most `size` = |q| |k| / √D: a sum of D products, root, division:   (D + 3) u·size
/// - Weight. The log-sum-exp is at most size + log S, and was rounded to float: u (size + log S). Subtracting it from
///   the score rounds to u (2 size + log S). exp adds 4 u. All of that is relative:   e = u ((D + 6) size + 2 log S + 4)
/// - d_V. A sum of R products of a weight and a number of d_output, where the weights of a key add up to at most c:
///   (e + (R + 1) u)·c·|d_output|
/// - d_weight and delta, at most A = |d_output| |v| each: sums of Dv products, delta with an output that was rounded.
///   Their difference is at most 2 A, and rounded once more:   (2 Dv + 3) u·A absolute
/// - d_score = weight·difference / √D: weight·A (2 e + (2 Dv + 3) u + 2·(1 + 3) u) / √D
/// - d_Q, a sum over S keys, whose weights sum to one:   A |k| / √D·(2 e + (2 Dv + 11) u + 2 (S + 1) u)
/// - d_K, a sum over R queries:   A |q| / √D·(2 e + (2 Dv + 11) u + 2 (R + 1) u)·c
///
/// For the case "attention", D = 4, S = 8, R = 5, size = 7.7, A = 10, c = 1.9: 2.5e-4 for d_Q, 4.2e-4 for d_K, 3e-5 for
/// d_V. They are off by less than 5e-7.
struct Rounding {
  double weights, d_Q, d_K, d_V;
};

Rounding rounding_of(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const arma::cube& d_output,
                     double S, double terms, double most) {
  const double D = static_cast<double>(Q.n_cols), Dv = static_cast<double>(V.n_cols), root = std::sqrt(D);
  const double q = longest_row(Q), k = longest_row(K), A = longest_row(d_output) * longest_row(V);
  const double e = u * ((D + 6) * q * k / root + 2 * std::log(S) + 4);
  const double score = 2 * e + (2 * Dv + 11) * u;
  return {e, A * k / root * (score + 2 * (S + 1) * u), A * q / root * (score + 2 * (terms + 1) * u) * most,
          (e + (terms + 1) * u) * most * longest_row(d_output)};
}

Rounding rounding_of(const Problem& x, double most) {
  return rounding_of(as_cube(x.Q), as_cube(x.K), as_cube(x.V), as_cube(x.d_output), static_cast<double>(x.K.n_rows),
                     static_cast<double>(x.Q.n_rows * (x.Q.n_slices / x.K.n_slices)), most);
}

/// All three gradients, each with its tolerance. d_V comes first, as fewest steps lead to it.
void expect_gradients(const FlashGradients& got, Expected d_Q, Expected d_K, Expected d_V, const Rounding& rounding,
                      const std::string& about) {
  d_Q.tolerance = std::max(d_Q.tolerance, rounding.d_Q);
  d_K.tolerance = std::max(d_K.tolerance, rounding.d_K);
  d_V.tolerance = std::max(d_V.tolerance, rounding.d_V);
  EXPECT_THAT(got.d_V, Matches(d_V)) << note("d_V") << about;
  EXPECT_THAT(got.d_K, Matches(d_K)) << note("d_K") << about;
  EXPECT_THAT(got.d_Q, Matches(d_Q)) << note("d_Q") << about;
}
void expect_gradients(const FlashGradients& got, const Wanted& wanted, const Rounding& rounding,
                      const std::string& about) {
  expect_gradients(got, {wanted.d_Q, query_axes, 0}, {wanted.d_K, key_axes, 0}, {wanted.d_V, value_axes, 0}, rounding,
                   about);
}

/// That flash_backward gives what the definition does.
void expect_definition(const Problem& x, const std::string& about = "") {
  const Wanted wanted = naive_backward(x);
  expect_gradients(x.gradients(), wanted, rounding_of(x, wanted.most), options_note(x.options) + about);
}

Problem load_problem(const std::string& name, bool causal = false) {
  const GoldenCase golden = load_golden(name);
  const arma::uvec blocks = arma::conv_to<arma::uvec>::from(golden.rowvec("blocks"));
  arma::uvec key_lengths;
  if (golden.has("key_lengths")) key_lengths = arma::conv_to<arma::uvec>::from(golden.rowvec("key_lengths"));
  return {in_float(golden.cube("d_output")),
          in_float(golden.cube("Q")),
          in_float(golden.cube("K")),
          in_float(golden.cube("V")),
          blocks_of(blocks(0), blocks(1), causal, key_lengths),
          {in_float(golden.cube("output")), in_float(golden.mat("log_sum_exp"))}};
}

void expect_golden(const Problem& x, const GoldenCase& golden, const Rounding& rounding) {
  expect_gradients(x.gradients(), golden.expected("d_Q"), golden.expected("d_K"), golden.expected("d_V"), rounding,
                   options_note(x.options));
}
void expect_golden(const std::string& name, bool causal = false) {
  const Problem x = load_problem(name, causal);
  expect_golden(x, load_golden(name), rounding_of(x, naive_backward(x).most));
}

// ------------------------------------------------------------------------------------------------- row_dots, 28.1

/// `output` is at most this long in each row: (Dv + 1) roundings of each sum.
double rounding_of_dots(const arma::fcube& d_output, const arma::fcube& output) {
  return static_cast<double>(output.n_cols + 1) * u * longest_row(as_cube(d_output)) * longest_row(as_cube(output));
}

TEST(RowDots, HasOneNumberForEachQuery) {
  EXPECT_THAT(row_dots(normal(4, 5, 3), normal(4, 5, 3)), HasShape({{"L", 4}, {"N", 3}}));
}

TEST(RowDots, GivesTheExampleWorkedByHand) {
  const arma::mat wanted = arma::vec{2, 4.25};
  const Problem x = load_problem("by_hand", true);
  EXPECT_THAT(row_dots(x.d_output, x.forward.output), IsNear(wanted, delta_axes, 1e-6))
      << given("d_output", in_double(x.d_output.slice(0))) << given("output", in_double(x.forward.output.slice(0)));
}

TEST(RowDots, EqualsPyTorch) {
  const GoldenCase golden = load_golden("dots");
  const arma::fcube d_output = in_float(golden.cube("d_output")), output = in_float(golden.cube("output"));
  Expected delta = golden.expected("delta");
  delta.tolerance = 2 * rounding_of_dots(d_output, output);
  EXPECT_THAT(row_dots(d_output, output), Matches(delta))
      << note("expected: the sum of the weights times their gradients, over the keys; delta is the same without them");
}

TEST(RowDots, EqualsTheDefinitionForOtherSizes) {
  for (const auto& [L, Dv, N] :
       std::vector<std::array<uword, 3>>{{1, 4, 3}, {5, 1, 2}, {3, 6, 1}, {3, 3, 3}, {2, 70, 4}}) {
    const arma::fcube d_output = normal(L, Dv, N), output = normal(L, Dv, N);
    arma::mat wanted(L, N, arma::fill::zeros);
    for (uword n = 0; n < N; ++n) {
      for (uword i = 0; i < L; ++i) {
        for (uword d = 0; d < Dv; ++d) wanted(i, n) += static_cast<double>(d_output(i, d, n)) * output(i, d, n);
      }
    }
    EXPECT_THAT(row_dots(d_output, output), IsNear(wanted, delta_axes, rounding_of_dots(d_output, output)));
  }
}

TEST(RowDots, RejectsShapesThatDiffer) {
  const arma::fcube x = normal(4, 5, 3);
  EXPECT_PRED_FORMAT1(RejectsArgument("output", {"4 x 6 x 3", "5"}), [&] { row_dots(x, normal(4, 6, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("output", {"5 x 4 x 3", "4"}), [&] { row_dots(x, normal(5, 4, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("output", {"4 x 5 x 2", "3"}), [&] { row_dots(x, normal(4, 5, 2)); });
}

// --------------------------------------------------------------------------------------------- tile_weights, 28.2

/// A golden case of one tile.
struct Tile {
  QueryTile queries;
  arma::fmat K, V;
  arma::uvec visible;
  GoldenCase golden;

  arma::fmat weights() const { return tile_weights(queries.Q, K, queries.log_sum_exp, visible); }
  TileGradients empty() const {
    return {arma::fmat(arma::size(queries.Q), arma::fill::zeros), arma::fmat(arma::size(K), arma::fill::zeros),
            arma::fmat(arma::size(V), arma::fill::zeros)};
  }
  /// With S, the keys of all tiles, at most twice as many as there are here.
  Rounding rounding() const {
    const double Lb = static_cast<double>(queries.Q.n_rows), S = 2 * static_cast<double>(K.n_rows);
    return rounding_of(as_cube(queries.Q), as_cube(K), as_cube(V), as_cube(queries.d_output), S, Lb, Lb);
  }
};

Tile load_tile(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  const auto column = [&](const std::string& array) {
    return arma::fvec(arma::conv_to<arma::fvec>::from(golden.rowvec(array)));
  };
  return {{in_float(golden.mat("Q")), in_float(golden.mat("d_output")), column("log_sum_exp"), column("delta")},
          in_float(golden.mat("K")),
          in_float(golden.mat("V")),
          arma::conv_to<arma::uvec>::from(golden.rowvec("visible")),
          golden};
}

void expect_golden_weights(const std::string& name, const std::string& about) {
  const Tile tile = load_tile(name);
  Expected wanted = tile.golden.expected("weights");
  wanted.tolerance = tile.rounding().weights;
  EXPECT_THAT(tile.weights(), Matches(wanted)) << note(about);
}

/// Keys cut into tiles of Sb, of which query i sees the first seen(i); and the log-sum-exp over all of those.
struct Cut {
  arma::fmat Q, K;
  arma::uvec seen;
  arma::fvec log_sum_exp;
  arma::mat wanted;  // (L x S), of all tiles

  Cut(const arma::fmat& queries, const arma::fmat& keys, const arma::uvec& seen_keys)
      : Q(queries), K(keys), seen(seen_keys), log_sum_exp(Q.n_rows), wanted(Q.n_rows, K.n_rows, arma::fill::zeros) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      arma::vec scores(seen(i), arma::fill::zeros);
      for (uword j = 0; j < seen(i); ++j) {
        for (uword d = 0; d < Q.n_cols; ++d) scores(j) += static_cast<double>(Q(i, d)) * K(j, d);
        scores(j) /= std::sqrt(static_cast<double>(Q.n_cols));
      }
      log_sum_exp(i) = -arma::fdatum::inf;
      if (seen(i) == 0) continue;
      const double lse = scores.max() + std::log(arma::accu(arma::exp(scores - scores.max())));
      log_sum_exp(i) = static_cast<float>(lse);
      for (uword j = 0; j < seen(i); ++j) wanted(i, j) = std::exp(scores(j) - lse);
    }
  }
  /// What tile_weights gives for keys first to last.
  arma::fmat tile(uword first, uword last) const {
    arma::uvec visible = seen;
    for (uword& keys : visible) keys -= std::min(keys, first);
    return tile_weights(Q, K.rows(first, last), log_sum_exp, visible);
  }
  double rounding() const {
    return rounding_of(as_cube(Q), as_cube(K), as_cube(K), as_cube(Q), static_cast<double>(K.n_rows), 1, 1).weights;
  }
};

TEST(TileWeights, HasARowPerQueryAndAColumnPerKey) {
  EXPECT_THAT(tile_weights(normal(4, 3), normal(5, 3), arma::fvec(4, arma::fill::ones), {5, 5, 5, 5}),
              HasShape({{"Lb", 4}, {"Sb", 5}}));
}

TEST(TileWeights, GivesTheFirstTileWorkedByHand) {
  expect_golden_weights("tile_0_by_hand", "keys 0 and 1; the log-sum-exps are 2 log 2 and 3 log 2");
}

TEST(TileWeights, GivesTheSecondTileWorkedByHand) {
  expect_golden_weights("tile_1_by_hand", "keys 2 and 3, of which query 0 sees key 2 only");
}

TEST(TileWeights, EqualsPyTorch) {
  expect_golden_weights("tile", "keys 3 to 7 of 9: the rows sum to less than one");
  expect_golden_weights("tile_partly_visible", "query 1 sees no key at all, query 2 none of this tile, query 0 two");
}

TEST(TileWeights, SumsToOneOverAllTiles) {
  const Cut cut(normal(4, 3), normal(9, 3), {9, 9, 4, 7});
  const arma::fmat first = cut.tile(0, 4), second = cut.tile(5, 8);
  ASSERT_HOLDS(first.n_rows == 4 && first.n_cols == 5 && second.n_rows == 4 && second.n_cols == 4,
               "a tile has not the shape Lb x Sb: see the first check");
  EXPECT_THAT(in_double(arma::fmat(arma::sum(first, 1) + arma::sum(second, 1))),
              IsNear(arma::mat(4, 1, arma::fill::ones), {"Lb", "1"}, 1e-5))
      << note("the sums of the rows of two tiles, of 5 and of 4 keys, that hold all keys together");
}

TEST(TileWeights, GivesZerosToAQueryWithoutKeys) {
  const arma::fmat Q = normal(4, 3), K = normal(5, 3);
  const arma::fvec log_sum_exp = {1, -arma::fdatum::inf, 2, -arma::fdatum::inf};
  const arma::fmat weights = tile_weights(Q, K, log_sum_exp, {5, 0, 0, 0});
  ASSERT_THAT(weights, HasShape({{"Lb", 4}, {"Sb", 5}}));
  EXPECT_THAT(in_double(arma::fmat(weights.rows(1, 3))), IsNear(arma::mat(3, 5, arma::fill::zeros), weights_axes))
      << note("queries 1 to 3 see none of these keys; 1 and 3 see no key at all, so that their log_sum_exp is -inf");
}

TEST(TileWeights, TakesMoreThanTheBlockForAllOfIt) {
  const Cut cut(normal(4, 3), normal(6, 3), {6, 6, 5, 6});
  EXPECT_THAT(tile_weights(cut.Q, cut.K, cut.log_sum_exp, {6, 7, 5, 1000000}),
              IsNear(cut.wanted, weights_axes, cut.rounding()))
      << note("visible is 6, 7, 5, 1000000 for 6 keys");
}

TEST(TileWeights, StaysFiniteForLargeScores) {
  for (const float score : {80.F, -80.F, 1000.F, -1000.F}) {
    arma::fmat Q = normal(4, 4), K = normal(7, 4);
    Q.col(0).fill(32);
    K.col(0).fill(score / 16);
    const Cut cut(Q, K, {7, 7, 3, 5});
    EXPECT_THAT(cut.tile(2, 5), IsNear(arma::mat(cut.wanted.cols(2, 5)), weights_axes, cut.rounding()))
        << note("all scores are near " + std::to_string(static_cast<int>(score)) + ", and so is log_sum_exp");
  }
}

TEST(TileWeights, HidesABlockedKeyWhateverItsScore) {
  arma::fmat Q = normal(4, 4), K = normal(5, 4);
  Q.col(0).fill(32);
  K.col(0).zeros();
  K(4, 0) = 12.5F;  // a score of about 200, where exp is infinite
  const Cut cut(Q, K, {4, 4, 2, 3});
  const arma::fmat weights = cut.tile(0, 4);
  EXPECT_THAT(weights, IsNear(cut.wanted, weights_axes, cut.rounding()))
      << note("key 4 has a score of about 200, and no query sees it")
      << (weights.has_nan() ? likely_mistake("masked_by_a_product") : "");
}

TEST(TileWeights, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword Lb, S, D, Sb;
  };
  for (const Sizes& n : {Sizes{3, 7, 2, 2},
                         {4, 5, 8, 3},
                         {1, 6, 3, 4},
                         {5, 1, 2, 7},
                         {30, 9, 4, 3},
                         {2, 41, 3, 10},
                         {3, 4, 1, 5},
                         {3, 5, 80, 2},
                         {4, 8, 4, 4}}) {
    const Cut cut(1.5F * normal(n.Lb, n.D), normal(n.S, n.D),
                  arma::randi<arma::uvec>(n.Lb, arma::distr_param(0, static_cast<int>(n.S))));
    for (uword first = 0; first < n.S; first += n.Sb) {
      const uword last = std::min(first + n.Sb, n.S) - 1;
      EXPECT_THAT(cut.tile(first, last), IsNear(arma::mat(cut.wanted.cols(first, last)), weights_axes, cut.rounding()))
          << note("keys " + std::to_string(first) + " to " + std::to_string(last) + " of " + std::to_string(n.S));
    }
  }
}

TEST(TileWeights, PassesOnANaN) {
  arma::fmat Q = normal(4, 3);
  const arma::fmat K = normal(5, 3);
  Q(2, 1) = nan;
  const arma::fmat weights = tile_weights(Q, K, arma::fvec(4, arma::fill::ones), {5, 4, 5, 5});
  ASSERT_THAT(weights, HasShape({{"Lb", 4}, {"Sb", 5}}));
  EXPECT_HOLDS(arma::uvec(arma::find_nan(weights)).n_elem == 5 && weights.row(2).has_nan(),
               "query 2 holds a NaN: its weights must be NaN, and no others")
      << (weights.row(2).is_zero() && !weights.row(0).is_zero() ? likely_mistake("nan_hidden") : "");
}

TEST(TileWeights, RejectsShapesThatDoNotFit) {
  const arma::fmat Q = normal(4, 3), K = normal(6, 3);
  const arma::fvec ones(4, arma::fill::ones);
  const arma::uvec all = {6, 6, 6, 6};
  EXPECT_PRED_FORMAT1(RejectsArgument("K_block", {"6 x 2", "3"}), [&] { tile_weights(Q, normal(6, 2), ones, all); });
  EXPECT_PRED_FORMAT1(RejectsArgument("log_sum_exp", {"6 x 1", "4"}),
                      [&] { tile_weights(Q, K, arma::fvec(6, arma::fill::ones), all); });
  EXPECT_PRED_FORMAT1(RejectsArgument("visible", {"3 x 1", "4"}), [&] { tile_weights(Q, K, ones, {6, 6, 6}); });
}

// --------------------------------------------------------------------------------------- add_tile_gradients, 28.3

bool have_shapes_of(const TileGradients& sums, const Tile& tile) {
  return arma::size(sums.d_Q) == arma::size(tile.queries.Q) && arma::size(sums.d_K) == arma::size(tile.K) &&
         arma::size(sums.d_V) == arma::size(tile.V);
}

/// A tile's share, added to zeros.
TileGradients share_of(const Tile& tile) {
  TileGradients sums = tile.empty();
  add_tile_gradients(sums, tile.queries, tile.K, tile.V, tile.visible);
  return sums;
}

void expect_golden_tile(const std::string& name, const std::string& about) {
  const Tile tile = load_tile(name);
  const TileGradients sums = share_of(tile);
  const Rounding rounding = tile.rounding();
  Expected d_V = tile.golden.expected("d_V"), d_K = tile.golden.expected("d_K"), d_Q = tile.golden.expected("d_Q");
  d_V.tolerance = rounding.d_V, d_K.tolerance = rounding.d_K, d_Q.tolerance = rounding.d_Q;
  EXPECT_THAT(sums.d_V, Matches(d_V)) << note("d_V") << note(about);
  EXPECT_THAT(sums.d_K, Matches(d_K)) << note("d_K") << note(about);
  EXPECT_THAT(sums.d_Q, Matches(d_Q)) << note("d_Q: this tile's share") << note(about);
}

TEST(AddTileGradients, KeepsTheShapesOfItsSums) {
  const TileGradients sums = share_of(load_tile("tile"));
  EXPECT_THAT(sums.d_Q, HasShape({{"Lb", 4}, {"D", 3}})) << note("d_Q");
  EXPECT_THAT(sums.d_K, HasShape({{"Sb", 5}, {"D", 3}})) << note("d_K");
  EXPECT_THAT(sums.d_V, HasShape({{"Sb", 5}, {"Dv", 2}})) << note("d_V");
}

TEST(AddTileGradients, GivesTheFirstTileWorkedByHand) { expect_golden_tile("tile_0_by_hand", "keys 0 and 1"); }

TEST(AddTileGradients, GivesTheSecondTileWorkedByHand) {
  expect_golden_tile("tile_1_by_hand", "keys 2 and 3, of which query 0 sees key 2 only");
}

TEST(AddTileGradients, EqualsPyTorch) { expect_golden_tile("tile", "keys 3 to 7 of 9"); }

TEST(AddTileGradients, EqualsPyTorchForAPartlyVisibleTile) {
  expect_golden_tile("tile_partly_visible",
                     "keys 3 to 7 of 9; query 1 sees no key at all, query 2 none of this tile, query 0 two");
}

TEST(AddTileGradients, AddsToWhatIsThere) {
  const Tile tile = load_tile("tile");
  const TileGradients before = {normal(4, 3), normal(5, 3), normal(5, 2)}, share = share_of(tile);
  ASSERT_HOLDS(have_shapes_of(share, tile), "the sums have other shapes than before: see the first check");
  TileGradients sums = before;
  add_tile_gradients(sums, tile.queries, tile.K, tile.V, tile.visible);
  const std::string about = note("expected: what was there before, and what the tile adds to zeros");
  EXPECT_THAT(sums.d_V, IsNear(in_double(arma::fmat(before.d_V + share.d_V)), {"Sb", "Dv"}, 1e-5))
      << note("d_V") << about;
  EXPECT_THAT(sums.d_K, IsNear(in_double(arma::fmat(before.d_K + share.d_K)), {"Sb", "D"}, 1e-5))
      << note("d_K") << about;
  EXPECT_THAT(sums.d_Q, IsNear(in_double(arma::fmat(before.d_Q + share.d_Q)), {"Lb", "D"}, 1e-5))
      << note("d_Q") << about;
}

TEST(AddTileGradients, SubtractsTheDeltaThatItIsGiven) {
  Tile tile = load_tile("tile");
  const TileGradients sums = share_of(tile);
  tile.queries.delta.zeros();
  const TileGradients without = share_of(tile);
  ASSERT_HOLDS(have_shapes_of(sums, tile) && have_shapes_of(without, tile),
               "the sums have other shapes than before: see the first check");
  // without - sums = weights * delta, through the keys: a part that is linear in delta
  const arma::mat Q = in_double(tile.queries.Q), K = in_double(tile.K);
  arma::mat scaled = tile.golden.mat("weights");  // (Lb x Sb)
  scaled.each_col() %= arma::vec(tile.golden.rowvec("delta").t()) / std::sqrt(3.0);
  EXPECT_THAT(in_double(arma::fmat(without.d_Q - sums.d_Q)), IsNear(arma::mat(scaled * K), {"Lb", "D"}, 1e-4))
      << note("d_Q with a delta of zeros, less d_Q: weights times delta, times K, over the root of D");
  EXPECT_THAT(in_double(arma::fmat(without.d_K - sums.d_K)), IsNear(arma::mat(scaled.t() * Q), {"Sb", "D"}, 1e-4))
      << note("d_K with a delta of zeros, less d_K");
}

TEST(AddTileGradients, LeavesItsArguments) {
  const Tile tile = load_tile("tile");
  TileGradients sums = tile.empty();
  expect_leaves_its_arguments("add_tile_gradients",
                              {{"queries.Q", tile.queries.Q},
                               {"queries.d_output", tile.queries.d_output},
                               {"queries.log_sum_exp", tile.queries.log_sum_exp},
                               {"queries.delta", tile.queries.delta},
                               {"K_block", tile.K},
                               {"V_block", tile.V},
                               {"visible", tile.visible}},
                              [&] { add_tile_gradients(sums, tile.queries, tile.K, tile.V, tile.visible); });
}

TEST(AddTileGradients, RejectsPartsThatDoNotFit) {
  const Tile right = load_tile("tile");
  const auto reject = [&](const std::string& name, const Strings& words, const std::function<void(Tile&)>& change) {
    EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] {
      TileGradients sums = right.empty();
      Tile tile = right;
      change(tile);
      add_tile_gradients(sums, tile.queries, tile.K, tile.V, tile.visible);
    });
  };
  reject("V_block", {"6 x 2", "5"}, [](Tile& x) { x.V = normal(6, 2); });
  reject("d_output", {"4 x 3", "2"}, [](Tile& x) { x.queries.d_output = normal(4, 3); });
  reject("delta", {"5 x 1", "4"}, [](Tile& x) { x.queries.delta.ones(5); });
  reject("d_K", {"5 x 3", "6"}, [](Tile& x) {
    x.K = normal(6, 3);
    x.V = normal(6, 2);
  });
}

// ------------------------------------------------------------------------------------------- flash_backward, 28.4

TEST(FlashBackward, GivesEachInputAGradientOfItsShape) {
  const FlashGradients gradients = drawn(5, 7, 4, 3, 8, 2, blocks_of(2, 3)).gradients();
  EXPECT_THAT(gradients.d_Q, HasShape({{"L", 5}, {"D", 4}, {"H·B", 8}})) << note("d_Q");
  EXPECT_THAT(gradients.d_K, HasShape({{"S", 7}, {"D", 4}, {"G·B", 2}})) << note("d_K");
  EXPECT_THAT(gradients.d_V, HasShape({{"S", 7}, {"Dv", 3}, {"G·B", 2}})) << note("d_V");
}

TEST(FlashBackward, GivesTheExampleWorkedByHand) { expect_golden("by_hand", true); }

TEST(FlashBackward, EqualsPyTorch) { expect_golden("attention"); }

TEST(FlashBackward, EqualsPyTorchInCausalOrder) { expect_golden("causal", true); }

TEST(FlashBackward, EqualsPyTorchInCausalOrderWithMoreQueriesThanKeys) { expect_golden("causal_more_queries", true); }

TEST(FlashBackward, EqualsPyTorchWithPadding) { expect_golden("padded"); }

TEST(FlashBackward, EqualsPyTorchInCausalOrderWithPadding) { expect_golden("causal_padded", true); }

TEST(FlashBackward, EqualsPyTorchWithGroupedQueries) { expect_golden("grouped"); }

TEST(FlashBackward, EqualsPyTorchWithAllOfIt) { expect_golden("grouped_causal_padded", true); }

TEST(FlashBackward, AcceptsScoresFarAboveZero) { expect_golden("far_above"); }

TEST(FlashBackward, AcceptsScoresFarBelowZero) { expect_golden("far_below"); }

TEST(FlashBackward, IgnoresTheSizeOfItsBlocks) {
  for (const std::string name : {"attention", "causal", "causal_more_queries", "grouped_causal_padded"}) {
    const GoldenCase golden = load_golden(name);
    Problem x = load_problem(name, name != "attention");
    const Rounding rounding = rounding_of(x, naive_backward(x).most);
    const uword L = x.Q.n_rows, S = x.K.n_rows, largest = ~uword{0};
    const std::vector<std::pair<uword, uword>> sizes = {{1, 1}, {3, 3},  {16, 16},       {L, S},
                                                        {3, 1}, {1, 16}, {L - 1, S - 1}, {largest, largest}};
    for (const auto& [query_block, key_block] : sizes) {
      x.options.query_block = query_block;
      x.options.key_block = key_block;
      expect_golden(x, golden, rounding);
    }
  }
}

/// Lesson 24 in double, with keys and values repeated for each head of a group, and their gradients added up.
Wanted through_lesson_24(const Problem& x) {
  const uword N = x.Q.n_slices, group = N / x.K.n_slices;
  arma::cube K(x.K.n_rows, x.K.n_cols, N), V(x.V.n_rows, x.V.n_cols, N);
  Mask mask(x.Q.n_rows, x.K.n_rows, N);
  for (uword n = 0; n < N; ++n) {
    K.slice(n) = as_cube(x.K).slice(x.kv_of(n));
    V.slice(n) = as_cube(x.V).slice(x.kv_of(n));
    for (uword i = 0; i < mask.n_rows; ++i) {
      for (uword j = 0; j < mask.n_cols; ++j) mask(i, j, n) = x.sees(n, i, j) ? 1 : 0;
    }
  }
  const AttentionGradients each =
      attention_backward(as_cube(x.d_output), attention_forward(as_cube(x.Q), K, V, mask).kept);
  Wanted wanted = {each.d_Q, zeros(x.K.n_rows, x.K.n_cols, x.K.n_slices), zeros(x.V.n_rows, x.V.n_cols, x.V.n_slices),
                   naive_backward(x).most};
  for (uword n = 0; n < N; ++n) {
    wanted.d_K.slice(n / group) += each.d_K.slice(n);
    wanted.d_V.slice(n / group) += each.d_V.slice(n);
  }
  return wanted;
}

TEST(FlashBackward, EqualsLesson24) {
  for (const FlashOptions& options : {blocks_of(3, 4), blocks_of(4, 2, true, {6, 9})}) {
    const Problem x = drawn(7, 9, 3, 5, 12, 4, options);  // B = 2, H = 6, G = 2
    const Wanted wanted = through_lesson_24(x);
    expect_gradients(
        x.gradients(), wanted, rounding_of(x, wanted.most),
        options_note(options) + note("expected: attention_backward of lesson 24, in double and with whole matrices"));
  }
}

TEST(FlashBackward, EqualsTheDifferences) {
  const Problem x = drawn(3, 4, 2, 5, 2, 2, blocks_of(2, 3, true));
  Mask mask(3, 4, 1, arma::fill::ones);
  mask(0, 2, 0) = mask(0, 3, 0) = mask(1, 3, 0) = 0;
  const arma::cube Q = as_cube(x.Q), K = as_cube(x.K), V = as_cube(x.V), d_output = as_cube(x.d_output);
  const auto of_Q = [&](const arma::cube& moved) { return naive_attention(moved, K, V, mask); };
  const auto of_K = [&](const arma::cube& moved) { return naive_attention(Q, moved, V, mask); };
  const auto of_V = [&](const arma::cube& moved) { return naive_attention(Q, K, moved, mask); };
  expect_gradients(x.gradients(), gradient_by_differences(of_Q, d_output, Q, query_axes),
                   gradient_by_differences(of_K, d_output, K, key_axes),
                   gradient_by_differences(of_V, d_output, V, value_axes), rounding_of(x, naive_backward(x).most),
                   options_note(x.options) + note("expected: the slope of the loss in double, by differences"));
}

TEST(FlashBackward, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, D, Dv, B, H, G, query_block, key_block;
  };
  for (const Sizes& n : {Sizes{3, 5, 2, 4, 2, 6, 3, 2, 4},
                         {6, 4, 8, 3, 2, 5, 1, 4, 3},
                         {1, 7, 3, 2, 4, 2, 2, 5, 3},
                         {4, 1, 2, 3, 3, 2, 1, 3, 5},
                         {18, 3, 4, 2, 2, 1, 1, 16, 2},
                         {3, 18, 4, 5, 2, 6, 2, 2, 16},
                         {6, 4, 1, 2, 3, 2, 2, 4, 3},
                         {4, 6, 3, 1, 2, 3, 3, 3, 5},
                         {3, 5, 70, 71, 2, 2, 1, 2, 4},
                         {4, 4, 4, 4, 4, 4, 4, 2, 2}}) {
    const arma::uvec lengths = arma::randi<arma::uvec>(n.B, arma::distr_param(0, static_cast<int>(n.S)));
    for (const FlashOptions& options :
         {blocks_of(n.query_block, n.key_block, true), blocks_of(n.query_block, n.key_block, false, lengths)}) {
      expect_definition(
          drawn(n.L, n.S, n.D, n.Dv, n.H * n.B, n.G * n.B, options),
          note("B = " + std::to_string(n.B) + ", H = " + std::to_string(n.H) + ", G = " + std::to_string(n.G)));
    }
  }
}

TEST(FlashBackward, HasBlocksOf64ByDefault) {
  const Problem x = drawn(70, 67, 4, 3, 2, 2, {});
  const Wanted wanted = naive_backward(x);
  expect_gradients(flash_backward(x.d_output, x.Q, x.K, x.V, x.forward), wanted, rounding_of(x, wanted.most),
                   options_note(x.options));
}

TEST(FlashBackward, TakesWhatFlashAttentionGives) {
  Problem x = drawn(5, 8, 4, 3, 4, 2, blocks_of(2, 3, true));
  const Wanted wanted = naive_backward(x);
  x.forward = flash_attention(x.Q, x.K, x.V, blocks_of(4, 5, true));
  expect_gradients(
      x.gradients(), wanted, {0, 1e-3, 1e-3, 1e-3},
      note("forward comes from flash_attention of lesson 19, in blocks of 4 x 5; the backward pass in 2 x 3"));
}

TEST(FlashBackward, ComputesWithTheLogSumExpsThatItIsGiven) {
  Problem x = drawn(5, 8, 4, 3, 4, 2, blocks_of(2, 3, true));
  const Wanted wanted = naive_backward(x);
  x.forward.log_sum_exp += std::log(2.F);
  const FlashGradients got = x.gradients();
  const bool ignored = arma::size(got.d_V) == arma::size(x.V) && arma::abs(as_cube(got.d_V) - wanted.d_V).max() < 1e-3;
  expect_gradients(got, {wanted.d_Q / 2, wanted.d_K / 2, wanted.d_V / 2, 0}, {0, 1e-3, 1e-3, 1e-3},
                   note("log 2 was added to all of forward.log_sum_exp: all weights, and so all gradients, are half as "
                        "large") +
                       (ignored ? likely_mistake("forward_run_again") : ""));
}

TEST(FlashBackward, IsLinearInTheGradientOfTheOutput) {
  Problem x = drawn(5, 8, 4, 3, 4, 2, blocks_of(2, 3, true));
  Problem twice = x, other = x;
  other.d_output = normal(5, 3, 4);
  twice.d_output = 2 * x.d_output - other.d_output;
  const FlashGradients a = x.gradients(), b = other.gradients();
  ASSERT_HOLDS(arma::size(a.d_Q) == arma::size(x.Q) && arma::size(a.d_K) == arma::size(x.K) &&
                   arma::size(a.d_V) == arma::size(x.V),
               "the gradients have not the shapes of Q, K and V: see the first check");
  expect_gradients(twice.gradients(),
                   {2 * as_cube(a.d_Q) - as_cube(b.d_Q), 2 * as_cube(a.d_K) - as_cube(b.d_K),
                    2 * as_cube(a.d_V) - as_cube(b.d_V), 0},
                   {0, 1e-3, 1e-3, 1e-3}, note("d_output is 2 times one less another: so are the gradients"));
}

TEST(FlashBackward, GivesKeysGradientsThatSumToZero) {
  const FlashGradients gradients = drawn(5, 8, 4, 3, 4, 2, blocks_of(2, 3, true)).gradients();
  ASSERT_THAT(gradients.d_K, HasShape({{"S", 8}, {"D", 4}, {"G·B", 2}}));
  EXPECT_THAT(arma::cube(arma::sum(as_cube(gradients.d_K), 0)), IsNear(zeros(1, 4, 2), {"1", "D", "G·B"}, 1e-3))
      << note("the sum of the rows of d_K: the same vector added to all keys changes no weight");
}

TEST(FlashBackward, GivesZerosWhereNothingIsSeen) {
  const Problem x = drawn(8, 5, 4, 3, 4, 2, blocks_of(3, 2, true, {3, 0}));  // B = 2, H = 2, G = 1
  const FlashGradients gradients = x.gradients();
  ASSERT_THAT(gradients.d_Q, HasShape({{"L", 8}, {"D", 4}, {"H·B", 4}}));
  ASSERT_THAT(gradients.d_K, HasShape({{"S", 5}, {"D", 4}, {"G·B", 2}}));
  ASSERT_THAT(gradients.d_V, HasShape({{"S", 5}, {"Dv", 3}, {"G·B", 2}}));
  EXPECT_THAT(as_cube(rows_of(gradients.d_Q, {0, 1, 2})), IsNear(zeros(3, 4, 4), query_axes))
      << note("d_Q of queries 0 to 2: L = 8 and S = 5 in causal order, so that they see no key");
  EXPECT_THAT(as_cube(arma::fcube(gradients.d_Q.slices(2, 3))), IsNear(zeros(8, 4, 2), query_axes))
      << note("d_Q of sequence 1, whose key length is 0");
  EXPECT_THAT(as_cube(rows_of(gradients.d_K, {3, 4})), IsNear(zeros(2, 4, 2), key_axes))
      << note("d_K of padding: the key lengths are 3 and 0");
  EXPECT_THAT(as_cube(rows_of(gradients.d_V, {3, 4})), IsNear(zeros(2, 3, 2), value_axes)) << note("d_V of padding");
}

TEST(FlashBackward, ReadsNoPadding) {
  Problem x = drawn(5, 7, 4, 3, 4, 2, blocks_of(2, 3, false, {5, 4}));
  const Wanted wanted = naive_backward(x);
  x.K(arma::span(5, 6), arma::span::all, arma::span(0)).fill(nan);
  x.V(arma::span(5, 6), arma::span::all, arma::span(0)).fill(nan);
  x.K(arma::span(4, 6), arma::span::all, arma::span(1)).fill(nan);
  x.V(arma::span(4, 6), arma::span::all, arma::span(1)).fill(nan);
  expect_gradients(x.gradients(), wanted, {0, 1e-3, 1e-3, 1e-3},
                   options_note(x.options) + note("NaN was put into the keys and values from key_lengths on"));
}

TEST(FlashBackward, KeepsTheSlicesApart) {
  const arma::uvec lengths = {6, 0, 4};
  const Problem x = drawn(4, 7, 3, 5, 12, 6, blocks_of(3, 2, true, lengths));  // B = 3, H = 4, G = 2
  const FlashGradients together = x.gradients();
  ASSERT_THAT(together.d_K, HasShape({{"S", 7}, {"D", 3}, {"G·B", 6}}));
  for (uword kv = 0; kv < 6; ++kv) {
    const uword n = 2 * kv;  // its two heads
    const Problem one = {x.d_output.slices(n, n + 1),
                         x.Q.slices(n, n + 1),
                         x.K.slices(kv, kv),
                         x.V.slices(kv, kv),
                         blocks_of(3, 2, true, {lengths(kv / 2)}),
                         {x.forward.output.slices(n, n + 1), x.forward.log_sum_exp.cols(n, n + 1)}};
    const FlashGradients alone = one.gradients();
    const std::string about =
        note("key/value slice " + std::to_string(kv) + " and its two heads; expected: what they " + "give alone");
    EXPECT_THAT(arma::fcube(together.d_Q.slices(n, n + 1)), IsNear(as_cube(alone.d_Q), query_axes)) << about;
    EXPECT_THAT(arma::fcube(together.d_K.slices(kv, kv)), IsNear(as_cube(alone.d_K), key_axes)) << about;
    EXPECT_THAT(arma::fcube(together.d_V.slices(kv, kv)), IsNear(as_cube(alone.d_V), value_axes)) << about;
  }
}

TEST(FlashBackward, LeavesItsArguments) {
  const Problem x = drawn(4, 7, 3, 5, 4, 2, blocks_of(3, 2));
  expect_leaves_its_arguments("flash_backward",
                              {{"d_output", x.d_output},
                               {"Q", x.Q},
                               {"K", x.K},
                               {"V", x.V},
                               {"forward.output", x.forward.output},
                               {"forward.log_sum_exp", x.forward.log_sum_exp}},
                              [&] { x.gradients(); });
}

// ----------------------------------------------------------------------------------------- flash_backward, its work

/// One slice is judged, the last of 4: B = 2, H = 2, G = 1. Key lengths are those of its sequence; those of the other
/// one are S.
struct Tiles {
  uword L, S;
  FlashOptions options;

  static constexpr uword slice = 3, kv_slice = 1;

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
    const uword first = keys(t).a, last_query = queries(a).b;
    const bool there = options.key_lengths.is_empty() || first < options.key_lengths(1);
    return there && (!options.causal || first + L <= last_query + S);
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
  const arma::fcube V(n.S, 2, 2, arma::fill::zeros), nothing(n.L, 2, 4, arma::fill::zeros);
  Q(n.queries(a), arma::span(1), arma::span(n.slice)).fill(1e30F);
  K(n.keys(t), arma::span(1), arma::span(n.kv_slice)).fill(1e30F);
  std::feclearexcept(FE_OVERFLOW);
  flash_backward(nothing, Q, K, V, {nothing, arma::fmat(n.L, 4, arma::fill::zeros)}, n.options);
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

/// Which mistake computes a needless tile with these options.
std::string likely_from_needless_tile(const FlashOptions& options) {
  if (!options.causal) return likely_mistake("padding_computed");
  // in blocks of 64 x 64: who always uses that size computes no needless tile
  const bool skips = needless_tile({128, 128, blocks_of(64, 64, true)}).empty();
  if (!skips) return likely_mistake("all_tiles");
  const bool only_here = needless_tile(tiles_to_skip().front()).empty();  // so that it uses its blocks elsewhere
  return only_here ? "" : likely_mistake("blocks_ignored");
}

TEST(FlashBackward, ComputesNoUnseenTile) {
  for (const Tiles& n : tiles_to_skip()) {
    expect_definition(drawn(n.L, n.S, 3, 2, 4, 2, n.options));
    if (HasFailure()) return;  // which query sees which key is wrong: other checks show that better
    const std::string needless = needless_tile(n);
    ASSERT_HOLDS(needless.empty(), needless)
        << note("the last of 4 slices, L = " + std::to_string(n.L) + ", S = " + std::to_string(n.S))
        << options_note(n.options) << note("or the tiles are not of the size asked for")
        << likely_from_needless_tile(n.options);
  }
}

// --------------------------------------------------------------------------------------- flash_backward, its memory

/// Bytes held at one time by flash_backward: D = 2, Dv = 3, one slice; or 4 (B = 2, H = 2), causal and padded.
std::size_t bytes_held(uword L, uword S, uword query_block, uword key_block, bool with_all) {
  const uword N = with_all ? 4 : 1;
  const arma::fcube Q = normal(L, 2, N), K = normal(S, 2, N), V = normal(S, 3, N), d_output = normal(L, 3, N);
  const FlashResult forward = {normal(L, 3, N), normal(L, N)};
  const FlashOptions options =
      with_all ? blocks_of(query_block, key_block, true, {S, S - 1}) : blocks_of(query_block, key_block);
  return peak_bytes([&] { flash_backward(d_output, Q, K, V, forward, options); });
}

/// Queries or keys, or both, twice as many: what is held may grow by 24 numbers per token and slice, which is more than
/// twice what results and delta need, but not by L x S.
void expect_few_bytes_more(uword L, uword S, uword L_twice, uword S_twice, uword query_block, uword key_block,
                           const std::string& also = "") {
  for (const bool with_all : {false, true}) {
    const std::size_t shorter = bytes_held(L, S, query_block, key_block, with_all);
    const std::size_t longer = bytes_held(L_twice, S_twice, query_block, key_block, with_all);
    const std::size_t more = longer > shorter ? longer - shorter : 0;
    const std::size_t allowed = std::max(L_twice - L, S_twice - S) * (with_all ? 4 : 1) * 24 * sizeof(float);
    EXPECT_TRUE(more <= allowed) << line("memory", bytes_text(longer) + " were held at one time, " + bytes_text(more) +
                                                       " more than for half the length, want at most " +
                                                       bytes_text(allowed) + " more")
                                 << note("L = " + std::to_string(L_twice) + ", S = " + std::to_string(S_twice) +
                                         ", query_block = " + std::to_string(query_block) +
                                         ", key_block = " + std::to_string(key_block) + also)
                                 << note(with_all ? "4 slices, causal, with key_lengths" : "one slice")
                                 << likely_mistake("whole_weights");
    if (more > allowed) return;
  }
}

TEST(FlashBackward, HoldsNoMatrixOfQueriesTimesKeys) { expect_few_bytes_more(64, 64, 128, 128, 16, 32); }

TEST(FlashBackward, HoldsNoMatrixOfAQueryBlockTimesAllKeys) {
  expect_few_bytes_more(128, 128, 128, 256, 128, 32, ": also 128 x 256 is L x S");
}

TEST(FlashBackward, HoldsNoMatrixOfAllQueriesTimesAKeyBlock) {
  expect_few_bytes_more(128, 128, 256, 128, 32, 128, ": also 256 x 128 is L x S");
}

TEST(FlashBackward, CopiesNoKeyForEachHeadOfAGroup) {
  const arma::fcube Q = normal(2, 16, 48), K = normal(64, 16, 6), V = normal(64, 16, 6);  // B = 3, H = 16, G = 2
  const FlashResult forward = {normal(2, 16, 48), normal(2, 48)};
  const arma::fcube d_output = normal(2, 16, 48);
  const std::size_t whole = (K.n_elem + V.n_elem) * sizeof(float);
  const std::size_t held = peak_bytes([&] { flash_backward(d_output, Q, K, V, forward, blocks_of(2, 32)); });
  EXPECT_TRUE(held <= 2 * whole) << line("memory", bytes_text(held) + " were held at one time, want at most " +
                                                       bytes_text(2 * whole))
                                 << note("K and V have " + bytes_text(whole) + " together, and so have their " +
                                         "gradients: the heads of a group share them where they lie")
                                 << (held > 6 * whole ? likely_mistake("groups_copied") : "");
}

// ------------------------------------------------------------------------------------- flash_backward, bad input

TEST(FlashBackward, RejectsShapesThatDoNotFit) {
  const Problem right = drawn(4, 7, 3, 5, 6, 2, blocks_of(3, 2));
  const auto reject = [&](const std::string& name, const Strings& words, const std::function<void(Problem&)>& change) {
    EXPECT_PRED_FORMAT1(RejectsArgument(name, words), [&] {
      Problem x = right;
      change(x);
      x.gradients();
    });
  };
  reject("d_output", {"4 x 3 x 6", "5"}, [](Problem& x) { x.d_output = normal(4, 3, 6); });
  reject("output", {"4 x 5 x 2", "6"}, [](Problem& x) { x.forward.output = normal(4, 5, 2); });
  reject("log_sum_exp", {"6 x 4", "4 x 6"}, [](Problem& x) { x.forward.log_sum_exp = normal(6, 4); });
  reject("V", {"8 x 5 x 2", "7"}, [](Problem& x) { x.V = normal(8, 5, 2); });
  reject("key_block", {"0"}, [](Problem& x) { x.options.key_block = 0; });
}

// ---------------------------------------------------------------------------------- attention_backward_cost, 28.5

/// In the order of the fields; the first two count FLOPs, the others bytes.
arma::mat numbers_of(const BackwardCost& cost) {
  return arma::rowvec{cost.untiled_flops, cost.tiled_flops,  cost.untiled_bytes,
                      cost.tiled_bytes,   cost.untiled_kept, cost.tiled_kept};
}

const char* const cost_columns =
    "columns: untiled_flops (0), tiled_flops (1), untiled_bytes (2), tiled_bytes (3), untiled_kept (4), tiled_kept (5)";

void expect_golden_cost(const std::string& name) {
  const GoldenCase golden = load_golden(name);
  const arma::uvec sizes = arma::conv_to<arma::uvec>::from(golden.rowvec("sizes"));
  EXPECT_THAT(numbers_of(attention_backward_cost(sizes(0), sizes(1), sizes(2), sizes(3))),
              Matches(golden.expected("cost")))
      << note(cost_columns)
      << note("L = " + std::to_string(sizes(0)) + ", S = " + std::to_string(sizes(1)) +
              ", D = " + std::to_string(sizes(2)) + ", key_block = " + std::to_string(sizes(3)));
}

TEST(AttentionBackwardCost, CountsTheExampleOfTheChapter) { expect_golden_cost("cost_by_hand"); }

TEST(AttentionBackwardCost, CountsALongSequence) { expect_golden_cost("cost"); }

TEST(AttentionBackwardCost, CountsASingleQuery) { expect_golden_cost("cost_decode"); }

TEST(AttentionBackwardCost, CountsAShorterLastBlock) { expect_golden_cost("cost_uneven"); }

TEST(AttentionBackwardCost, CountsBeyondSixtyFourBits) {
  const double length = 4294967296.0;  // 2^32: the square of it is more than 64 bits hold
  const uword long_size = uword{1} << 32, largest = std::numeric_limits<uword>::max();
  const arma::mat wanted = arma::rowvec{32 * length * length,
                                        40 * length * length,
                                        4 * (32 * length + 7 * length * length),
                                        4 * 40 * length,
                                        4 * (12 * length + length * length),
                                        4 * 17 * length};
  EXPECT_THAT(numbers_of(attention_backward_cost(long_size, long_size, 4, largest)), IsNear(wanted, {"1", "6"}))
      << note(cost_columns) << note("L = S = 2^32, D = 4, one block of keys: count in double, integers overflow");
}

TEST(AttentionBackwardCost, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { attention_backward_cost(0, 5, 4, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("key_block", {"0"}), [] { attention_backward_cost(3, 5, 4, 0); });
}

// --------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("flash attention backward in tiles of 32 x 32, 2 heads of 64 queries and 96 keys, D = 32, in float", [] {
  const arma::fcube Q = normal(64, 32, 2), K = normal(96, 32, 2), V = normal(96, 32, 2), d_output = normal(64, 32, 2);
  const FlashResult forward = flash_attention(Q, K, V, blocks_of(32, 32));
  return [=] { return as_cube(flash_backward(d_output, Q, K, V, forward, blocks_of(32, 32)).d_Q); };
});

}  // namespace
}  // namespace attn::judge
