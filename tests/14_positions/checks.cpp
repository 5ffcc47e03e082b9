#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/positions.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;

const std::vector<std::string> token_axes = {"L", "E"};
const std::vector<std::string> rope_axes = {"L", "D", "N"};
const std::vector<std::string> scores_axes = {"L", "S", "N"};
const std::vector<std::string> bias_axes = {"L", "S", "H"};
const std::vector<std::string> weight_axes = {"in", "out"};
const std::vector<std::string> speeds_axes = {"1", "D/2"};

const std::vector<RopePairing> both_pairings = {RopePairing::interleaved, RopePairing::half_split};

std::string name_of(RopePairing pairing) { return pairing == RopePairing::interleaved ? "interleaved" : "half_split"; }

std::string about(RopePairing pairing, const std::string& sentence = {}) {
  return note("the pairing is " + name_of(pairing) + (sentence.empty() ? "" : "; " + sentence));
}

double number(uword n) { return static_cast<double>(n); }

/// The X of the chapter: three tokens, two of them equal.
arma::cube worked_by_hand() {
  arma::cube X(3, 4, 1);
  X.slice(0) = {{1, 2, 3, 4}, {1, 2, 3, 4}, {5, 0, 0, 2}};
  return X;
}

/// The definition of the sines and cosines, one number at a time.
arma::mat naive_sinusoid(uword L, uword E, uword first) {
  arma::mat result(L, E);
  for (uword i = 0; i < L; ++i) {
    for (uword c = 0; c < E; ++c) {
      const double angle = number(first + i) / std::pow(10000, number(c - c % 2) / number(E));
      result(i, c) = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return result;
}

/// Positions of L rows, the same for all slices: first, first + 1, ...
arma::umat from(uword first, uword L) {
  arma::umat positions(L, 1);
  for (uword i = 0; i < L; ++i) positions(i, 0) = first + i;
  return positions;
}

/// base^(-2p / D), one number at a time.
arma::rowvec plain_speeds(uword D, double base = 10000) {
  arma::rowvec speeds(D / 2);
  for (uword p = 0; p < D / 2; ++p) speeds(p) = 1 / std::pow(base, number(2 * p) / number(D));
  return speeds;
}

/// The definition of RoPE, one number at a time: each feature by itself and its partner.
arma::cube naive_rope(const arma::cube& X, RopePairing pairing, const arma::umat& positions = {},
                      const arma::rowvec& speeds = {}) {
  const uword D = X.n_cols;
  const bool interleaved = pairing == RopePairing::interleaved;
  const arma::rowvec turning = speeds.is_empty() ? plain_speeds(D) : speeds;
  arma::cube result(arma::size(X));
  for (uword c = 0; c < D; ++c) {
    const bool is_first = interleaved ? c % 2 == 0 : c < D / 2;
    const uword step = interleaved ? 1 : D / 2;
    const uword partner = is_first ? c + step : c - step;
    const uword pair = interleaved ? c / 2 : c % (D / 2);
    for (uword i = 0; i < X.n_rows; ++i) {
      for (uword n = 0; n < X.n_slices; ++n) {
        const uword position = positions.is_empty() ? i : positions(i, n * positions.n_cols / X.n_slices);
        const double angle = number(position) * turning(pair);
        const double sine = is_first ? -std::sin(angle) : std::sin(angle);
        result(i, c, n) = X(i, c, n) * std::cos(angle) + X(i, partner, n) * sine;
      }
    }
  }
  return result;
}

/// The positions of a golden case, a column for each sequence.
arma::umat positions_of(const GoldenCase& golden) {
  return arma::conv_to<arma::umat>::from(golden.mat("positions").t());
}

/// Within every head 0, 2, 4, ..., then 1, 3, 5, ...
arma::uvec even_then_odd(uword D, uword num_heads) {
  arma::uvec order(num_heads * D);
  for (uword c = 0; c < order.n_elem; ++c) {
    const uword inside = c % D;
    order(c) = c - inside + (inside < D / 2 ? 2 * inside : 2 * inside - D + 1);
  }
  return order;
}

/// The layer of a golden case, to be converted.
Linear projection(const GoldenCase& golden) { return golden.linear("proj"); }

/// PyTorch's turned X. The golden values say B and H, apply_rope N.
Expected turned_by_pytorch(const GoldenCase& golden, const std::string& array) {
  Expected expected = golden.expected(array);
  expected.axes = rope_axes;
  return expected;
}

/// Whether slice 0 alone is not that of another cube.
bool only_slice_zero_differs(const arma::cube& x, const arma::cube& other) {
  const auto same = [&](uword n) { return arma::approx_equal(x.slice(n), other.slice(n), "absdiff", 1e-12); };
  for (uword n = 1; n < x.n_slices; ++n) {
    if (!same(n)) return false;
  }
  return !same(0);
}

// --------------------------------------------------------------------------------------- sinusoidal_positions, 14.1

TEST(SinusoidalPositions, HasARowForEveryTokenAndAColumnForEveryFeature) {
  EXPECT_THAT(sinusoidal_positions(5, 6), HasShape({{"L", 5}, {"E", 6}}));
}

TEST(SinusoidalPositions, GivesTheThreeByFourWorkedByHand) {
  EXPECT_THAT(sinusoidal_positions(3, 4), Matches(load_golden("by_hand").expected("positions")));
}

TEST(SinusoidalPositions, BeginsWithZerosAndOnes) {
  EXPECT_THAT(sinusoidal_positions(1, 6), IsNear(arma::mat{{0, 1, 0, 1, 0, 1}}, token_axes))
      << note("at position 0 every angle is 0: the sines are 0, the cosines 1");
}

TEST(SinusoidalPositions, HasProductsThatDependOnlyOnTheDistance) {
  const arma::mat encoding = sinusoidal_positions(7, 8);
  ASSERT_THAT(encoding, HasShape({{"L", 7}, {"E", 8}}));
  const arma::mat later = sinusoidal_positions(7, 8, 20);
  ASSERT_THAT(later, HasShape({{"L", 7}, {"E", 8}}));
  const arma::mat products_of_rows = later * later.t();
  EXPECT_THAT(products_of_rows, IsNear(arma::mat(encoding * encoding.t()), {"L", "L"}))
      << note("the products of rows at positions 20, 21, ... must be those at 0, 1, ...");
}

TEST(SinusoidalPositions, ContinuesWhereAnEarlierCallStopped) {
  const arma::mat all = sinusoidal_positions(9, 6);
  ASSERT_THAT(all, HasShape({{"L", 9}, {"E", 6}}));
  EXPECT_THAT(sinusoidal_positions(4, 6, 5), IsNear(arma::mat(all.tail_rows(4)), token_axes))
      << note("four rows from first_position 5 must be the last four of nine rows from 0");
}

TEST(SinusoidalPositions, EqualsPyTorch) {
  EXPECT_THAT(sinusoidal_positions(5, 6), Matches(load_golden("sinusoid").expected("positions")));
}

TEST(SinusoidalPositions, EqualsPyTorchFromALaterPosition) {
  EXPECT_THAT(sinusoidal_positions(5, 6, 7), Matches(load_golden("sinusoid").expected("later")))
      << note("first_position is 7");
}

TEST(SinusoidalPositions, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, first;
  };
  for (const auto& [L, E, first_position] :
       {Sizes{3, 8, 0}, {8, 2, 3}, {1, 10, 0}, {1, 4, 9}, {70, 6, 0}, {2, 64, 5}, {1, 2, 0}}) {
    EXPECT_THAT(sinusoidal_positions(L, E, first_position), IsNear(naive_sinusoid(L, E, first_position), token_axes))
        << note("first_position is " + std::to_string(first_position));
  }
}

TEST(SinusoidalPositions, StaysExactAfterAHundredThousandTokens) {
  EXPECT_THAT(sinusoidal_positions(3, 8, 100000), Matches(load_golden("sinusoid").expected("far")))
      << note("first_position is 100000");
}

TEST(SinusoidalPositions, StartsAfresh) {
  sinusoidal_positions(4, 6, 9);
  sinusoidal_positions(8, 10);
  EXPECT_THAT(sinusoidal_positions(5, 6), Matches(load_golden("sinusoid").expected("positions")))
      << note("there were calls with other sizes before");
}

// ------------------------------------------------------------------------------------------------- apply_rope, 14.2

TEST(ApplyRope, KeepsTheShape) {
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(normal(5, 6, 4), pairing), HasShape({{"L", 5}, {"D", 6}, {"N", 4}})) << about(pairing);
  }
}

TEST(ApplyRope, GivesTheThreeByFourWorkedByHandInterleaved) {
  EXPECT_THAT(apply_rope(worked_by_hand(), RopePairing::interleaved),
              Matches(turned_by_pytorch(load_golden("by_hand"), "interleaved")));
}

TEST(ApplyRope, GivesTheThreeByFourWorkedByHandHalfSplit) {
  EXPECT_THAT(apply_rope(worked_by_hand(), RopePairing::half_split),
              Matches(turned_by_pytorch(load_golden("by_hand"), "half_split")));
}

TEST(ApplyRope, ChangesNothingAtPositionZero) {
  const arma::cube X = normal(1, 6, 4);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube turned = apply_rope(X, pairing);
    ASSERT_THAT(turned, HasShape({{"L", 1}, {"D", 6}, {"N", 4}}));
    EXPECT_THAT(apply_rope(X, pairing), IsNear(X, rope_axes))
        << about(pairing, "the only token is at position 0")
        << (only_slice_zero_differs(turned, zeros(1, 6, 4)) ? likely_mistake("rope_first_slice_only") : "");
  }
}

TEST(ApplyRope, ChangesEveryFeatureAtOtherPositions) {
  const arma::cube X(5, 6, 4, arma::fill::ones);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube turned = apply_rope(X, pairing, from(3, 5));
    ASSERT_THAT(turned, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    const bool as_from_zero = arma::approx_equal(turned, naive_rope(X, pairing), "absdiff", 1e-10);
    EXPECT_HOLDS(arma::abs(turned - 1).min() > 1e-6, "some features are as they were, at positions 3 to 7")
        << about(pairing) << (arma::abs(turned - 1).max() < 1e-12 ? likely_mistake("rope_not_turned") : "")
        << (only_slice_zero_differs(turned, X) ? likely_mistake("rope_first_slice_only") : "")
        << (as_from_zero ? likely_mistake("rope_positions_ignored") : "");
  }
}

TEST(ApplyRope, KeepsTheLengthOfEveryToken) {
  const arma::cube X = normal(5, 6, 4);
  const arma::cube wanted = arma::sum(arma::square(X), 1);  // (L x 1 x N)
  for (const RopePairing pairing : both_pairings) {
    const arma::cube turned = apply_rope(X, pairing);
    ASSERT_THAT(turned, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    const arma::cube squared_lengths = arma::sum(arma::square(turned), 1);
    EXPECT_THAT(squared_lengths, IsNear(wanted, {"L", "1", "N"}))
        << about(pairing, "these are the squared lengths of the rows: turning changes none");
  }
}

TEST(ApplyRope, GivesScoresThatDependOnlyOnTheDistance) {
  const arma::cube Q = normal(5, 6, 4);
  const arma::cube K = normal(7, 6, 4);
  const arma::cube without_positions = naive_scores(Q, K);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube first_Q = apply_rope(Q, pairing);
    ASSERT_THAT(first_Q, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    const arma::cube wanted = naive_scores(first_Q, apply_rope(K, pairing));
    const arma::cube later = naive_scores(apply_rope(Q, pairing, from(11, 5)), apply_rope(K, pairing, from(11, 7)));
    EXPECT_THAT(later, IsNear(wanted, scores_axes))
        << about(pairing, "all queries and keys were moved on by 11 positions: the scores must stay");
    EXPECT_HOLDS(!arma::approx_equal(without_positions, wanted, "absdiff", 1e-6),
                 "the scores are those without positions")
        << about(pairing)
        << (arma::approx_equal(first_Q, Q, "absdiff", 1e-12) ? likely_mistake("rope_not_turned") : "");
  }
}

TEST(ApplyRope, GivesEqualTokensAScoreForEachDistance) {
  arma::cube X = normal(6, 8, 2);
  X.each_slice([](arma::mat& slice) { slice.each_row() = arma::rowvec(slice.row(0)); });
  for (const RopePairing pairing : both_pairings) {
    const arma::cube turned = apply_rope(X, pairing);
    ASSERT_THAT(turned, HasShape({{"L", 6}, {"D", 8}, {"N", 2}}));
    const arma::cube scores = naive_scores(turned, turned);
    const arma::cube inner = scores.tube(0, 0, 4, 4);
    const arma::cube scores_one_further_on = scores.tube(1, 1, 5, 5);
    EXPECT_THAT(scores_one_further_on, IsNear(inner, scores_axes))
        << about(pairing, "all tokens are equal: row and column one further on must be the same score");
  }
}

TEST(ApplyRope, ContinuesWhereAnEarlierCallStopped) {
  const arma::cube X = normal(9, 6, 4);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube all = apply_rope(X, pairing);
    ASSERT_THAT(all, HasShape({{"L", 9}, {"D", 6}, {"N", 4}}));
    const arma::cube last_rows = X.rows(5, 8);
    EXPECT_THAT(apply_rope(last_rows, pairing, from(5, 4)), IsNear(arma::cube(all.rows(5, 8)), rope_axes))
        << about(pairing, "rows 5 to 8 alone, with the positions 5 to 8, must come out as in the whole");
  }
}

TEST(ApplyRope, GivesEachSequenceOfADecodedBatchItsOwnPosition) {
  const arma::cube X = normal(9, 8, 6);  // 2 sequences of 3 heads
  const arma::urowvec lengths = {7, 2};
  for (const RopePairing pairing : both_pairings) {
    const arma::cube all = apply_rope(X, pairing);
    ASSERT_THAT(all, HasShape({{"L", 9}, {"D", 8}, {"N", 6}}));
    arma::cube new_rows(1, 8, 6), expected(1, 8, 6);
    for (uword n = 0; n < 6; ++n) {
      new_rows.slice(n) = X.slice(n).row(lengths(n / 3));
      expected.slice(n) = all.slice(n).row(lengths(n / 3));
    }
    EXPECT_THAT(apply_rope(new_rows, pairing, lengths), IsNear(expected, rope_axes)) << about(
        pairing, "one new row for each head of 2 sequences, which have 7 and 2 tokens already: positions is 7 2");
  }
}

TEST(ApplyRope, KeepsTheSlicesApart) {
  const arma::cube X = normal(5, 6, 4);
  for (const RopePairing pairing : both_pairings) {
    const arma::cube together = apply_rope(X, pairing, from(2, 5));
    ASSERT_THAT(together, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
    expect_keeps_apart("slice", X.n_slices, together,
                       [&](uword n) { return apply_rope(arma::cube(X.slices(n, n)), pairing, from(2, 5)); });
  }
}

TEST(ApplyRope, ExchangesItsPairingsWithTheOrderOfTheColumns) {
  const arma::cube X = normal(5, 6, 4);
  const arma::uvec order = even_then_odd(6, 1);
  const arma::cube interleaved = apply_rope(X, RopePairing::interleaved);
  ASSERT_THAT(interleaved, HasShape({{"L", 5}, {"D", 6}, {"N", 4}}));
  const arma::cube in_order = reordered_columns(X, order);
  EXPECT_THAT(apply_rope(in_order, RopePairing::half_split), IsNear(reordered_columns(interleaved, order), rope_axes))
      << note("columns 0 2 4 1 3 5 with half_split must give those columns of what interleaved gives");
}

TEST(ApplyRope, EqualsPyTorch) {
  const GoldenCase golden = load_golden("rope");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing), Matches(turned_by_pytorch(golden, name_of(pairing))))
        << about(pairing);
  }
}

TEST(ApplyRope, EqualsPyTorchFromALaterPosition) {
  const GoldenCase golden = load_golden("rope");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing, from(7, 5)),
                Matches(turned_by_pytorch(golden, name_of(pairing) + "_later")))
        << about(pairing, "the positions are 7 to 11, for all slices");
  }
}

TEST(ApplyRope, EqualsPyTorchWithOtherSpeeds) {
  const GoldenCase golden = load_golden("rope");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing, {}, golden.rowvec("speeds")),
                Matches(turned_by_pytorch(golden, name_of(pairing) + "_speeds")))
        << about(pairing, "no positions are given, but speeds are: 1, 0.271 and 0.0737");
  }
}

TEST(ApplyRope, EqualsPyTorchWithPositionsOfEachSequence) {
  const GoldenCase golden = load_golden("batch");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing, positions_of(golden)),
                Matches(turned_by_pytorch(golden, name_of(pairing))))
        << about(pairing, "slices 0 to 2 have the positions 3 4 5 6 7, slices 3 to 5 have 0 1 12 2 40");
  }
}

TEST(ApplyRope, EqualsPyTorchWithPositionsAndSpeeds) {
  const GoldenCase golden = load_golden("batch");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing, positions_of(golden), golden.rowvec("speeds")),
                Matches(turned_by_pytorch(golden, name_of(pairing) + "_speeds")))
        << about(pairing, "each of 2 sequences has its positions; the speeds are given, too");
  }
}

TEST(ApplyRope, EqualsPyTorchWithOneColumnOfPositionsForAll) {
  const GoldenCase golden = load_golden("batch");
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(golden.cube("X"), pairing, arma::umat(positions_of(golden).col(1))),
                Matches(turned_by_pytorch(golden, name_of(pairing) + "_of_sequence_1")))
        << about(pairing, "all 6 slices have the positions 0 1 12 2 40");
  }
}

TEST(ApplyRope, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, D, N, M;
  };
  for (const auto& [L, D, N, M] :
       {Sizes{3, 8, 2, 1}, {7, 2, 6, 3}, {1, 6, 5, 5}, {70, 4, 2, 1}, {2, 64, 9, 3}, {4, 10, 12, 2}, {1, 2, 1, 1}}) {
    const arma::cube X = normal(L, D, N);
    const arma::umat positions = arma::randi<arma::umat>(L, M, arma::distr_param(0, 99));
    const arma::rowvec speeds(D / 2, arma::fill::randn);
    for (const RopePairing pairing : both_pairings) {
      EXPECT_THAT(apply_rope(X, pairing), IsNear(naive_rope(X, pairing), rope_axes)) << about(pairing);
      EXPECT_THAT(apply_rope(X, pairing, positions), IsNear(naive_rope(X, pairing, positions), rope_axes))
          << about(pairing, "positions is " + shape_text(positions));
      EXPECT_THAT(apply_rope(X, pairing, positions, speeds),
                  IsNear(naive_rope(X, pairing, positions, speeds), rope_axes))
          << about(pairing, "positions is " + shape_text(positions) + "; speeds are given, some below zero");
    }
  }
}

/// Here the tolerance of 1e-10 is relative to the numbers that are turned, which are in the millions. A rotation adds
/// two products that may nearly cancel, and an error of the angle acts on both.
///
/// That error depends on how the speed 10000^(-2p / D) is computed. u = 2^-53. std::pow is good to 2 u. For
/// exp(-2p · ln(10000) / D) the exponent e = 2p · ln(10000) / D has 4 roundings: an error of 4 e u, which is a relative
/// error of the speed. exp and the multiplication by the position add 3 u. So an angle at position 1e5 is off by at
/// most 1e5 exp(-e) (4 e + 3) u: 7.9e-12 for D = 6 and p = 1, and less for p = 2. Times √2 times the largest |X|, 3.5
/// million, a result is off by at most 4e-11 million. Speeds or angles in float are off by 1e-4 and more.
TEST(ApplyRope, StaysExactFarFromZeroAndAfterAHundredThousandTokens) {
  const GoldenCase golden = load_golden("rope");
  for (const RopePairing pairing : both_pairings) {
    const arma::cube in_millions = apply_rope(1e6 * golden.cube("X"), pairing, from(100000, 5)) / 1e6;
    EXPECT_THAT(in_millions, Matches(turned_by_pytorch(golden, name_of(pairing) + "_far")))
        << about(pairing, "the positions begin at 100000, X is in the millions; the values are divided by 1e6");
  }
}

TEST(ApplyRope, KeepsANaNInItsPair) {
  arma::cube X = normal(4, 6, 2);
  X(2, 3, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const RopePairing pairing : both_pairings) {
    EXPECT_THAT(apply_rope(X, pairing), IsNear(naive_rope(X, pairing), rope_axes))
        << about(pairing, "feature 3 of row 2 in slice 1 is NaN: it and its partner become NaN, and nothing else");
  }
}

TEST(ApplyRope, StartsAfresh) {
  const arma::cube X = normal(5, 6, 4);
  const auto same = [&](RopePairing pairing, const arma::umat& positions, const arma::rowvec& speeds) {
    EXPECT_THAT(apply_rope(X, pairing, positions, speeds), IsNear(naive_rope(X, pairing, positions, speeds), rope_axes))
        << about(pairing, "there were calls with other arguments before, and nothing of them may be left");
  };
  const arma::rowvec speeds = plain_speeds(6, 100);
  same(RopePairing::interleaved, {}, {});
  same(RopePairing::interleaved, from(3, 5), {});
  same(RopePairing::interleaved, from(3, 5), speeds);
  same(RopePairing::half_split, from(3, 5), speeds);
  apply_rope(normal(9, 8, 1), RopePairing::half_split, from(3, 9), plain_speeds(8, 100));
  same(RopePairing::half_split, from(3, 5), speeds);
  same(RopePairing::interleaved, {}, {});
}

TEST(ApplyRope, LeavesItsArguments) {
  const arma::cube X = normal(5, 6, 4);
  const arma::umat positions = arma::join_rows(from(2, 5), from(9, 5));
  const arma::rowvec speeds = plain_speeds(6, 100);
  expect_leaves_its_arguments("apply_rope", {{"X", X}, {"positions", positions}, {"speeds", speeds}}, [&] {
    for (const RopePairing pairing : both_pairings) apply_rope(X, pairing, positions, speeds);
  });
}

// --------------------------------------------------------------------------------------------- to_half_split, 14.3

TEST(ToHalfSplit, KeepsTheShapes) {
  const Linear converted = to_half_split(Linear(5, 18), 3);
  EXPECT_THAT(converted.weight, HasShape({{"in", 5}, {"out", 18}}));
  EXPECT_THAT(converted.bias, HasShape({{"1", 1}, {"out", 18}}));
}

TEST(ToHalfSplit, GivesTheTwelveColumnsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const Linear proj = projection(golden);
  const arma::mat converted = to_half_split(proj, 2).weight;
  ASSERT_THAT(converted, HasShape({{"in", 2}, {"out", 12}}));
  arma::mat head_1 = converted.tail_cols(6);
  head_1.each_col() -= arma::vec(proj.weight.col(0));
  ASSERT_THAT(to_half_split(proj, 2).weight, Matches(golden.expected("converted.weight")))
      << (head_1.is_zero() ? likely_mistake("convert_places_of_one_head") : "");
  EXPECT_THAT(to_half_split(proj, 2).bias, Matches(golden.expected("converted.bias")));
}

TEST(ToHalfSplit, KeepsAllScores) {
  const uword H = 2, D = 6;
  const arma::cube X = normal(5, 7, 3);
  const Linear query_proj(7, H * D), key_proj(7, H * D);
  const Linear half_query = to_half_split(query_proj, H), half_key = to_half_split(key_proj, H);
  ASSERT_THAT(half_query.weight, HasShape({{"in", 7}, {"out", H * D}}));
  ASSERT_THAT(half_query.bias, HasShape({{"1", 1}, {"out", H * D}}));
  const auto scores = [&](const Linear& query, const Linear& key, RopePairing pairing) {
    const auto heads = [&](const Linear& proj) {
      return naive_rope(naive_split_heads(naive_linear(X, proj.weight, proj.bias), H), pairing);
    };
    return naive_scores(heads(query), heads(key));
  };
  EXPECT_THAT(scores(half_query, half_key, RopePairing::half_split),
              IsNear(scores(query_proj, key_proj, RopePairing::interleaved), scores_axes))
      << note(
             "wanted are the scores of the two projections with interleaved pairs; got are those of the two converted "
             "ones with half-split pairs");
}

TEST(ToHalfSplit, EqualsPyTorch) {
  for (const auto& [name, num_heads] : {std::pair<const char*, uword>{"conversion", 3}, {"conversion_square", 2}}) {
    const GoldenCase golden = load_golden(name);
    const Linear proj = projection(golden);
    const std::string heads = note("num_heads is " + std::to_string(num_heads));
    ASSERT_THAT(to_half_split(proj, num_heads).weight, Matches(golden.expected("converted.weight"))) << heads;
    EXPECT_THAT(to_half_split(proj, num_heads).bias, Matches(golden.expected("converted.bias"))) << heads;
  }
}

TEST(ToHalfSplit, TakesAProjectionWithoutBias) {
  const Linear interleaved(5, 18, false);
  arma::rowvec bias = {1};
  const std::string threw = refusal([&] { bias = to_half_split(interleaved, 3).bias; });
  EXPECT_TRUE(threw.empty() && bias.is_empty())
      << (threw.empty() ? line("value", "the projection has no bias, what was returned has one") : line("threw", threw))
      << likely_mistake("convert_bias_demanded");
  EXPECT_THAT(to_half_split(interleaved, 3).weight,
              IsNear(arma::mat(interleaved.weight.cols(even_then_odd(6, 3))), weight_axes));
}

TEST(ToHalfSplit, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword in, D, H;
  };
  for (const auto& [in, D, num_heads] : {Sizes{3, 8, 2}, {6, 10, 1}, {1, 6, 5}, {2, 64, 3}, {70, 4, 6}}) {
    const Linear interleaved(in, num_heads * D);
    const arma::uvec order = even_then_odd(D, num_heads);
    const std::string heads = note("num_heads is " + std::to_string(num_heads));
    ASSERT_THAT(to_half_split(interleaved, num_heads).weight,
                IsNear(arma::mat(interleaved.weight.cols(order)), weight_axes))
        << heads;
    EXPECT_THAT(to_half_split(interleaved, num_heads).bias,
                IsNear(arma::mat(interleaved.bias.cols(order)), {"1", "out"}))
        << heads;
  }
}

TEST(ToHalfSplit, ChangesNothingInHeadsOfTwoFeatures) {
  const Linear interleaved(3, 8);
  EXPECT_THAT(to_half_split(interleaved, 4).weight, IsNear(interleaved.weight, weight_axes))
      << note("with D = 2 there is one pair per head, the same in both pairings");
}

TEST(ToHalfSplit, LeavesItsArguments) {
  const Linear interleaved(5, 12);
  const Projections before = {{"interleaved", interleaved}};
  to_half_split(interleaved, 2);
  expect_unchanged(before, {{"interleaved", interleaved}}, "to_half_split");
}

// ---------------------------------------------------------------------------------------------- alibi_slopes, 14.4

TEST(AlibiSlopes, HasOneForEachHead) {
  EXPECT_THAT(alibi_slopes(8), HasShape({{"1", 1}, {"H", 8}}));
  const std::string threw = refusal([] { alibi_slopes(6); });
  ASSERT_TRUE(threw.empty()) << line("threw", threw + ", for 6 heads") << likely_mistake("slopes_power_demanded");
  EXPECT_THAT(alibi_slopes(6), HasShape({{"1", 1}, {"H", 6}}));
}

TEST(AlibiSlopes, GivesTheEightOfThePaper) {
  const arma::mat wanted = {{1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256}};
  EXPECT_THAT(alibi_slopes(8), IsNear(wanted, {"1", "H"}));
}

TEST(AlibiSlopes, GivesTheTwoWorkedByHand) {
  EXPECT_THAT(alibi_slopes(2), Matches(load_golden("by_hand").expected("slopes_2")));
}

TEST(AlibiSlopes, EqualsPyTorchForPowersOfTwo) {
  const GoldenCase golden = load_golden("alibi");
  for (const uword H : {4U, 16U, 1U, 2U, 8U}) {
    EXPECT_THAT(alibi_slopes(H), Matches(golden.expected("slopes_" + std::to_string(H))))
        << note("H is " + std::to_string(H));
  }
}

TEST(AlibiSlopes, EqualsPyTorchForOtherNumbersOfHeads) {
  const GoldenCase golden = load_golden("alibi");
  for (const uword H : {6U, 12U, 3U, 5U}) {  // first those that distinguish the mistakes
    EXPECT_THAT(alibi_slopes(H), Matches(golden.expected("slopes_" + std::to_string(H))))
        << note("H is " + std::to_string(H));
  }
}

TEST(AlibiSlopes, HasDifferentSlopesBetweenZeroAndOne) {
  for (const uword H : {7U, 20U, 40U, 71U, 112U}) {
    const arma::rowvec slopes = alibi_slopes(H);
    ASSERT_THAT(slopes, HasShape({{"1", 1}, {"H", H}}));
    const arma::rowvec sorted = arma::sort(slopes);
    EXPECT_HOLDS(sorted.min() > 0 && sorted.max() < 1 && arma::diff(sorted).min() > 1e-6,
                 "the slopes for " + std::to_string(H) + " heads do not all differ, or one is not below 1");
  }
}

// ------------------------------------------------------------------------------------------------ alibi_bias, 14.5

TEST(AlibiBias, HasASliceForEachHead) {
  EXPECT_THAT(alibi_bias(6, 4, 5), HasShape({{"L (queries)", 4}, {"S (keys)", 5}, {"H", 6}}));
}

TEST(AlibiBias, GivesTheTwoByThreeWorkedByHand) {
  EXPECT_THAT(alibi_bias(2, 2, 3), Matches(load_golden("by_hand").expected("alibi")));
}

TEST(AlibiBias, IsZeroForAQueryAndItsOwnKey) {
  const arma::cube bias = alibi_bias(4, 3, 5);
  ASSERT_THAT(bias, HasShape({{"L (queries)", 3}, {"S (keys)", 5}, {"H", 4}}));
  for (uword i = 0; i < 3; ++i) {
    const arma::cube bias_of_own_key = bias.tube(i, i + 2);
    EXPECT_THAT(bias_of_own_key, IsNear(zeros(1, 1, 4), bias_axes))
        << note("query " + std::to_string(i) + " of 3 is at position " + std::to_string(i + 2) + " of 5 keys");
  }
}

TEST(AlibiBias, GivesTheLastQueryWhatItGetsInAFullPass) {
  const arma::cube all = alibi_bias(3, 7, 7);
  ASSERT_THAT(all, HasShape({{"L (queries)", 7}, {"S (keys)", 7}, {"H", 3}}));
  EXPECT_THAT(alibi_bias(3, 1, 7), IsNear(arma::cube(all.row(6)), bias_axes))
      << note("one query with 7 keys is the last of 7: it must get the last row of 7 x 7");
}

TEST(AlibiBias, EqualsPyTorch) { EXPECT_THAT(alibi_bias(6, 4, 5), Matches(load_golden("alibi").expected("alibi"))); }

TEST(AlibiBias, EqualsPyTorchWithAsManyKeysAsQueries) {
  EXPECT_THAT(alibi_bias(3, 4, 4), Matches(load_golden("alibi").expected("alibi_square")));
}

TEST(AlibiBias, EqualsPyTorchWithFewerKeysThanQueries) {
  EXPECT_THAT(alibi_bias(2, 5, 3), Matches(load_golden("alibi").expected("alibi_more_queries")));
}

TEST(AlibiBias, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword H, L, S;
  };
  for (const auto& [H, L, S] : {Sizes{4, 3, 6}, {5, 6, 2}, {2, 1, 70}, {3, 70, 4}, {8, 5, 1}, {1, 1, 1}}) {
    const arma::rowvec slopes = alibi_slopes(H);
    arma::cube wanted(L, S, H);
    for (uword i = 0; i < L; ++i) {
      for (uword j = 0; j < S; ++j) {
        for (uword h = 0; h < H; ++h) wanted(i, j, h) = slopes(h) * (number(j) - number(S) + number(L) - number(i));
      }
    }
    EXPECT_THAT(alibi_bias(H, L, S), IsNear(wanted, bias_axes));
  }
}

TEST(AlibiBias, StartsAfresh) {
  alibi_bias(4, 4, 5);
  alibi_bias(6, 5, 4);
  EXPECT_THAT(alibi_bias(6, 4, 5), Matches(load_golden("alibi").expected("alibi")))
      << note("there were calls with other sizes before");
}

// ----------------------------------------------------------------------------------------------- rope_speeds, 14.6

using Method = RopeScaling::Method;

/// What is asked of rope_speeds; `name` is that of an array of golden values, or of the method.
struct Asked {
  std::string name;
  uword D;
  double base;
  RopeScaling scaling;
};

RopeScaling scaled(Method method, double factor, uword trained = 0) {
  RopeScaling scaling;
  scaling.method = method;
  scaling.factor = factor;
  scaling.original_max_position_embeddings = trained;
  return scaling;
}

RopeScaling yarn_with(double factor, uword trained, double beta_fast, double beta_slow) {
  RopeScaling scaling = scaled(Method::yarn, factor, trained);
  scaling.beta_fast = beta_fast;
  scaling.beta_slow = beta_slow;
  return scaling;
}

RopeScaling llama3_with(double factor, uword trained, double low_freq_factor, double high_freq_factor) {
  RopeScaling scaling = scaled(Method::llama3, factor, trained);
  scaling.low_freq_factor = low_freq_factor;
  scaling.high_freq_factor = high_freq_factor;
  return scaling;
}

/// The five methods of the chapter: D = 8, trained on 2048 tokens, texts 4 times as long.
std::vector<Asked> asked_by_hand() {
  return {{"none", 8, 10000, {}},
          {"position_interpolation", 8, 10000, scaled(Method::position_interpolation, 4)},
          {"ntk_aware", 8, 10000, scaled(Method::ntk_aware, 4)},
          {"yarn", 8, 10000, scaled(Method::yarn, 4, 2048)},
          {"llama3", 8, 10000, scaled(Method::llama3, 4, 2048)}};
}

/// The definition, from wavelengths instead of turns, one pair at a time.
double naive_speed(uword p, const Asked& asked) {
  const RopeScaling& scaling = asked.scaling;
  const double D = number(asked.D), s = scaling.factor;
  const double T = number(scaling.original_max_position_embeddings);
  const double wavelength = 2 * arma::datum::pi * std::pow(asked.base, number(2 * p) / D);
  const double speed = 2 * arma::datum::pi / wavelength;
  const auto between = [&](double slowed_down) {
    const double part = std::min(std::max(slowed_down, 0.0), 1.0);
    return speed * (1 - part) + speed / s * part;
  };
  if (scaling.method == Method::position_interpolation) return speed / s;
  if (scaling.method == Method::ntk_aware) return speed * std::pow(s, -number(2 * p) / (D - 2));
  if (scaling.method == Method::llama3) {
    const double most = scaling.high_freq_factor;
    return between((most - T / wavelength) / (most - scaling.low_freq_factor));
  }
  if (scaling.method == Method::yarn) {
    const auto place = [&](double turns) {  // of the pair whose wavelength is T / turns
      return D / 2 * std::log(T / turns / 2 / arma::datum::pi) / std::log(asked.base);
    };
    const double low = std::max(std::floor(place(scaling.beta_fast)), 0.0);
    const double high = std::min(std::ceil(place(scaling.beta_slow)), D - 1);
    return between((number(p) - low) / (high > low ? high - low : 0.001));
  }
  return speed;
}

arma::rowvec naive_speeds(const Asked& asked) {
  arma::rowvec speeds(asked.D / 2);
  for (uword p = 0; p < speeds.n_elem; ++p) speeds(p) = naive_speed(p, asked);
  return speeds;
}

arma::rowvec speeds_for(const Asked& asked) { return rope_speeds(asked.D, asked.base, asked.scaling); }

/// In radians per 100 000 tokens, so that the tolerance means something for slow pairs too.
arma::mat far_angles(const arma::rowvec& speeds) { return 1e5 * speeds; }

std::string angles_for(const std::string& sentence) {
  return note(sentence + "; these are the speeds times 100 000, the angles of that position");
}

TEST(RopeSpeeds, HasOneForEachPair) {
  for (const Asked& asked : asked_by_hand()) {
    EXPECT_THAT(speeds_for(asked), HasShape({{"1", 1}, {"D/2", 4}})) << note("the method is " + asked.name);
  }
}

TEST(RopeSpeeds, GivesTheFourOfEachMethodWorkedByHand) {
  const GoldenCase golden = load_golden("scaling_by_hand");
  for (const Asked& asked : asked_by_hand()) {
    Expected expected = golden.expected(asked.name);
    expected.axes = speeds_axes;
    EXPECT_THAT(speeds_for(asked), Matches(expected)) << note("the method is " + asked.name);
  }
}

TEST(RopeSpeeds, AreThoseOfTrainingForAFactorOfOne) {
  for (Asked asked : asked_by_hand()) {
    asked.scaling.factor = 1;
    EXPECT_THAT(far_angles(speeds_for(asked)), IsNear(far_angles(plain_speeds(8)), speeds_axes))
        << angles_for("factor is 1, the method " + asked.name);
  }
}

TEST(RopeSpeeds, KeepFastPairsAndSlowDownSlowOnes) {
  const std::vector<Asked> all = {{"ntk_aware", 32, 5000, scaled(Method::ntk_aware, 6)},
                                  {"yarn", 32, 5000, scaled(Method::yarn, 6, 2000)},
                                  {"llama3", 32, 5000, scaled(Method::llama3, 6, 2000)}};
  for (const Asked& asked : all) {
    const arma::rowvec speeds = speeds_for(asked);
    ASSERT_THAT(speeds, HasShape({{"1", 1}, {"D/2", 16}}));
    const arma::rowvec slower = plain_speeds(32, 5000) / speeds;  // how many times
    const arma::rowvec ends = {slower.front(), slower.back()};
    EXPECT_THAT(ends, IsNear(arma::mat{{1, 6}}, {"1", "ends"})) << note(
        "the method is " + asked.name + "; pair 0 keeps its speed, the last pair becomes factor = 6 times slower");
    EXPECT_HOLDS(arma::diff(slower).min() > -1e-12, "a pair is slowed down more than the slower pair after it")
        << note("the method is " + asked.name);
  }
}

TEST(RopeSpeeds, EqualPyTorchForTheSettingsOfModels) {
  const GoldenCase golden = load_golden("scaling");
  const std::vector<Asked> all = {{"llama_3_1", 128, 500000, scaled(Method::llama3, 8, 8192)},
                                  {"llama_3_2", 64, 500000, scaled(Method::llama3, 32, 8192)},
                                  {"qwen_2_5", 128, 1000000, scaled(Method::yarn, 4, 32768)},
                                  {"yarn_llama_2", 128, 10000, scaled(Method::yarn, 16, 4096)},
                                  {"interpolated_llama_2", 128, 10000, scaled(Method::position_interpolation, 2)},
                                  {"ntk_llama_2", 128, 10000, scaled(Method::ntk_aware, 2)}};
  for (const Asked& asked : all) {
    EXPECT_THAT(far_angles(speeds_for(asked)), IsNear(far_angles(golden.rowvec(asked.name)), speeds_axes))
        << angles_for(asked.name);
  }
}

TEST(RopeSpeeds, EqualPyTorchForOtherSettings) {
  const GoldenCase golden = load_golden("scaling");
  const std::vector<Asked> all = {{"unscaled", 10, 500, {}},
                                  {"interpolated", 10, 500, scaled(Method::position_interpolation, 2.5)},
                                  {"ntk", 10, 500, scaled(Method::ntk_aware, 2.5)},
                                  {"ntk_of_two_pairs", 4, 50, scaled(Method::ntk_aware, 3)},
                                  {"yarn_betas", 32, 10000, yarn_with(16, 4096, 20, 2.5)},
                                  {"llama3_limits", 32, 10000, llama3_with(16, 1024, 2, 6.5)}};
  for (const Asked& asked : all) {
    EXPECT_THAT(far_angles(speeds_for(asked)), IsNear(far_angles(golden.rowvec(asked.name)), speeds_axes))
        << angles_for(asked.name);
  }
}

TEST(RopeSpeeds, EqualPyTorchWhereYarnLimitsItsRamp) {
  const GoldenCase golden = load_golden("scaling");
  const std::vector<std::pair<Asked, std::string>> all = {
      {{"yarn_short", 12, 10000, scaled(Method::yarn, 3, 64)}, "YaRN after 64 tokens: low is below 0, so it becomes 0"},
      {{"yarn_long", 8, 10, scaled(Method::yarn, 5, 700)}, "YaRN, base 10: high is above D - 1 = 7, so it becomes 7"},
      {{"yarn_equal_limits", 14, 10000, scaled(Method::yarn, 3, 6)}, "YaRN after 6 tokens: low and high are 0"}};
  for (const auto& [asked, sentence] : all) {
    EXPECT_THAT(far_angles(speeds_for(asked)), IsNear(far_angles(golden.rowvec(asked.name)), speeds_axes))
        << angles_for(sentence);
  }
}

TEST(RopeSpeeds, EqualTheDefinitionForOtherSizes) {
  for (const Asked& asked :
       std::vector<Asked>{{"none", 2, 10000, {}},
                          {"none", 6, 3, {}},
                          {"position_interpolation", 2, 700, scaled(Method::position_interpolation, 9)},
                          {"ntk_aware", 6, 2e6, scaled(Method::ntk_aware, 1.5)},
                          {"yarn", 96, 30000, scaled(Method::yarn, 40, 5000)},
                          {"yarn", 2, 10000, scaled(Method::yarn, 2, 300)},
                          {"yarn", 64, 700, yarn_with(1.5, 1000, 9, 0.5)},
                          {"llama3", 2, 10000, scaled(Method::llama3, 2, 20)},
                          {"llama3", 48, 2e6, llama3_with(5, 100000, 0.5, 30)}}) {
    EXPECT_THAT(far_angles(speeds_for(asked)), IsNear(far_angles(naive_speeds(asked)), speeds_axes))
        << angles_for("the method is " + asked.name + ", D is " + std::to_string(asked.D));
  }
}

TEST(RopeSpeeds, StartAfresh) {
  for (const uword D : {8U, 12U, 8U}) {
    for (Asked asked : asked_by_hand()) {
      asked.D = D;
      EXPECT_THAT(speeds_for(asked), IsNear(naive_speeds(asked), speeds_axes))
          << note("the method is " + asked.name + "; there were calls with other arguments before");
    }
  }
}

TEST(Positions, LeavesTheGeneratorAlone) {
  const Linear interleaved(5, 12);
  expect_leaves_the_generator_alone("a function (to_half_split can copy the Linear that it gets)", [&] {
    sinusoidal_positions(5, 6);
    apply_rope(zeros(5, 6, 2), RopePairing::half_split);
    to_half_split(interleaved, 2);
    alibi_bias(3, 4, 5);
    rope_speeds(6);
  });
}

// ------------------------------------------------------------------------------------------------------- bad input

TEST(SinusoidalPositions, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { sinusoidal_positions(0, 6); });
  EXPECT_PRED_FORMAT1(RejectsArgument("E", {"0"}), [] { sinusoidal_positions(5, 0); });
}

TEST(SinusoidalPositions, RejectsAnOddWidth) {
  for (const uword E : {7U, 1U}) {
    const RejectsArgument rejects("E", {std::to_string(E)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("sinusoid_odd_accepted")), [=] {
      sinusoidal_positions(5, E);
    }) << note("E is " + std::to_string(E));
  }
}

TEST(ApplyRope, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 6, 4), arma::SizeCube(5, 0, 4), arma::SizeCube(5, 6, 0)}) {
    const arma::cube X(size);
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {shape_text(X)}), [=] { apply_rope(X, RopePairing::interleaved); })
        << note("X is " + shape_text(X));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), [] { apply_rope(arma::cube(), RopePairing::half_split); });
}

TEST(ApplyRope, RejectsAnOddNumberOfColumns) {
  for (const RopePairing pairing : both_pairings) {
    for (const uword D : {7U, 1U}) {
      const arma::cube X = zeros(4, D, 6);
      const RejectsArgument rejects("X", {std::to_string(D), "2"});
      EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("rope_odd_accepted")), [=] { apply_rope(X, pairing); })
          << about(pairing, "X is " + shape_text(X));
    }
  }
}

TEST(ApplyRope, RejectsPositionsThatDoNotFit) {
  for (const arma::SizeMat size :
       {arma::SizeMat(4, 1), arma::SizeMat(5, 4), arma::SizeMat(1, 5), arma::SizeMat(5, 12)}) {
    const arma::umat positions(size, arma::fill::zeros);
    const RejectsArgument rejects("positions", {shape_text(positions)});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("rope_positions_accepted")), [=] {
      apply_rope(zeros(5, 8, 6), RopePairing::half_split, positions);
    }) << note("X is 5 x 8 x 6, positions is " + shape_text(positions));
  }
}

TEST(ApplyRope, RejectsSpeedsThatDoNotFitOrAreNotFinite) {
  const auto rejects = [](const arma::rowvec& speeds, const std::vector<std::string>& words) {
    EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument("speeds", words), likely_mistake("rope_speeds_accepted")), [=] {
      apply_rope(zeros(5, 6, 4), RopePairing::interleaved, {}, speeds);
    }) << note("X is 5 x 6 x 4, speeds is " + shape_text(speeds));
  };
  rejects({1, 0.1}, {"1 x 2", "3"});
  rejects({1, 0.1, 0.1, 0.01, 0.01, 0.001}, {"1 x 6", "3"});
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    rejects({1, 0.1, bad}, {});
  }
}

TEST(ToHalfSplit, RejectsHeadsThatDoNotDivideTheColumns) {
  for (const uword num_heads : {5U, 4U, 24U}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("interleaved", {"18"}), [=] { to_half_split(Linear(5, 18), num_heads); })
        << note("num_heads is " + std::to_string(num_heads));
  }
}

TEST(ToHalfSplit, RejectsHeadsOfOddWidth) {
  for (const uword num_heads : {2U, 6U, 18U}) {  // D = 9, 3 and 1
    const RejectsArgument rejects("interleaved", {"18"});
    EXPECT_PRED_FORMAT1(RejectsOrNames(rejects, likely_mistake("convert_odd_head_accepted")), [=] {
      to_half_split(Linear(5, 18), num_heads);
    }) << note("num_heads is " + std::to_string(num_heads));
  }
}

TEST(ToHalfSplit, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { to_half_split(Linear(5, 12), 0); });
  for (const arma::SizeMat size : {arma::SizeMat(0, 12), arma::SizeMat(5, 0), arma::SizeMat(0, 0)}) {
    Linear interleaved(5, 12, false);
    interleaved.weight.set_size(size);
    EXPECT_PRED_FORMAT1(RejectsArgument("interleaved", {shape_text(interleaved.weight)}),
                        [=] { to_half_split(interleaved, 2); });
  }
}

TEST(ToHalfSplit, RejectsABiasOfAnotherWidth) {
  for (const uword width : {6U, 13U, 24U}) {
    Linear interleaved(5, 12);
    interleaved.bias.zeros(width);
    EXPECT_PRED_FORMAT1(RejectsArgument("bias", {"1 x " + std::to_string(width), "12"}),
                        [=] { to_half_split(interleaved, 2); });
  }
}

TEST(AlibiSlopes, RejectsZeroHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { alibi_slopes(0); });
}

TEST(AlibiBias, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { alibi_bias(0, 4, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { alibi_bias(3, 0, 5); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { alibi_bias(3, 4, 0); });
}

TEST(RopeSpeeds, RejectAWidthWithoutPairs) {
  for (const uword D : {0U, 1U, 7U}) {
    EXPECT_PRED_FORMAT1(
        RejectsOrNames(RejectsArgument("D", {std::to_string(D)}), likely_mistake("speeds_odd_accepted")),
        [=] { rope_speeds(D); })
        << note("D is " + std::to_string(D));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("D", {"2"}), [] { rope_speeds(2, 10000, scaled(Method::ntk_aware, 3)); })
      << note("the method is ntk_aware: D / (D - 2) has no value for D = 2");
}

TEST(RopeSpeeds, RejectNumbersOutOfRange) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto rejects = [](const std::string& name, double base, const RopeScaling& scaling) {
    EXPECT_PRED_FORMAT1(RejectsOrNames(RejectsArgument(name, {}), likely_mistake("speeds_range_accepted")), [=] {
      rope_speeds(6, base, scaling);
    }) << note(name + " is out of its range");
  };
  for (const double bad : {1.0, -3.0, infinity, nan}) rejects("base", bad, {});
  for (const double bad : {0.5, -2.0, infinity, nan})
    rejects("factor", 10000, scaled(Method::position_interpolation, bad));
  for (const Method method : {Method::yarn, Method::llama3}) {
    rejects("original_max_position_embeddings", 10000, scaled(method, 2, 0));
  }
  for (const double bad : {0.0, nan}) rejects("beta_slow", 10000, yarn_with(2, 64, 32, bad));
  for (const double bad : {3.0, infinity, nan}) rejects("beta_fast", 10000, yarn_with(2, 64, bad, 3));
  for (const double bad : {-1.0, nan}) rejects("low_freq_factor", 10000, llama3_with(2, 64, bad, 4));
  for (const double bad : {2.0, infinity, nan}) rejects("high_freq_factor", 10000, llama3_with(2, 64, 2, bad));
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("apply_rope in both pairings, 2 sequences of 4 heads, 128 tokens, D = 32", [] {
  const arma::cube X = normal(128, 32, 8);
  return [X, positions = arma::umat(arma::join_rows(from(0, 128), from(90, 128)))] {
    return apply_rope(apply_rope(X, RopePairing::interleaved, positions), RopePairing::half_split, positions);
  };
});

}  // namespace
}  // namespace attn::judge
