#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cfenv>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/masking.hpp"
#include "attn/sliding_window.hpp"
#include "support/allocation.hpp"
#include "support/golden.hpp"
#include "support/matchers.hpp"
#include "support/oracles.hpp"
#include "support/speed.hpp"

namespace attn::testing {
namespace {

using arma::uword;

const std::vector<std::string> mask_axes = {"L", "S", "1"};
const std::vector<std::string> output_axes = {"L", "Dv", "N"};
const uword endless = std::numeric_limits<uword>::max();

arma::cube normal(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::randn}; }
arma::cube zeros(uword rows, uword cols, uword slices) { return {rows, cols, slices, arma::fill::zeros}; }
arma::cube numbers(const Mask& mask) { return arma::conv_to<arma::cube>::from(mask); }

std::string text(uword number) { return number == endless ? "endless" : std::to_string(number); }

struct Sizes {
  uword L, S, window, sinks;
};
std::string sizes_text(const Sizes& n) {
  return "L = " + text(n.L) + ", S = " + text(n.S) + ", window = " + text(n.window) + ", sinks = " + text(n.sinks);
}
const std::vector<Sizes> other_sizes = {{3, 7, 2, 1},   {4, 4, 3, 2},       {5, 9, 1, 3},      {6, 11, 4, 0},
                                        {8, 5, 3, 2},   {1, 6, 3, 2},       {5, 1, 2, 3},      {1, 1, 1, 0},
                                        {7, 8, 6, 5},   {2, 9, 3, 12},      {3, 6, 9, 1},      {9, 2, 1, 1},
                                        {70, 71, 5, 4}, {4, 5, endless, 2}, {5, 4, 2, endless}};

/// The definition, one pair at a time: may query i attend to key j?
bool may_attend(uword i, uword j, const Sizes& n) {
  const long long place = static_cast<long long>(i + n.S) - static_cast<long long>(n.L);
  const long long key = static_cast<long long>(j);
  if (key > place) return false;
  return j < n.sinks || static_cast<uword>(place - key) < n.window;
}

Mask naive_mask(const Sizes& n) {
  Mask mask(n.L, n.S, 1);
  for (uword i = 0; i < n.L; ++i)
    for (uword j = 0; j < n.S; ++j) mask(i, j, 0) = may_attend(i, j, n);
  return mask;
}

/// How often window_keys lists key j for query i.
arma::cube listed(uword L, uword S, uword window, uword sinks = 0) {
  arma::cube times = zeros(L, S, 1);
  for (uword i = 0; i < L; ++i) {
    for (const uword j : window_keys(i, L, S, window, sinks)) {
      if (j >= S) throw std::runtime_error("window_keys lists key " + std::to_string(j) + " of " + std::to_string(S));
      times(i, j, 0) += 1;
    }
  }
  return times;
}

std::string keys_text(const arma::uvec& keys) {
  std::string words;
  for (const uword j : keys) words += (words.empty() ? "" : " ") + std::to_string(j);
  return keys.is_empty() ? "no keys" : words;
}

/// The keys of one query, in their order.
void expect_keys(const arma::uvec& keys, const arma::uvec& wanted, uword i, const Sizes& n) {
  const bool same = std::equal(keys.begin(), keys.end(), wanted.begin(), wanted.end());
  EXPECT_TRUE(same) << diagnosis_mark << line("value", "got " + keys_text(keys) + ", want " + keys_text(wanted))
                    << note("query " + std::to_string(i) + ", " + sizes_text(n));
}

arma::cube attention_of(const GoldenCase& golden, uword window, uword sinks) {
  return sliding_window_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), window, sinks);
}

/// Some of the rows of every slice.
arma::cube rows_of(const arma::cube& x, const arma::uvec& rows) {
  arma::cube result(rows.n_elem, x.n_cols, x.n_slices);
  for (uword n = 0; n < x.n_slices; ++n) result.slice(n) = arma::mat(x.slice(n)).rows(rows);
  return result;
}

/// How many of the L·S scores sliding_window_attention computes. For each pair of a query and a key it is called once
/// with numbers whose product overflows for this pair and for no other; the processor remembers an overflow.
uword computed_scores(uword L, uword S, uword window, uword sinks) {
  arma::cube K(S, S, 1);  // key j has its number in feature j
  K.slice(0) = 1e200 * arma::eye(S, S);
  const arma::cube V(S, 2, 1, arma::fill::ones);
  uword computed = 0;
  for (uword i = 0; i < L; ++i) {
    for (uword j = 0; j < S; ++j) {
      arma::cube Q(L, S, 1);
      Q.fill(1e-200);
      Q(i, j, 0) = 1e200;
      std::feclearexcept(FE_OVERFLOW);
      sliding_window_attention(Q, K, V, window, sinks);
      computed += std::fetestexcept(FE_OVERFLOW) != 0;
    }
  }
  return computed;
}

// ------------------------------------------------------------------------------------------- window_keys, 17.1

TEST(WindowKeys, ListsTheKeysOfTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("mask_by_hand");
  EXPECT_THAT(listed(3, 5, 2, 1), Matches(golden.expected("listed")))
      << note("row i, column j: how often key j is listed for query i. " + sizes_text({3, 5, 2, 1}));
}

TEST(WindowKeys, EqualsPyTorch) {
  const std::string about = "row i, column j: how often key j is listed for query i. ";
  EXPECT_THAT(listed(9, 9, 4, 2), Matches(load_golden("mask_square").expected("listed")))
      << note(about + sizes_text({9, 9, 4, 2}));
  EXPECT_THAT(listed(6, 11, 3, 2), Matches(load_golden("mask_more_keys").expected("listed")))
      << note(about + sizes_text({6, 11, 3, 2}));
  EXPECT_THAT(listed(5, 8, 3), Matches(load_golden("mask_without_sinks").expected("listed")))
      << note(about + "L = 5, S = 8, window = 3, and sinks was left out");
  EXPECT_THAT(listed(7, 4, 2, 1), Matches(load_golden("mask_more_queries").expected("listed")))
      << note(about + sizes_text({7, 4, 2, 1}));
}

TEST(WindowKeys, AscendFromTheSinksToTheQuery) {
  expect_keys(window_keys(7, 9, 10, 3, 2), {0, 1, 6, 7, 8}, 7, {9, 10, 3, 2});
  expect_keys(window_keys(3, 9, 10, 3, 2), {0, 1, 2, 3, 4}, 3, {9, 10, 3, 2});  // window and sinks touch
  expect_keys(window_keys(2, 9, 10, 3, 2), {0, 1, 2, 3}, 2, {9, 10, 3, 2});     // they overlap
  expect_keys(window_keys(0, 9, 10, 3, 2), {0, 1}, 0, {9, 10, 3, 2});           // fewer keys than window
  expect_keys(window_keys(8, 9, 10, 3), {7, 8, 9}, 8, {9, 10, 3, 0});
}

TEST(WindowKeys, OfAWindowOfOneAreTheQuerysOwn) {
  for (uword i = 0; i < 4; ++i) expect_keys(window_keys(i, 4, 7, 1), {i + 3}, i, {4, 7, 1, 0});
}

TEST(WindowKeys, AreAllThatAreNotAheadWhenTheWindowIsLong) {
  for (const uword window : {7U, 8U, 100U}) {
    expect_keys(window_keys(2, 4, 7, window, 3), arma::regspace<arma::uvec>(0, 5), 2, {4, 7, window, 3});
  }
  expect_keys(window_keys(2, 4, 7, endless), arma::regspace<arma::uvec>(0, 5), 2, {4, 7, endless, 0});
  expect_keys(window_keys(2, 4, 7, endless, endless), arma::regspace<arma::uvec>(0, 5), 2, {4, 7, endless, endless});
  expect_keys(window_keys(2, 4, 7, 1, endless), arma::regspace<arma::uvec>(0, 5), 2, {4, 7, 1, endless});
}

TEST(WindowKeys, AreNoneForAQueryBeforeTheFirstKey) {
  for (uword i = 0; i < 3; ++i) expect_keys(window_keys(i, 7, 4, 2, 1), {}, i, {7, 4, 2, 1});
  expect_keys(window_keys(3, 7, 4, 2, 1), {0}, 3, {7, 4, 2, 1});
  expect_keys(window_keys(6, 7, 4, 2, 1), {0, 2, 3}, 6, {7, 4, 2, 1});
}

TEST(WindowKeys, DependOnThePlaceOfTheQueryAlone) {
  for (uword i = 0; i < 6; ++i) {
    const uword place = i + 3;  // L = 6, S = 9
    expect_keys(window_keys(i, 6, 9, 4, 2), window_keys(0, 1, place + 1, 4, 2), i, {6, 9, 4, 2});
    expect_keys(window_keys(i, 6, 9, 4, 2), window_keys(place, 9, 9, 4, 2), i, {6, 9, 4, 2});
  }
}

TEST(WindowKeys, EqualTheDefinitionForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    const Mask mask = naive_mask(n);
    for (uword i = 0; i < n.L; ++i) {
      const arma::uvec wanted = arma::find(arma::urowvec(mask.slice(0).row(i))).eval();
      expect_keys(window_keys(i, n.L, n.S, n.window, n.sinks), wanted, i, n);
    }
  }
}

TEST(WindowKeys, AreFoundWithoutWalkingThroughTheText) {
  const uword S = 1'000'000'000'000;
  expect_keys(window_keys(2, 4, S, 3, 2), {0, 1, S - 4, S - 3, S - 2}, 2, {4, S, 3, 2});
}

// --------------------------------------------------------------------------------------- sliding_window_mask, 17.2

TEST(SlidingWindowMask, HasARowForEachQueryAndAColumnForEachKey) {
  EXPECT_THAT(numbers(sliding_window_mask(4, 7, 2, 3)), HasShape({{"L (queries)", 4}, {"S (keys)", 7}, {"1", 1}}));
}

TEST(SlidingWindowMask, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(numbers(sliding_window_mask(3, 5, 2, 1)), Matches(load_golden("mask_by_hand").expected("mask")));
}

TEST(SlidingWindowMask, EqualsPyTorch) {
  EXPECT_THAT(numbers(sliding_window_mask(9, 9, 4, 2)), Matches(load_golden("mask_square").expected("mask")));
  EXPECT_THAT(numbers(sliding_window_mask(6, 11, 3, 2)), Matches(load_golden("mask_more_keys").expected("mask")));
  EXPECT_THAT(numbers(sliding_window_mask(5, 8, 3)), Matches(load_golden("mask_without_sinks").expected("mask")));
  EXPECT_THAT(numbers(sliding_window_mask(7, 4, 2, 1)), Matches(load_golden("mask_more_queries").expected("mask")));
}

TEST(SlidingWindowMask, IsTheCausalMaskWhenTheWindowIsAsLongAsTheText) {
  for (const uword L : {4U, 7U, 9U}) {
    const arma::cube causal = numbers(causal_mask(L, 7));
    for (const uword window : {uword(7), uword(8), endless}) {
      EXPECT_THAT(numbers(sliding_window_mask(L, 7, window)), IsNear(causal, mask_axes))
          << note(sizes_text({L, 7, window, 0}));
      EXPECT_THAT(numbers(sliding_window_mask(L, 7, 2, window)), IsNear(causal, mask_axes))
          << note("as many sinks as keys: " + sizes_text({L, 7, 2, window}));
    }
  }
}

TEST(SlidingWindowMask, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    EXPECT_THAT(numbers(sliding_window_mask(n.L, n.S, n.window, n.sinks)), IsNear(numbers(naive_mask(n)), mask_axes))
        << note(sizes_text(n));
  }
}

// ---------------------------------------------------------------------------------- sliding_window_attention, 17.3

TEST(SlidingWindowAttention, GivesEachQueryARowAsWideAsTheValues) {
  EXPECT_THAT(sliding_window_attention(normal(4, 3, 6), normal(7, 3, 6), normal(7, 5, 6), 2, 1),
              HasShape({{"L", 4}, {"Dv", 5}, {"N", 6}}));
}

TEST(SlidingWindowAttention, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  arma::cube Q(3, 4, 1), K(5, 4, 1), V(5, 2, 1);
  Q.slice(0) = {{2, 0, 2, 0}, {0, 2, 0, 1}, {2, 2, 0, 0}};
  K.slice(0) = {{1, 0, 1, 0}, {0, 1, 0, 0}, {1, 1, 0, 2}, {2, 0, 0, 1}, {0, 0, 1, 2}};
  V.slice(0) = {{4, 0}, {0, 2}, {1, 1}, {0, 4}, {2, 0}};
  EXPECT_THAT(sliding_window_attention(Q, K, V, 2, 1), Matches(golden.expected("output")));
}

TEST(SlidingWindowAttention, WithAWindowOfOneReturnsTheValues) {
  const arma::cube V = normal(7, 5, 3);
  EXPECT_THAT(sliding_window_attention(normal(7, 4, 3), normal(7, 4, 3), V, 1), IsNear(V, output_axes))
      << note("each query sees its own key alone, whose weight is 1");
  EXPECT_THAT(sliding_window_attention(normal(2, 4, 3), normal(7, 4, 3), V, 1),
              IsNear(arma::cube(V.rows(5, 6)), output_axes))
      << note("two queries and seven keys: the queries are the last two tokens");
}

TEST(SlidingWindowAttention, IsCausalAttentionWhenTheWindowIsAsLongAsTheText) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const arma::cube wanted = scaled_dot_product_attention(Q, K, V, causal_mask(4, 7));
  for (const uword window : {uword(7), uword(8), endless}) {
    EXPECT_THAT(sliding_window_attention(Q, K, V, window), IsNear(wanted, output_axes))
        << note(sizes_text({4, 7, window, 0}));
    EXPECT_THAT(sliding_window_attention(Q, K, V, window, 3), IsNear(wanted, output_axes))
        << note("sinks that lie in the window: " + sizes_text({4, 7, window, 3}));
    EXPECT_THAT(sliding_window_attention(Q, K, V, 2, window), IsNear(wanted, output_axes))
        << note("as many sinks as keys: " + sizes_text({4, 7, 2, window}));
  }
}

TEST(SlidingWindowAttention, EqualsPyTorch) {
  const GoldenCase square = load_golden("square");
  EXPECT_THAT(attention_of(square, 4, 2), Matches(square.expected("output"))) << note(sizes_text({9, 9, 4, 2}));
  const GoldenCase more_keys = load_golden("more_keys");
  EXPECT_THAT(attention_of(more_keys, 3, 2), Matches(more_keys.expected("output"))) << note(sizes_text({6, 11, 3, 2}));
}

TEST(SlidingWindowAttention, EqualsPyTorchWithoutSinks) {
  const GoldenCase golden = load_golden("without_sinks");
  EXPECT_THAT(sliding_window_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 3),
              Matches(golden.expected("output")))
      << note("L = 5, S = 8, window = 3, and sinks was left out");
}

TEST(SlidingWindowAttention, GivesZerosToAQueryBeforeTheFirstKey) {
  const GoldenCase golden = load_golden("more_queries");
  const std::string about = note("with L = 7 and S = 4 the first three queries stand before the first key");
  arma::cube output;
  try {
    output = attention_of(golden, 2, 1);
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    FAIL() << diagnosis_mark << line("threw", type_name(error) + ": " + error.what()) << about
           << likely_mistake("nobody_forgotten");
  }
  EXPECT_THAT(output, Matches(golden.expected("output"))) << about;
}

TEST(SlidingWindowAttention, IsAttentionUnderItsMask) {
  for (const Sizes& n : other_sizes) {
    const arma::cube Q = 2 * normal(n.L, 3, 4), K = 2 * normal(n.S, 3, 4), V = normal(n.S, 2, 4);
    EXPECT_THAT(
        sliding_window_attention(Q, K, V, n.window, n.sinks),
        IsNear(scaled_dot_product_attention(Q, K, V, sliding_window_mask(n.L, n.S, n.window, n.sinks)), output_axes))
        << note("wanted is scaled_dot_product_attention with your mask. " + sizes_text(n));
  }
}

TEST(SlidingWindowAttention, EqualsTheDefinitionForOtherSizes) {
  struct Widths {
    uword D, Dv, N;
  };
  for (const Widths& w : {Widths{4, 3, 2}, Widths{2, 6, 3}, Widths{1, 1, 2}, Widths{17, 20, 1}}) {
    for (const Sizes& n : other_sizes) {
      const arma::cube Q = normal(n.L, w.D, w.N), K = normal(n.S, w.D, w.N), V = normal(n.S, w.Dv, w.N);
      EXPECT_THAT(sliding_window_attention(Q, K, V, n.window, n.sinks),
                  IsNear(naive_attention(Q, K, V, naive_mask(n)), output_axes))
          << note(sizes_text(n) + ", D = " + text(w.D) + ", Dv = " + text(w.Dv) + ", N = " + text(w.N));
    }
  }
}

TEST(SlidingWindowAttention, KeepsTheSlicesApart) {
  const arma::cube Q = normal(5, 3, 4), K = normal(8, 3, 4), V = normal(8, 2, 4);
  const arma::cube together = sliding_window_attention(Q, K, V, 3, 1);
  for (uword n = 0; n < 4; ++n) {
    const arma::cube alone = sliding_window_attention(Q.slices(n, n), K.slices(n, n), V.slices(n, n), 3, 1);
    EXPECT_THAT(arma::cube(together.slices(n, n)), IsNear(alone, output_axes))
        << note("this is slice " + std::to_string(n) + " of four; alone, the same slice gives what is wanted");
  }
}

TEST(SlidingWindowAttention, FollowsTheSlicesWhenTheyArePermuted) {
  const arma::cube Q = normal(5, 3, 4), K = normal(8, 3, 4), V = normal(8, 2, 4);
  const arma::uvec order = {2, 0, 3, 1};
  const arma::cube output = sliding_window_attention(Q, K, V, 3, 1);
  const arma::cube wanted = output.slices(order);
  EXPECT_THAT(sliding_window_attention(Q.slices(order), K.slices(order), V.slices(order), 3, 1),
              IsNear(wanted, output_axes))
      << note("the slices were put in another order: those of the output must follow");
}

TEST(SlidingWindowAttention, GivesTheSameTokenByToken) {
  const arma::cube Q = normal(9, 3, 4), K = normal(9, 3, 4), V = normal(9, 2, 4);
  const arma::cube whole = sliding_window_attention(Q, K, V, 4, 2);
  for (uword i = 0; i < 9; ++i) {
    EXPECT_THAT(sliding_window_attention(Q.rows(i, i), K.rows(0, i), V.rows(0, i), 4, 2),
                IsNear(arma::cube(whole.rows(i, i)), output_axes))
        << note("query " + std::to_string(i) + " alone, with the keys up to its own, as when a model writes a text");
  }
}

TEST(SlidingWindowAttention, NeedsNoKeyButTheSinksAndTheWindow) {
  const arma::cube Q = normal(1, 4, 2), K = normal(12, 4, 2), V = normal(12, 5, 2);
  const arma::uvec kept = {0, 1, 9, 10, 11};
  EXPECT_THAT(sliding_window_attention(Q, rows_of(K, kept), rows_of(V, kept), 3, 2),
              IsNear(sliding_window_attention(Q, K, V, 3, 2), output_axes))
      << note("the newest query, window = 3, sinks = 2: keys 2 to 8 were taken away, and nothing may change");
}

TEST(SlidingWindowAttention, ReachesFurtherWithEveryLayer) {
  const uword L = 14, window = 4;
  arma::cube X = normal(L, 3, 2);
  arma::cube changed = X;
  changed.row(0) += 1.0;
  for (uword layers = 1; layers <= 3; ++layers) {
    X = sliding_window_attention(X, X, X, window);
    changed = sliding_window_attention(changed, changed, changed, window);
    for (uword i = 0; i < L; ++i) {
      const bool reached = arma::abs(arma::vectorise(arma::cube(X.row(i) - changed.row(i)))).max() > 1e-12;
      EXPECT_TRUE(reached == (i <= layers * (window - 1)))
          << diagnosis_mark
          << line("value", "token 0 was changed, and after " + std::to_string(layers) + " layers of window 4 token " +
                               std::to_string(i) + (reached ? " changed too" : " did not change"));
    }
  }
}

TEST(SlidingWindowAttention, DoesNotMixWhatIsBlocked) {
  const Sizes n = {5, 9, 3, 2};
  const arma::cube Q = normal(n.L, 3, 4), K = normal(n.S, 3, 4), V = normal(n.S, 2, 4);
  const arma::cube wanted = sliding_window_attention(Q, K, V, n.window, n.sinks);
  const auto with_key = [&](uword j, double key, double value) {
    arma::cube other_K = K, other_V = V;
    other_K.row(j).fill(key);
    other_V.row(j).fill(value);
    return sliding_window_attention(Q, other_K, other_V, n.window, n.sinks);
  };
  for (uword j = 0; j < n.S; ++j) {
    const arma::cube finite = with_key(j, 2, 3), infinite = with_key(j, arma::datum::nan, arma::datum::inf);
    for (uword i = 0; i < n.L; ++i) {
      const std::string about = note("row " + text(i) + ", with key " + text(j) + " NaN and its value infinite: " +
                                     (may_attend(i, j, n) ? "the query sees it. " : "it is blocked. ") + sizes_text(n));
      const arma::cube row = infinite.rows(i, i), row_wanted = wanted.rows(i, i);
      if (may_attend(i, j, n)) {
        EXPECT_FALSE(row.is_finite()) << diagnosis_mark << line("value", "the NaN was hidden") << about;
      } else {
        const bool mixed = arma::approx_equal(arma::cube(finite.rows(i, i)), row_wanted, "absdiff", 1e-12);
        EXPECT_THAT(row, IsNear(row_wanted, {"1", "Dv", "N"}))
            << about << (mixed ? likely_mistake("blocked_values_mixed") : "");
      }
    }
  }
}

TEST(SlidingWindowAttention, StandsScoresFarFromZero) {
  const GoldenCase golden = load_golden("far_from_zero");
  EXPECT_THAT(attention_of(golden, 3, 1), Matches(golden.expected("output")));
}

TEST(SlidingWindowAttention, StartsAfreshAtEveryCall) {
  const GoldenCase golden = load_golden("more_keys");
  const arma::cube Q = golden.cube("Q"), K = golden.cube("K"), V = golden.cube("V");
  const std::string about = note("it was called before with other arguments; nothing of that call may be left");
  sliding_window_attention(-2 * Q, 3 * K, -V, 3, 2);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 2), Matches(golden.expected("output"))) << about;
  sliding_window_attention(Q, K, V, 5, 2);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 2), Matches(golden.expected("output"))) << about;
  sliding_window_attention(Q, K, V, 3, 0);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 2), Matches(golden.expected("output"))) << about;
  EXPECT_THAT(sliding_window_attention(Q.rows(0, 3), K.rows(0, 8), V.rows(0, 8), 3, 2),
              IsNear(arma::cube(golden.expected("output").values.rows(0, 3)), output_axes))
      << about;
}

TEST(SlidingWindowAttention, LeavesItsArgumentsAsTheyWere) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  const arma::cube Q_before = Q, K_before = K, V_before = V;
  sliding_window_attention(Q, K, V, 3, 1);
  EXPECT_THAT(Q, IsNear(Q_before, {"L", "D", "N"})) << note("it changed Q");
  EXPECT_THAT(K, IsNear(K_before, {"S", "D", "N"})) << note("it changed K");
  EXPECT_THAT(V, IsNear(V_before, {"S", "Dv", "N"})) << note("it changed V");
}

// ------------------------------------------------------------------------------------------------- the work, 17.3

TEST(SlidingWindowAttention, ComputesOnlyTheScoresOfTheWindowAndTheSinks) {
  const uword L = 14, S = 16, window = 2, sinks = 1;
  const uword allowed = arma::accu(naive_mask({L, S, window, sinks}));
  const uword computed = computed_scores(L, S, window, sinks);
  EXPECT_TRUE(computed == allowed) << diagnosis_mark
                                   << line("work", "computed " + text(computed) + " of the " + text(L * S) +
                                                       " scores of a slice, want the " + text(allowed) +
                                                       " that the mask allows")
                                   << note(sizes_text({L, S, window, sinks}))
                                   << (computed > 2 * allowed ? likely_mistake("full_attention") : "");
}

TEST(SlidingWindowAttention, MakesNothingAsLargeAsTheScores) {
  const uword L = 400, S = 401, N = 2, window = 4, sinks = 2;
  const arma::cube Q = normal(L, 5, N), K = normal(S, 5, N), V = normal(S, 3, N);
  const std::size_t asked = allocated_bytes([&] { sliding_window_attention(Q, K, V, window, sinks); });
  const std::size_t at_most = L * S * sizeof(double) / 2;
  EXPECT_TRUE(asked <= at_most) << diagnosis_mark
                                << line("memory", "asked for " + bytes_text(asked) + ", want at most " +
                                                      bytes_text(at_most) + ", half of one L x S matrix")
                                << note(sizes_text({L, S, window, sinks})) << likely_mistake("large_as_the_scores");
}

// ------------------------------------------------------------------------------------------------------- bad input

TEST(WindowKeys, RejectSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { window_keys(0, 0, 5, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { window_keys(2, 4, 0, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}), [] { window_keys(2, 4, 5, 0, 1); });
}

TEST(WindowKeys, RejectAQueryThatThereIsNot) {
  EXPECT_PRED_FORMAT1(RejectsArgument("i", {"4", "L = 4"}), [] { window_keys(4, 4, 7, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("i", {"6", "L = 4"}), [] { window_keys(6, 4, 7, 3, 1); });
}

TEST(SlidingWindowMask, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { sliding_window_mask(0, 5, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { sliding_window_mask(4, 0, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}), [] { sliding_window_mask(4, 5, 0, 1); });
}

TEST(SlidingWindowAttention, RejectsQueriesWithoutASize) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 3, 2), arma::SizeCube(4, 0, 2), arma::SizeCube(4, 3, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("Q", {shape_text(arma::cube(size))}),
                        [=] { sliding_window_attention(arma::cube(size), zeros(7, 3, 2), zeros(7, 5, 2), 2); });
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 0 x 0"}),
                      [] { sliding_window_attention(arma::cube(), zeros(7, 3, 2), zeros(7, 5, 2), 2); });
}

TEST(SlidingWindowAttention, RejectsKeysOfTheWrongShape) {
  const auto with = [](const arma::cube& K) {
    return [K] { sliding_window_attention(zeros(4, 3, 2), K, zeros(7, 5, 2), 2, 1); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 4 x 2", "3"}), with(zeros(7, 4, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 2 x 2", "3"}), with(zeros(7, 2, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 3 x 1", "2"}), with(zeros(7, 3, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"7 x 3 x 4", "2"}), with(zeros(7, 3, 4)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"0 x 3 x 2"}), with(arma::cube(0, 3, 2)));
}

TEST(SlidingWindowAttention, RejectsValuesOfTheWrongShape) {
  const auto with = [](const arma::cube& V) {
    return [V] { sliding_window_attention(zeros(4, 3, 2), zeros(7, 3, 2), V, 2, 1); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"6 x 5 x 2", "7"}), with(zeros(6, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"8 x 5 x 2", "7"}), with(zeros(8, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 5 x 1", "2"}), with(zeros(7, 5, 1)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 5 x 4", "2"}), with(zeros(7, 5, 4)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"7 x 0 x 2"}), with(arma::cube(7, 0, 2)));
}

TEST(SlidingWindowAttention, RejectsAWindowOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}),
                      [] { sliding_window_attention(zeros(4, 3, 2), zeros(7, 3, 2), zeros(7, 5, 2), 0, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}),
                      [] { sliding_window_attention(zeros(8, 3, 2), zeros(7, 3, 2), zeros(7, 5, 2), 0); });
}

// ----------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("2 slices of 64 tokens, D = 16, window 16, 4 sinks", [] {
  return [Q = normal(64, 16, 2), K = normal(64, 16, 2), V = normal(64, 16, 2)] {
    return sliding_window_attention(Q, K, V, 16, 4);
  };
});

}  // namespace
}  // namespace attn::testing
