#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cfenv>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attn/masking.hpp"
#include "attn/sliding_window.hpp"
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

const std::vector<std::string> mask_axes = {"L", "S", "1"};
const std::vector<std::string> output_axes = {"L", "Dv", "N"};
const uword endless = std::numeric_limits<uword>::max();

arma::cube numbers(const Mask& mask) { return arma::conv_to<arma::cube>::from(mask); }

std::string text(uword number) {
  return number == endless ? "the largest arma::uword (adding to it goes round)" : std::to_string(number);
}

struct Sizes {
  uword L, S, window, sinks;
};
std::string sizes_text(const Sizes& n) {
  return "L = " + text(n.L) + ", S = " + text(n.S) + ", window = " + text(n.window) + ", sinks = " + text(n.sinks);
}
const std::vector<Sizes> other_sizes = {{3, 7, 2, 1},   {4, 4, 3, 2},       {5, 9, 1, 3},      {6, 11, 4, 0},
                                        {8, 5, 3, 2},   {1, 6, 3, 2},       {5, 1, 2, 3},      {1, 1, 1, 0},
                                        {7, 8, 6, 5},   {2, 9, 3, 12},      {3, 6, 9, 1},      {9, 2, 1, 1},
                                        {30, 31, 5, 4}, {4, 5, endless, 2}, {5, 4, 2, endless}};

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

/// The keys of query i by that definition.
arma::uvec naive_keys(uword i, const Sizes& n) { return arma::find(arma::urowvec(naive_mask(n).slice(0).row(i))); }

/// What window_keys answers for one query: keys, or what it threw.
struct Answer {
  arma::uvec keys;
  std::string threw;
};
Answer ask(uword i, const Sizes& n) {
  try {
    return {window_keys(i, n.L, n.S, n.window, n.sinks), ""};
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    return {{}, type_name(error) + ": " + error.what()};
  }
}

bool same(const arma::uvec& a, const arma::uvec& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
bool is_right(const Answer& answer, const arma::uvec& wanted) {
  return answer.threw.empty() && same(answer.keys, wanted);
}

bool keys_are_right(const Sizes& n) {
  for (uword i = 0; i < n.L; ++i) {
    if (!is_right(ask(i, n), naive_keys(i, n))) return false;
  }
  return true;
}

std::string keys_text(const arma::uvec& keys) {
  constexpr uword most = 12;
  std::string words;
  for (uword k = 0; k < std::min(keys.n_elem, most); ++k) words += (k == 0 ? "" : " ") + std::to_string(keys(k));
  if (keys.n_elem > most) words += " ... (" + std::to_string(keys.n_elem) + " keys)";
  return keys.is_empty() ? "no keys" : words;
}

std::string query_text(uword i, const Sizes& n) {
  const bool before = i + n.S < n.L;
  const std::string place = before ? "before the first key" : "at place " + std::to_string(i + n.S - n.L);
  return "query " + std::to_string(i) + ", " + place + "; " + sizes_text(n);
}

/// The keys of one query, in their order.
void expect_keys(const Answer& answer, const arma::uvec& wanted, uword i, const Sizes& n,
                 const std::string& likely = {}) {
  const bool as_many = answer.threw.empty() && answer.keys.n_elem == wanted.n_elem;
  const bool other_order = as_many && same(arma::sort(answer.keys), wanted);
  const std::string difference = answer.threw.empty()
                                     ? line("value", "got " + keys_text(answer.keys) + ", want " + keys_text(wanted))
                                     : line("threw", answer.threw) + line("wanted", keys_text(wanted));
  EXPECT_TRUE(is_right(answer, wanted)) << difference << note(query_text(i, n))
                                        << (other_order ? note("the same keys, in another order: they ascend") : "")
                                        << likely;
}

/// Whether a key is listed again that is not a sink in the window.
bool lists_a_key_again(const arma::uvec& keys, uword i, const Sizes& n) {
  const arma::uvec sorted = arma::sort(keys);
  for (uword k = 1; k < sorted.n_elem; ++k) {
    const uword j = sorted(k);
    const bool sink_in_window = j < n.sinks && j + n.L <= i + n.S && i + n.S - n.L - j < n.window;
    if (sorted(k - 1) == j && !sink_in_window) return true;
  }
  return false;
}

/// What these answers are compared with the catalogued mistakes by.
std::string clue_of(const std::vector<Answer>& answers, const Expected& expected) {
  arma::cube times = arma::zeros(arma::size(expected.values));  // how often query i lists key j
  for (uword i = 0; i < answers.size(); ++i) {
    if (!answers[i].threw.empty()) return {};
    for (const uword j : answers[i].keys) {
      if (j >= times.n_cols) return {};
      times(i, j, 0) += 1;
    }
  }
  return clue(times, expected.values);
}

/// The catalogued mistake that is recognised by which queries are wrong, if there is one.
std::string likely_by_place(const std::vector<Answer>& answers, const std::vector<uword>& wrong, const Sizes& n) {
  const auto threw = [](const Answer& answer) { return !answer.threw.empty(); };
  const auto before_the_text = [&](uword i) { return i + n.S < n.L; };
  const auto blind_at_key_0 = [&](uword i) {
    return i + n.S == n.L && !threw(answers[i]) && answers[i].keys.is_empty();
  };
  const auto with_a_short_window = [&](uword i) { return !before_the_text(i) && i + n.S - n.L + 1 < n.window; };
  const auto all_wrong = [&](auto are) { return std::all_of(wrong.begin(), wrong.end(), are); };

  if (n.L > n.S && std::all_of(answers.begin(), answers.end(), threw)) return likely_mistake("more_queries_rejected");
  if (all_wrong(before_the_text)) return likely_mistake("query_before_the_text");
  if (all_wrong(blind_at_key_0)) return likely_mistake("first_token_blind");
  if (all_wrong(with_a_short_window)) return likely_mistake("window_below_zero");
  for (const uword i : wrong) {
    if (lists_a_key_again(answers[i].keys, i, n)) return likely_mistake("same_key_again");
  }
  return {};
}

/// The keys of all queries of a golden case. The first query that is wrong is shown.
void expect_golden_keys(const std::string& golden_case, const Sizes& n) {
  const Expected expected = load_golden(golden_case).expected("listed");
  const auto wanted = [&](uword i) -> arma::uvec { return arma::find(arma::rowvec(expected.values.slice(0).row(i))); };
  std::vector<Answer> answers;
  std::vector<uword> wrong;
  for (uword i = 0; i < n.L; ++i) {
    answers.push_back(ask(i, n));
    if (!is_right(answers.back(), wanted(i))) wrong.push_back(i);
  }
  if (wrong.empty()) return;
  const std::string by_value = clue_of(answers, expected);
  expect_keys(answers[wrong.front()], wanted(wrong.front()), wrong.front(), n,
              by_value.empty() ? likely_by_place(answers, wrong, n) : by_value);
}

/// What a golden case of the attention goes in with.
struct Tokens {
  arma::cube Q, K, V;
};
Tokens tokens_of(const GoldenCase& golden) { return {golden.cube("Q"), golden.cube("K"), golden.cube("V")}; }

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

/// The computing time of this thread. The least of three tries counts, and one that is below the limit is enough: the
/// machine may be busy. One that is far above it is enough too.
double computing_seconds(const std::function<void()>& code, double limit) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double begin = now();
    code();
    least = std::min(least, now() - begin);
    if (least < limit || least > std::max(10 * limit, 0.1)) break;
  }
  return least;
}

std::string milliseconds_text(double seconds) { return std::to_string(std::lround(1000 * seconds)) + " ms"; }

// ------------------------------------------------------------------------------------------- window_keys, 17.1

TEST(WindowKeys, ListsTheKeysOfTheExampleWorkedByHand) { expect_golden_keys("mask_by_hand", {3, 7, 3, 2}); }

TEST(WindowKeys, EqualsPyTorch) {
  expect_golden_keys("mask_square", {9, 9, 4, 2});
  expect_golden_keys("mask_more_keys", {6, 11, 3, 2});
  expect_golden_keys("mask_without_sinks", {5, 8, 3, 0});
  expect_golden_keys("mask_more_queries", {7, 4, 2, 1});
}

TEST(WindowKeys, AscendsFromTheSinksToTheQuery) {
  const Sizes n = {9, 10, 3, 2};
  expect_keys(ask(7, n), {0, 1, 6, 7, 8}, 7, n);
  expect_keys(ask(3, n), {0, 1, 2, 3, 4}, 3, n);  // window and sinks touch
  expect_keys(ask(2, n), {0, 1, 2, 3}, 2, n);     // they overlap
  expect_keys(ask(0, n), {0, 1}, 0, n);           // fewer keys than window
  expect_keys(ask(8, {9, 10, 3, 0}), {7, 8, 9}, 8, {9, 10, 3, 0});
}

TEST(WindowKeys, ListsOnlyTheQuerysOwnForAWindowOfOne) {
  for (uword i = 0; i < 4; ++i) expect_keys({window_keys(i, 4, 7, 1), ""}, {i + 3}, i, {4, 7, 1, 0});
}

TEST(WindowKeys, ListsAllThatAreNotAheadWhenTheWindowIsLong) {
  const auto all = arma::regspace<arma::uvec>(0, 5);
  for (const Sizes& n : {Sizes{4, 7, 7, 3}, Sizes{4, 7, 8, 3}, Sizes{4, 7, 100, 3}, Sizes{4, 7, endless, 0},
                         Sizes{4, 7, endless, endless}, Sizes{4, 7, 1, endless}}) {
    expect_keys(ask(2, n), all, 2, n);
  }
}

TEST(WindowKeys, ListsNoneForAQueryBeforeTheFirstKey) {
  const Sizes n = {7, 4, 2, 1};
  for (uword i = 0; i < 3; ++i) expect_keys(ask(i, n), {}, i, n);
  expect_keys(ask(3, n), {0}, 3, n);
  expect_keys(ask(6, n), {0, 2, 3}, 6, n);
}

TEST(WindowKeys, DependsOnlyOnThePlaceOfTheQuery) {
  const Sizes n = {6, 9, 4, 2};
  for (uword i = 0; i < n.L; ++i) {
    const uword place = i + 3;
    expect_keys(ask(i, n), ask(0, {1, place + 1, n.window, n.sinks}).keys, i, n);
    expect_keys(ask(i, n), ask(place, {n.S, n.S, n.window, n.sinks}).keys, i, n);
  }
}

TEST(WindowKeys, EqualsTheDefinitionForOtherSizes) {
  for (const Sizes& n : other_sizes) {
    for (uword i = 0; i < n.L; ++i) expect_keys(ask(i, n), naive_keys(i, n), i, n);
  }
}

TEST(WindowKeys, TakesNoTimeForUnseenKeys) {
  const Sizes n = {4, 10'000'000, 3, 2};
  expect_keys(ask(2, n), {0, 1, n.S - 4, n.S - 3, n.S - 2}, 2, n);
  if (HasFailure()) return;
  const double seconds = computing_seconds([&] { ask(2, n); }, 0.001);
  ASSERT_TRUE(seconds < 0.001) << line("time", "the five keys of one query took " + milliseconds_text(seconds) +
                                                   " of computing, want less than 1 ms")
                               << note(query_text(2, n)) << likely_mistake("keys_searched_for");
  const uword S = 1'000'000'000'000;
  expect_keys(ask(2, {4, S, 3, 2}), {0, 1, S - 4, S - 3, S - 2}, 2, {4, S, 3, 2});
}

// --------------------------------------------------------------------------------------- sliding_window_mask, 17.2

TEST(SlidingWindowMask, HasARowForEachQueryAndAColumnForEachKey) {
  EXPECT_THAT(numbers(sliding_window_mask(4, 7, 2, 3)), HasShape({{"L (queries)", 4}, {"S (keys)", 7}, {"1", 1}}));
}

TEST(SlidingWindowMask, GivesTheExampleWorkedByHand) {
  EXPECT_THAT(numbers(sliding_window_mask(3, 7, 3, 2)), Matches(load_golden("mask_by_hand").expected("mask")));
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
  arma::cube Q(3, 4, 1), K(7, 4, 1), V(7, 2, 1);
  Q.slice(0) = {{2, 0, 2, 0}, {0, 2, 0, 1}, {2, 2, 0, 0}};
  K.slice(0) = {{1, 0, 1, 0}, {0, 1, 0, 0}, {1, 1, 0, 2}, {2, 0, 0, 1}, {0, 0, 1, 2}, {1, 0, 0, 1}, {0, 1, 2, 0}};
  V.slice(0) = {{4, 0}, {0, 2}, {1, 1}, {0, 4}, {2, 0}, {3, 1}, {0, 3}};
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 2), Matches(golden.expected("output"))) << given("Q", Q);
}

TEST(SlidingWindowAttention, ReturnsTheValuesForAWindowOfOne) {
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
  const GoldenCase golden = load_golden("square");
  const auto [Q, K, V] = tokens_of(golden);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 4, 2), Matches(golden.expected("output")))
      << note(sizes_text({9, 9, 4, 2}));
}

TEST(SlidingWindowAttention, EqualsPyTorchWithMoreKeysThanQueries) {
  const GoldenCase golden = load_golden("more_keys");
  const auto [Q, K, V] = tokens_of(golden);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 2), Matches(golden.expected("output")))
      << note(sizes_text({6, 11, 3, 2}));
}

TEST(SlidingWindowAttention, EqualsPyTorchWithoutSinks) {
  const GoldenCase golden = load_golden("without_sinks");
  const auto [Q, K, V] = tokens_of(golden);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3), Matches(golden.expected("output")))
      << note("L = 5, S = 8, window = 3, and sinks was left out");
}

TEST(SlidingWindowAttention, GivesZerosToAQueryWithoutKeys) {
  const GoldenCase golden = load_golden("more_queries");
  const auto [Q, K, V] = tokens_of(golden);
  const std::string about = note("with L = 7 and S = 4 the first three queries come before the first key");
  arma::cube output;
  try {
    output = sliding_window_attention(Q, K, V, 2, 1);
  } catch (const NotWritten&) {
    throw;
  } catch (const std::exception& error) {
    FAIL() << line("threw", type_name(error) + ": " + error.what()) << about
           << (keys_are_right({7, 4, 2, 1}) ? likely_mistake("nobody_forgotten")
                                            : note("window_keys is wrong for these sizes: begin with its checks"));
  }
  EXPECT_THAT(output, Matches(golden.expected("output"))) << about;
}

TEST(SlidingWindowAttention, IsAttentionUnderItsMask) {
  for (const Sizes& n : other_sizes) {
    const arma::cube Q = 2 * normal(n.L, 3, 4), K = 2 * normal(n.S, 3, 4), V = normal(n.S, 2, 4);
    EXPECT_THAT(
        sliding_window_attention(Q, K, V, n.window, n.sinks),
        IsNear(scaled_dot_product_attention(Q, K, V, sliding_window_mask(n.L, n.S, n.window, n.sinks)), output_axes))
        << note("expected: scaled_dot_product_attention with your mask. " + sizes_text(n));
  }
}

TEST(SlidingWindowAttention, EqualsTheDefinitionForOtherSizes) {
  struct Widths {
    uword D, Dv, N;
  };
  for (const Widths& w : {Widths{4, 3, 2}, Widths{2, 6, 3}, Widths{1, 1, 2}, Widths{40, 41, 1}}) {
    for (const Sizes& n : other_sizes) {
      const arma::cube Q = normal(n.L, w.D, w.N), K = normal(n.S, w.D, w.N), V = normal(n.S, w.Dv, w.N);
      EXPECT_THAT(sliding_window_attention(Q, K, V, n.window, n.sinks),
                  IsNear(naive_attention(Q, K, V, naive_mask(n)), output_axes))
          << note(sizes_text(n) + ", D = " + text(w.D) + ", Dv = " + text(w.Dv) + ", N = " + text(w.N));
    }
  }
}

TEST(SlidingWindowAttention, PassesOnANaN) {
  const Sizes n = {6, 11, 3, 2};
  arma::cube Q = normal(n.L, 4, 3);
  Q(2, 1, 0) = arma::datum::nan;
  const arma::cube K = normal(n.S, 4, 3), V = normal(n.S, 5, 3);
  const arma::cube wanted = naive_attention(Q, K, V, naive_mask(n));
  const arma::cube output = sliding_window_attention(Q, K, V, n.window, n.sinks);
  EXPECT_THAT(output, IsNear(wanted, output_axes))
      << note("query 2 of slice 0 holds NaN: its row is NaN, and no other row")
      << (hides_nan(output, wanted) ? likely_mistake("nan_hidden") : "");
}

TEST(SlidingWindowAttention, KeepsTheSlicesApart) {
  const arma::cube Q = normal(5, 3, 4), K = normal(8, 3, 4), V = normal(8, 2, 4);
  expect_keeps_apart("slice", 4, sliding_window_attention(Q, K, V, 3, 1), [&](uword n) {
    return sliding_window_attention(Q.slices(n, n), K.slices(n, n), V.slices(n, n), 3, 1);
  });
}

TEST(SlidingWindowAttention, FollowsPermutedSlices) {
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
  EXPECT_THAT(sliding_window_attention(Q, reordered(K, kept), reordered(V, kept), 3, 2),
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
      EXPECT_HOLDS(reached == (i <= layers * (window - 1)),
                   "token 0 was changed, and after " + std::to_string(layers) + (layers == 1 ? " layer" : " layers") +
                       " of window 4 token " + std::to_string(i) + (reached ? " changed too" : " did not change"));
    }
  }
}

TEST(SlidingWindowAttention, MixesNoBlockedValues) {
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
        EXPECT_HOLDS(!row.is_finite(), "the NaN was hidden") << about;
      } else {
        const bool mixed = arma::approx_equal(arma::cube(finite.rows(i, i)), row_wanted, "absdiff", 1e-12);
        EXPECT_THAT(row, IsNear(row_wanted, {"1", "Dv", "N"}))
            << about << (mixed ? likely_mistake("blocked_values_mixed") : "");
      }
    }
  }
}

TEST(SlidingWindowAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  const auto [Q, K, V] = tokens_of(golden);
  EXPECT_THAT(sliding_window_attention(Q, K, V, 3, 1), Matches(golden.expected("output")));
}

TEST(SlidingWindowAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("more_keys");
  const auto [Q, K, V] = tokens_of(golden);
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

TEST(SlidingWindowAttention, LeavesItsArguments) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_leaves_its_arguments("sliding_window_attention", {{"Q", Q}, {"K", K}, {"V", V}},
                              [&] { sliding_window_attention(Q, K, V, 3, 1); });
}

TEST(SlidingWindowAttention, LeavesTheGeneratorAlone) {
  const arma::cube Q = normal(4, 3, 2), K = normal(7, 3, 2), V = normal(7, 5, 2);
  expect_leaves_the_generator_alone("sliding_window_attention", [&] { sliding_window_attention(Q, K, V, 3, 1); });
}

// ------------------------------------------------------------------------------------------------- the work, 17.3

TEST(SlidingWindowAttention, ComputesOnlyTheScoresOfTheWindowAndTheSinks) {
  const uword L = 14, S = 16, window = 2, sinks = 1;
  const uword allowed = arma::accu(naive_mask({L, S, window, sinks}));
  const uword computed = computed_scores(L, S, window, sinks);
  EXPECT_TRUE(computed == allowed) << line("work", "computed " + text(computed) + " of the " + text(L * S) +
                                                       " scores of a slice, want the " + text(allowed) +
                                                       " that the mask allows")
                                   << note(sizes_text({L, S, window, sinks}))
                                   << (computed > 2 * allowed ? likely_mistake("full_attention") : "");
}

/// Half of one L x S matrix.
std::size_t memory_limit(const Sizes& n) { return n.L * n.S * sizeof(double) / 2; }

/// One call, with one slice of narrow tokens.
std::function<void()> attention_of(const Sizes& n) {
  return [n, Q = normal(n.L, 1, 1), K = zeros(n.S, 1, 1), V = zeros(n.S, 1, 1)] {
    sliding_window_attention(Q, K, V, n.window, n.sinks);
  };
}

TEST(SlidingWindowAttention, MakesNothingAsLargeAsTheScores) {
  const uword N = 2;
  const Sizes n = {400, 401, 4, 2};
  const arma::cube Q = normal(n.L, 5, N), K = normal(n.S, 5, N), V = normal(n.S, 3, N);
  const std::size_t asked = allocated_bytes([&] { sliding_window_attention(Q, K, V, n.window, n.sinks); });
  const std::size_t by_keys = allocated_bytes([&] {
    for (uword i = 0; i < n.L; ++i) ask(i, n);
  });
  const std::size_t at_most = memory_limit(n);
  EXPECT_TRUE(asked <= at_most) << line("memory", "asked for " + bytes_text(asked) + ", want at most " +
                                                      bytes_text(at_most) + ", half of one L x S matrix")
                                << note(sizes_text(n))
                                << (by_keys > at_most ? note("window_keys alone asks for " + bytes_text(by_keys) +
                                                             ": make no list longer than the keys of the query")
                                                      : "")
                                << likely_mistake("large_as_the_scores");
}

TEST(SlidingWindowAttention, TakesNoTimeForUnseenKeys) {
  const Sizes small = {20, 20'000, 2, 1};
  ASSERT_TRUE(allocated_bytes(attention_of(small)) <= memory_limit(small))
      << line("memory", "asked for more than half of an L x S matrix, and it takes time to fill that")
      << note(sizes_text(small));

  const Sizes one = {1, 250'000, 2, 1}, many = {161, 250'000, 2, 1};
  const double limit = 0.008;
  const double first = computing_seconds(attention_of(one), 0);  // such as for a copy of K
  const double seconds = computing_seconds(attention_of(many), first + limit) - first;
  const auto wanted = [&](uword i) { return arma::uvec{0, i + many.S - many.L - 1, i + many.S - many.L}; };
  const bool right = is_right(ask(0, many), wanted(0)) && is_right(ask(160, many), wanted(160));
  EXPECT_TRUE(seconds < limit) << line("time", "160 queries more took " + milliseconds_text(seconds) +
                                                   " more of computing, want less than " + milliseconds_text(limit))
                               << note("each sees three keys. " + sizes_text(many))
                               << (right ? likely_mistake("keys_searched_for") : "");
}

// ------------------------------------------------------------------------------------------------------- bad input

TEST(WindowKeys, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { window_keys(0, 0, 5, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { window_keys(2, 4, 0, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}), [] { window_keys(2, 4, 5, 0, 1); });
}

TEST(WindowKeys, RejectsAQueryThatDoesNotExist) {
  EXPECT_PRED_FORMAT1(RejectsArgument("i", {"4", "L = 4"}), [] { window_keys(4, 4, 7, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("i", {"6", "L = 4"}), [] { window_keys(6, 4, 7, 3, 1); });
}

TEST(SlidingWindowMask, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { sliding_window_mask(0, 5, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { sliding_window_mask(4, 0, 3, 1); });
  EXPECT_PRED_FORMAT1(RejectsArgument("window", {"0"}), [] { sliding_window_mask(4, 5, 0, 1); });
}

TEST(SlidingWindowAttention, RejectsSizesOfZero) {
  for (const arma::SizeCube size : {arma::SizeCube(0, 3, 2), arma::SizeCube(4, 0, 2), arma::SizeCube(4, 3, 0)}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("Q", {shape_text(arma::cube(size))}),
                        [=] { sliding_window_attention(arma::cube(size), zeros(7, 3, 2), zeros(7, 5, 2), 2); });
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 0 x 0"}),
                      [] { sliding_window_attention(arma::cube(), zeros(7, 3, 2), zeros(7, 5, 2), 2); });
}

TEST(SlidingWindowAttention, RejectsKeysOfTheWrongShape) {
  const auto expect_rejected = [](const arma::cube& K, const std::vector<std::string>& words) {
    const arma::cube Q = zeros(4, 3, 2), V = zeros(7, 5, 2);
    EXPECT_PRED_FORMAT1(RejectsArgument("K", words), [&] { sliding_window_attention(Q, K, V, 2, 1); });
  };
  expect_rejected(zeros(7, 4, 2), {"7 x 4 x 2", "3"});
  expect_rejected(zeros(7, 2, 2), {"7 x 2 x 2", "3"});
  expect_rejected(zeros(7, 3, 1), {"7 x 3 x 1", "2"});
  expect_rejected(zeros(7, 3, 4), {"7 x 3 x 4", "2"});
  expect_rejected(arma::cube(0, 3, 2), {"0 x 3 x 2"});
}

TEST(SlidingWindowAttention, RejectsValuesOfTheWrongShape) {
  const auto expect_rejected = [](const arma::cube& V, const std::vector<std::string>& words) {
    const arma::cube Q = zeros(4, 3, 2), K = zeros(7, 3, 2);
    EXPECT_PRED_FORMAT1(RejectsArgument("V", words), [&] { sliding_window_attention(Q, K, V, 2, 1); });
  };
  expect_rejected(zeros(6, 5, 2), {"6 x 5 x 2", "7"});
  expect_rejected(zeros(8, 5, 2), {"8 x 5 x 2", "7"});
  expect_rejected(zeros(7, 5, 1), {"7 x 5 x 1", "2"});
  expect_rejected(zeros(7, 5, 4), {"7 x 5 x 4", "2"});
  expect_rejected(arma::cube(7, 0, 2), {"7 x 0 x 2"});
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
}  // namespace attn::judge
