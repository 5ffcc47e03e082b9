#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attn/second_bug_hunt.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/speed.hpp"

// No check may pass on the files as they are given, so each also asks for something that is wrong in them; and none may
// name the bug: a note says which property does not hold, and finding out why is the lesson.
namespace attn::judge {
namespace {

using namespace second_bug_hunt;

const std::vector<std::string> output_axes = {"L", "Dv", "N"};

/// The first rows of every slice.
arma::cube head(const arma::cube& x, arma::uword rows) { return x.rows(0, rows - 1); }

/// Query i of the last L of S tokens sees the keys j with place - window < j <= place, place = i + S - L.
Mask visible(arma::uword L, arma::uword S, arma::uword window) {
  Mask mask(L, S, 1, arma::fill::zeros);
  for (arma::uword i = 0; i < L; ++i) {
    for (arma::uword j = 0; j < S; ++j) mask(i, j, 0) = j + L <= i + S && i + S < j + L + window;
  }
  return mask;
}

Mask visible(arma::uword L, arma::uword S) { return visible(L, S, L + S); }

std::string numbers(const arma::uvec& values) {
  std::string text;
  for (const arma::uword value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text.empty() ? "none" : text;
}

// --------------------------------------------------------------------------------------------- second_turn, 29.1

struct Chat {
  arma::cube Q;
  arma::cube K;
  arma::cube V;

  Chat(arma::uword tokens, arma::uword D, arma::uword N)
      : Q(2 * normal(tokens, D, N)), K(2 * normal(tokens, D, N)), V(normal(tokens, D, N)) {}
  explicit Chat(const GoldenCase& golden) : Q(golden.cube("Q")), K(golden.cube("K")), V(golden.cube("V")) {}

  arma::cube read(ChatCache& cache, arma::uword first, arma::uword last) const {
    return read_turn(cache, Q.rows(first, last), K.rows(first, last), V.rows(first, last));
  }

  /// In turns of so many tokens; what is left over is one more turn.
  arma::cube in_turns(std::vector<arma::uword> turns) const {
    ChatCache cache;
    arma::cube output(arma::size(Q));
    arma::uword first = 0;
    turns.push_back(Q.n_rows);
    for (const arma::uword turn : turns) {
      if (first == Q.n_rows) break;
      const arma::uword last = std::min(first + turn, Q.n_rows) - 1;
      output.rows(first, last) = read(cache, first, last);
      first = last + 1;
    }
    return output;
  }

  arma::cube naive() const { return naive_attention(turned(Q), turned(K), V, visible(Q.n_rows, Q.n_rows)); }

 private:
  /// Rotary positions 0, 1, ..., one number at a time: feature p and p + D / 2 are a pair.
  static arma::cube turned(const arma::cube& X) {
    const arma::uword half = X.n_cols / 2;
    arma::cube result(arma::size(X));
    for (arma::uword n = 0; n < X.n_slices; ++n) {
      for (arma::uword i = 0; i < X.n_rows; ++i) {
        for (arma::uword p = 0; p < half; ++p) {
          const double angle =
              static_cast<double>(i) * std::pow(1e4, -static_cast<double>(p) / static_cast<double>(half));
          const double a = X(i, p, n), b = X(i, p + half, n);
          result(i, p, n) = a * std::cos(angle) - b * std::sin(angle);
          result(i, p + half, n) = a * std::sin(angle) + b * std::cos(angle);
        }
      }
    }
    return result;
  }
};

const std::vector<std::string> chat_axes = {"L", "D", "N"};

TEST(SecondTurn, GivesTheTwoTurnsWorkedByHand) {
  const GoldenCase golden = load_golden("chat_by_hand");
  EXPECT_THAT(Chat(golden).in_turns({2}), Matches(golden.expected("output")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K")) << given("V", golden.cube("V"))
      << note("tokens 0 and 1 are the first turn, token 2 is the second");
}

TEST(SecondTurn, GivesTheSameWhereverTheChatIsCut) {
  const Chat chat(8, 6, 2);
  const arma::cube at_once = chat.in_turns({8});
  for (const std::vector<arma::uword>& turns :
       {std::vector<arma::uword>{5}, {2}, {7}, {3, 4}, {4, 3}, {2, 3, 3}, {1, 5, 2}}) {
    EXPECT_THAT(chat.in_turns(turns), IsNear(at_once, chat_axes))
        << note("8 tokens, read in turns of " + numbers(arma::uvec(turns)) +
                " and the rest; expected is what a single call gives");
  }
}

TEST(SecondTurn, ReadsTokenByToken) {
  const Chat chat(5, 4, 3);
  EXPECT_THAT(chat.in_turns({1, 1, 1, 1, 1}), IsNear(chat.naive(), chat_axes))
      << note("5 tokens, each a call of its own, as in decoding");
}

TEST(SecondTurn, KeepsTwoChatsApart) {
  const Chat one(6, 4, 2), other(6, 4, 2);
  ChatCache cache, other_cache;
  one.read(cache, 0, 3);
  other.read(other_cache, 0, 1);
  const arma::cube output = one.read(cache, 4, 5);
  const arma::cube other_output = other.read(other_cache, 2, 5);
  EXPECT_THAT(output, IsNear(arma::cube(one.naive().rows(4, 5)), chat_axes))
      << note("two chats take turns, each with its own cache; this is the second turn of the first one");
  EXPECT_THAT(other_output, IsNear(arma::cube(other.naive().rows(2, 5)), chat_axes))
      << note("two chats take turns, each with its own cache; this is the second turn of the second one");
}

TEST(SecondTurn, EqualsPyTorch) {
  const GoldenCase golden = load_golden("chat");
  EXPECT_THAT(Chat(golden).in_turns({3, 2}), Matches(golden.expected("output")))
      << note("7 tokens, in turns of 3, 2 and 2");
}

TEST(SecondTurn, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword tokens, D, N;
    std::vector<arma::uword> turns;
  };
  for (const auto& [tokens, D, N, turns] :
       {Sizes{5, 2, 3, {2}}, {4, 8, 1, {2, 1}}, {7, 6, 4, {4, 2}}, {70, 4, 2, {33, 31}}}) {
    const Chat chat(tokens, D, N);
    EXPECT_THAT(chat.in_turns(turns), IsNear(chat.naive(), chat_axes))
        << note(std::to_string(tokens) + " tokens, in turns of " + numbers(arma::uvec(turns)) + " and the rest");
    EXPECT_THAT(chat.in_turns({tokens}), IsNear(chat.naive(), chat_axes)) << note("all tokens in one turn");
  }
}

// ------------------------------------------------------------------------------------ converted_checkpoint, 29.2

/// Slice b·H + h is what query head h of sequence b must use: slice b·G + h / (H / G).
arma::cube of_each_head(const arma::cube& heads, arma::uword H, arma::uword G) {
  arma::cube repeated(heads.n_rows, heads.n_cols, heads.n_slices / G * H);
  for (arma::uword n = 0; n < repeated.n_slices; ++n) repeated.slice(n) = heads.slice(n / H * G + n % H / (H / G));
  return repeated;
}

arma::cube naive_grouped(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword H, arma::uword G) {
  return naive_attention(Q, of_each_head(K, H, G), of_each_head(V, H, G));
}

const std::vector<std::string> head_axes = {"L", "D", "H·B"};

TEST(ConvertedCheckpoint, GivesTheFourHeadsWorkedByHand) {
  const GoldenCase golden = load_golden("heads_by_hand");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 4, 2),
              Matches(golden.expected("output")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K")) << given("V", golden.cube("V"))
      << note("H = 4 query heads, G = 2 key/value heads");
}

TEST(ConvertedCheckpoint, GivesEachHeadTheValuesOfItsGroup) {
  for (const arma::uword G : {2U, 3U}) {
    const arma::uword H = 6, B = 2;
    arma::cube V(4, 5, G * B);
    for (arma::uword n = 0; n < V.n_slices; ++n) V.slice(n).fill(static_cast<double>(10 * (n / G) + n % G));
    EXPECT_THAT(grouped_attention(normal(3, 5, H * B), normal(4, 5, G * B), V, H, G),
                IsNear(head(of_each_head(V, H, G), 3), head_axes))
        << note("H = 6, G = " + std::to_string(G) +
                ": all values of key/value head g of sequence b are 10·b + g, so each head's output is the number of "
                "the head that it uses");
  }
}

TEST(ConvertedCheckpoint, ChangesTheHeadsOfOneGroup) {
  const arma::uword H = 6, G = 2, B = 2;
  const arma::cube Q = normal(3, 5, H * B), K = normal(4, 5, G * B), V = normal(4, 5, G * B);
  const arma::cube before = grouped_attention(Q, K, V, H, G);
  for (const bool of_keys : {true, false}) {
    for (arma::uword n = 0; n < G * B; ++n) {
      arma::cube changed = of_keys ? K : V;
      changed.slice(n).row(1) += 1 + arma::linspace<arma::rowvec>(0, 1, 5);
      const arma::cube after =
          of_keys ? grouped_attention(Q, changed, V, H, G) : grouped_attention(Q, K, changed, H, G);
      arma::uvec slices;
      for (arma::uword slice = 0; slice < H * B; ++slice) {
        if (arma::approx_equal(after.slice(slice), before.slice(slice), "absdiff", 1e-9)) continue;
        slices.insert_rows(slices.n_elem, arma::uvec{slice});
      }
      const arma::uvec expected = arma::regspace<arma::uvec>(n * H / G, (n + 1) * H / G - 1);
      EXPECT_HOLDS(numbers(slices) == numbers(expected),
                   "slices of the output that changed: " + numbers(slices) + "; expected: " + numbers(expected))
          << note(std::string("H = 6, G = 2, B = 2: one token of slice ") + std::to_string(n) + " of the " +
                  (of_keys ? "keys" : "values") + " was changed");
    }
  }
}

TEST(ConvertedCheckpoint, EqualsPyTorchWithTwoGroups) {
  const GoldenCase golden = load_golden("two_groups");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 6, 2),
              Matches(golden.expected("output")));
}

TEST(ConvertedCheckpoint, EqualsPyTorchWithThreeGroups) {
  const GoldenCase golden = load_golden("three_groups");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 6, 3),
              Matches(golden.expected("output")));
}

TEST(ConvertedCheckpoint, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, H, G, B;
  };
  for (const auto& [L, S, D, H, G, B] : {Sizes{2, 5, 3, 8, 4, 1},
                                         {3, 4, 5, 8, 2, 2},
                                         {1, 7, 2, 9, 3, 4},
                                         {4, 2, 6, 5, 1, 3},
                                         {2, 3, 4, 6, 6, 5},
                                         {9, 70, 2, 12, 4, 3}}) {
    const arma::cube Q = normal(L, D, H * B), K = normal(S, D, G * B), V = normal(S, D, G * B);
    EXPECT_THAT(grouped_attention(Q, K, V, H, G), IsNear(naive_grouped(Q, K, V, H, G), head_axes))
        << note("H = " + std::to_string(H) + ", G = " + std::to_string(G) + ", B = " + std::to_string(B));
  }
}

// ----------------------------------------------------------------------------------------- short_sentences, 29.3

struct Step {
  arma::cube q;
  arma::cube k;
  arma::cube v;

  Step(arma::uword D, arma::uword N) : q(2 * normal(1, D, N)), k(2 * normal(1, D, N)), v(normal(1, D, N)) {}
  explicit Step(const GoldenCase& golden) : q(golden.cube("q")), k(golden.cube("k")), v(golden.cube("v")) {}

  arma::cube take(BatchCache& cache) const { return decode_step(cache, q, k, v); }

  /// What it must give: each sentence alone, with the tokens that it really has.
  arma::cube naive(const BatchCache& cache) const {
    arma::cube output(arma::size(q));
    const arma::uword H = q.n_slices / cache.lengths.n_elem;
    for (arma::uword n = 0; n < q.n_slices; ++n) {
      const arma::uword length = cache.lengths(n / H);
      arma::cube K(length + 1, q.n_cols, 1), V(length + 1, q.n_cols, 1);
      K.slice(0) = arma::join_cols(cache.keys.slice(n).head_rows(length), k.slice(n));
      V.slice(0) = arma::join_cols(cache.values.slice(n).head_rows(length), v.slice(n));
      output.slice(n) = naive_attention(q.slices(n, n), K, V).slice(0);
    }
    return output;
  }
};

/// A cache whose unused rows are zeros; used before, the row after each sentence's next token holds what is left there.
BatchCache drawn_cache(const arma::uvec& lengths, arma::uword H, arma::uword D, arma::uword capacity,
                       bool used_before) {
  BatchCache cache = {normal(capacity, D, H * lengths.n_elem), normal(capacity, D, H * lengths.n_elem), lengths};
  for (arma::uword n = 0; n < cache.keys.n_slices; ++n) {
    const arma::uword next = lengths(n / H);
    cache.keys.slice(n).tail_rows(capacity - next).zeros();
    cache.values.slice(n).tail_rows(capacity - next).zeros();
    if (!used_before) continue;
    cache.keys.slice(n).row(next + 1) = arma::rowvec(D, arma::fill::randn);
    cache.values.slice(n).row(next + 1).fill(1000);
  }
  return cache;
}

const std::vector<std::string> step_axes = {"1", "D", "H·B"};

BatchCache cache_of(const GoldenCase& golden) {
  return {golden.cube("keys"), golden.cube("values"), arma::conv_to<arma::uvec>::from(golden.rowvec("lengths"))};
}

TEST(ShortSentences, GivesTheTwoSentencesWorkedByHand) {
  const GoldenCase golden = load_golden("step_by_hand");
  BatchCache cache = cache_of(golden);
  EXPECT_THAT(Step(golden).take(cache), Matches(golden.expected("output")))
      << given("keys", golden.cube("keys")) << given("values", golden.cube("values")) << given("q", golden.cube("q"))
      << given("k", golden.cube("k")) << given("v", golden.cube("v")) << note("the lengths are 1 and 2");
}

TEST(ShortSentences, GivesEachSentenceWhatItGivesAlone) {
  for (const arma::uvec& lengths : {arma::uvec{1, 4, 2}, {0, 4, 4}, {1, 6, 1}}) {
    BatchCache cache = drawn_cache(lengths, 2, 5, 7, false);
    const Step step(5, 6);
    const arma::cube alone = step.naive(cache);
    EXPECT_THAT(step.take(cache), IsNear(alone, step_axes))
        << note("the lengths are " + numbers(lengths) + ", and unused rows are zeros; H = 2");
  }
}

TEST(ShortSentences, GivesAFirstTokenItsOwnValue) {
  BatchCache cache = drawn_cache({2, 0, 4}, 2, 4, 6, false);
  const Step step(4, 6);
  const arma::cube output = step.take(cache);
  EXPECT_THAT(arma::cube(output.slices(2, 3)), IsNear(arma::cube(step.v.slices(2, 3)), step_axes))
      << note("sentence 1 begins with this token; the others have 2 and 4 already");
}

TEST(ShortSentences, IgnoresUnusedRows) {
  const arma::uvec lengths = {2, 5, 0, 3};
  BatchCache cache = drawn_cache(lengths, 2, 3, 8, true);
  const Step step(3, 8);
  const arma::cube alone = step.naive(cache);
  EXPECT_THAT(step.take(cache), IsNear(alone, step_axes)) << note(
      "the lengths are 2, 5, 0, 3, and one more after this step; the row after that holds what an earlier batch left "
      "there");
}

TEST(ShortSentences, EqualsPyTorch) {
  const GoldenCase golden = load_golden("step");
  BatchCache cache = cache_of(golden);
  EXPECT_THAT(Step(golden).take(cache), Matches(golden.expected("output")))
      << note("the lengths are 1, 5, 3, 0; H = 2");
}

TEST(ShortSentences, TakesManySteps) {
  BatchCache cache = drawn_cache({1, 0, 3}, 2, 4, 9, true);
  BatchCache expected = cache;
  for (int number = 0; number < 5; ++number) {
    const Step step(4, 6);
    const arma::cube alone = step.naive(expected);
    EXPECT_THAT(step.take(cache), IsNear(alone, step_axes))
        << note("step " + std::to_string(number) + " of a batch that began with the lengths 1, 0, 3");
    for (arma::uword n = 0; n < 6; ++n) {
      expected.keys.slice(n).row(expected.lengths(n / 2)) = step.k.slice(n);
      expected.values.slice(n).row(expected.lengths(n / 2)) = step.v.slice(n);
    }
    expected.lengths += 1;
    EXPECT_HOLDS(numbers(cache.lengths) == numbers(expected.lengths),
                 "the lengths are " + numbers(cache.lengths) + "; expected: " + numbers(expected.lengths))
        << note("after step " + std::to_string(number));
  }
}

TEST(ShortSentences, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uvec lengths;
    arma::uword H, D;
  };
  for (const auto& [lengths, H, D] :
       {Sizes{{2, 4}, 3, 5}, {{0, 1, 6, 2, 3}, 1, 4}, {{2, 60, 7}, 4, 2}, {{1, 3, 3, 3}, 2, 1}}) {
    for (const bool used_before : {true, false}) {
      BatchCache cache = drawn_cache(lengths, H, D, lengths.max() + 2, used_before);
      const Step step(D, H * lengths.n_elem);
      const arma::cube alone = step.naive(cache);
      EXPECT_THAT(step.take(cache), IsNear(alone, step_axes))
          << note("the lengths are " + numbers(lengths) + "; H = " + std::to_string(H));
    }
  }
}

// ----------------------------------------------------------------------------------------------- long_text, 29.4

TEST(LongText, GivesTheChunkWorkedByHand) {
  const GoldenCase golden = load_golden("window_by_hand");
  EXPECT_THAT(windowed_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 2),
              Matches(golden.expected("output")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K")) << given("V", golden.cube("V"))
      << note("the window is 2; the queries are tokens 2, 3 and 4");
}

TEST(LongText, AttendsToTheNewestKeysAndNoOthers) {
  struct Sizes {
    arma::uword L, S, window;
  };
  for (const auto& [L, S, window] : {Sizes{3, 9, 2}, {1, 8, 6}, {4, 11, 5}}) {
    const arma::cube Q = normal(L, 5, 2), K = normal(S, 5, 2);
    arma::cube V(S, S, 2);
    V.each_slice() = arma::mat(S, S, arma::fill::eye);  // so the output is the weights
    const arma::cube weights = windowed_attention(Q, K, V, window);
    for (arma::uword i = 0; i < L; ++i) {
      const arma::rowvec row = weights.slice(1).row(i);
      const arma::uword place = i + S - L;
      const arma::uvec expected = arma::regspace<arma::uvec>(place + 1 - std::min(window, place + 1), place);
      const arma::uvec attended = arma::find(row != 0);
      EXPECT_HOLDS(numbers(attended) == numbers(expected), "query " + std::to_string(i) + " attends to the keys " +
                                                               numbers(attended) + "; expected: " + numbers(expected))
          << note("L = " + std::to_string(L) + ", S = " + std::to_string(S) + ", window " + std::to_string(window));
    }
  }
}

TEST(LongText, GivesTheSameAtOnceAndInChunks) {
  const arma::uword S = 12, window = 4;
  const arma::cube Q = 2 * normal(S, 3, 2), K = 2 * normal(S, 3, 2), V = normal(S, 5, 2);
  const arma::cube at_once = windowed_attention(Q, K, V, window);
  for (const arma::uword chunk : {1U, 2U, 3U, 5U, 7U}) {
    arma::cube output(S, 5, 2);
    for (arma::uword first = 0; first < S; first += chunk) {
      const arma::uword last = std::min(first + chunk, S) - 1;
      output.rows(first, last) = windowed_attention(Q.rows(first, last), head(K, last + 1), head(V, last + 1), window);
    }
    EXPECT_THAT(output, IsNear(at_once, output_axes))
        << note("12 tokens in chunks of " + std::to_string(chunk) + ", window 4; expected is what a single call gives");
  }
}

TEST(LongText, ForgetsWhatIsOlderThanTheWindow) {
  const arma::cube Q = normal(6, 4, 3), K = normal(12, 4, 3), V = normal(12, 5, 3);
  arma::cube other_K = K, other_V = V;
  other_K.rows(0, 1) *= -3;
  other_V.rows(0, 1) += 1000;
  EXPECT_THAT(windowed_attention(Q, other_K, other_V, 5),
              IsNear(naive_attention(Q, K, V, visible(6, 12, 5)), output_axes))
      << note("the queries are tokens 6 to 11, the window is 5; keys and values 0 and 1 were changed, and are too old");
}

TEST(LongText, ReturnsTheOwnValueForAWindowOfOne) {
  const arma::cube V = normal(6, 5, 2);
  EXPECT_THAT(windowed_attention(normal(3, 4, 2), normal(6, 4, 2), V, 1), IsNear(arma::cube(V.rows(3, 5)), output_axes))
      << note("a window of 1 holds the query's own token, and nothing else; the queries are tokens 3 to 5");
}

TEST(LongText, EqualsPyTorch) {
  const GoldenCase golden = load_golden("window");
  EXPECT_THAT(windowed_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 5),
              Matches(golden.expected("output")))
      << note("the window is 5; the queries are the last 7 of 11 tokens");
}

TEST(LongText, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, window;
  };
  for (const auto& [L, S, window] :
       {Sizes{2, 7, 3}, {5, 11, 2}, {1, 9, 8}, {4, 4, 2}, {3, 8, 20}, {6, 10, 4}, {30, 70, 16}, {8, 12, 6}}) {
    const arma::cube Q = normal(L, 3, 2), K = normal(S, 3, 2), V = normal(S, 5, 2);
    EXPECT_THAT(windowed_attention(Q, K, V, window),
                IsNear(naive_attention(Q, K, V, visible(L, S, window)), output_axes))
        << note("L = " + std::to_string(L) + ", S = " + std::to_string(S) + ", window " + std::to_string(window));
  }
}

// --------------------------------------------------------------------------------------------- many_blocks, 29.5

TEST(ManyBlocks, GivesTheRowWorkedByHand) {
  const GoldenCase golden = load_golden("blocks_by_hand");
  EXPECT_THAT(blockwise_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 1),
              Matches(golden.expected("output")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K")) << given("V", golden.cube("V"))
      << note("three blocks of one key each");
}

TEST(ManyBlocks, GivesTheSameForEveryBlockSize) {
  const arma::cube Q = 2 * normal(4, 5, 2), K = 2 * normal(7, 5, 2), V = normal(7, 6, 2);
  const arma::cube in_one = blockwise_attention(Q, K, V, 7);
  for (const arma::uword size : {1U, 2U, 3U, 4U, 5U, 6U, 9U}) {
    EXPECT_THAT(blockwise_attention(Q, K, V, size), IsNear(in_one, output_axes))
        << note("7 keys in blocks of " + std::to_string(size) + "; expected is what one block of 7 gives");
  }
}

TEST(ManyBlocks, FindsTheBestKeyWhereverItIs) {
  const arma::cube Q(2, 4, 3, arma::fill::ones);
  for (const arma::uword best : {7U, 3U, 5U, 0U}) {
    arma::cube K = 0.1 * normal(8, 4, 3);
    K.row(best) += 20;
    const arma::cube V = normal(8, 5, 3);
    arma::cube wanted(2, 5, 3);
    for (arma::uword n = 0; n < 3; ++n) wanted.slice(n).each_row() = arma::rowvec(V.slice(n).row(best));
    EXPECT_THAT(blockwise_attention(Q, K, V, 3), IsNear(wanted, output_axes))
        << note("the score of key " + std::to_string(best) +
                " is 40 above all others, so the output is its value; 8 keys in blocks of 3");
  }
}

TEST(ManyBlocks, IgnoresTheOrderOfKeys) {
  const GoldenCase golden = load_golden("blocks");
  for (const arma::uvec& order :
       {arma::uvec{7, 6, 5, 4, 3, 2, 1, 0}, {2, 3, 4, 5, 6, 7, 0, 1}, {4, 0, 6, 1, 7, 2, 5, 3}}) {
    EXPECT_THAT(blockwise_attention(golden.cube("Q"), reordered(golden.cube("K"), order),
                                    reordered(golden.cube("V"), order), 2),
                Matches(golden.expected("output")))
        << note("keys and values were put in the order " + numbers(order) + "; the output must not change");
  }
}

TEST(ManyBlocks, EqualsPyTorch) {
  const GoldenCase golden = load_golden("blocks");
  for (const arma::uword size : {2U, 3U}) {
    EXPECT_THAT(blockwise_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), size),
                Matches(golden.expected("output")))
        << note("8 keys in blocks of " + std::to_string(size));
  }
}

TEST(ManyBlocks, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("blocks");
  for (const double size : {3000.0, -3000.0}) {
    arma::cube Q = golden.cube("Q");
    Q.insert_cols(5, arma::cube(3, 1, 2, arma::fill::ones));  // a sixth feature, 1 in every query
    arma::cube K = golden.cube("K");
    K.insert_cols(5, arma::cube(8, 1, 2).fill(size));  // and the same in every key
    Q *= std::sqrt(6.0 / 5.0);                         // as if D were still 5
    EXPECT_THAT(blockwise_attention(Q, K, golden.cube("V"), 3),
                IsNear(golden.expected("output").values, output_axes, 1e-9))
        << note("the same number, about " + std::to_string(static_cast<int>(size / 2)) +
                ", was added to every score: no weight may change");
  }
  arma::cube V(5, 4, 2);
  std::iota(V.begin(), V.end(), 1.0);
  for (const arma::uword best : {4U, 0U}) {
    arma::cube K(5, 1, 2);
    K.fill(-900);
    K.row(best).fill(900);
    arma::cube wanted(1, 4, 2);
    for (arma::uword n = 0; n < 2; ++n) wanted.slice(n) = V.slice(n).row(best);
    EXPECT_THAT(blockwise_attention(arma::cube(1, 1, 2, arma::fill::ones), K, V, 2), IsNear(wanted, output_axes))
        << note("the score of key " + std::to_string(best) + " is 900, those of the others are -900; blocks of 2");
  }
  arma::cube Q(2, 1, 2), K(5, 1, 2);
  Q.row(0).fill(1);
  Q.row(1).fill(900);
  for (arma::uword j = 0; j < 5; ++j) K.row(j).fill(static_cast<double>(j));
  arma::cube wanted(2, 4, 2);
  for (arma::uword n = 0; n < 2; ++n) {
    wanted.slice(n).row(0) = naive_attention(head(Q, 1), K, V).slice(n);
    wanted.slice(n).row(1) = V.slice(n).row(4);
  }
  EXPECT_THAT(blockwise_attention(Q, K, V, 2), IsNear(wanted, output_axes))
      << note("the scores of query 0 are 0, 1, 2, 3 and 4, those of query 1 are 900 times as large; blocks of 2");
}

TEST(ManyBlocks, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, Dv, N, block;
  };
  for (const auto& [L, S, D, Dv, N, block] : {Sizes{2, 5, 3, 4, 6, 2},
                                              {5, 9, 2, 3, 1, 4},
                                              {1, 6, 4, 5, 3, 3},
                                              {7, 4, 5, 1, 2, 1},
                                              {3, 70, 2, 4, 5, 16},
                                              {4, 8, 3, 2, 5, 8}}) {
    const arma::cube Q = 2 * normal(L, D, N), K = 2 * normal(S, D, N), V = normal(S, Dv, N);
    EXPECT_THAT(blockwise_attention(Q, K, V, block), IsNear(naive_attention(Q, K, V), output_axes))
        << note("S = " + std::to_string(S) + " keys in blocks of " + std::to_string(block));
  }
}

// ------------------------------------------------------------------------------------------- cached_prefix, 29.6

std::string sizes_text(arma::uword L, arma::uword S, arma::uword query_block, arma::uword key_block) {
  return "L = " + std::to_string(L) + ", S = " + std::to_string(S) + ", tiles of " + std::to_string(query_block) +
         " x " + std::to_string(key_block);
}

TEST(CachedPrefix, GivesTheChunkWorkedByHand) {
  const GoldenCase golden = load_golden("tiles_by_hand");
  EXPECT_THAT(tiled_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 3, 3),
              Matches(golden.expected("output")))
      << given("Q", golden.cube("Q")) << given("K", golden.cube("K")) << given("V", golden.cube("V"))
      << note("one token is in the cache, three follow; tiles of 3 x 3");
}

TEST(CachedPrefix, AgreesAfterSixtySixTokens) {
  for (const arma::uword prefix : {66U, 64U, 1U, 0U, 130U}) {
    const arma::uword L = 66, S = prefix + L;
    const arma::cube Q = normal(L, 3, 2), K = normal(S, 3, 2), V = normal(S, 4, 2);
    EXPECT_THAT(tiled_attention(Q, K, V, 64, 64), IsNear(naive_attention(Q, K, V, visible(L, S)), output_axes))
        << note(std::to_string(prefix) + " tokens are in the cache, 66 follow; tiles of 64 x 64");
  }
}

TEST(CachedPrefix, BlocksTheFuture) {
  const arma::uword L = 7, S = 9;
  const arma::cube Q = normal(L, 4, 2), K = normal(S, 4, 2), V = normal(S, 5, 2);
  const arma::cube before = tiled_attention(Q, K, V, 4, 4);
  for (arma::uword j = S - L + 1; j < S; ++j) {
    arma::cube other_K = K, other_V = V;
    other_K.row(j) += 1;
    other_V.row(j) += 10;
    const arma::cube change = arma::abs(tiled_attention(Q, other_K, other_V, 4, 4) - before);
    const arma::vec rows = arma::max(change.slice(1), 1);
    const arma::uvec changed = arma::find(rows > 1e-9) + (S - L);
    const arma::uvec expected = arma::regspace<arma::uvec>(j, S - 1);
    EXPECT_HOLDS(numbers(changed) == numbers(expected),
                 "token " + std::to_string(j) + " was changed, and the output of tokens " + numbers(changed) +
                     " with it; expected: " + numbers(expected))
        << note("tokens 0 and 1 are in the cache, the queries are tokens 2 to 8; tiles of 4 x 4");
  }
}

TEST(CachedPrefix, GivesTheSameForEveryBlockSize) {
  const arma::uword L = 6, S = 9;
  const arma::cube Q = 2 * normal(L, 3, 2), K = 2 * normal(S, 3, 2), V = normal(S, 4, 2);
  const arma::cube wanted = naive_attention(Q, K, V, visible(L, S));
  for (const arma::uword query_block : {6U, 4U, 3U, 2U, 1U, 8U}) {
    for (const arma::uword key_block : {1U, 2U, 3U, 4U, 9U, 12U}) {
      EXPECT_THAT(tiled_attention(Q, K, V, query_block, key_block), IsNear(wanted, output_axes))
          << note(sizes_text(L, S, query_block, key_block));
    }
  }
}

TEST(CachedPrefix, DoesNotReadWhatNoQueryOfABlockSees) {
  const arma::uword L = 6, S = 8;
  const arma::cube Q = normal(L, 3, 2), K = normal(S, 3, 2), V = normal(S, 4, 2);
  arma::cube other_K = K, other_V = V;
  other_K.rows(5, S - 1).fill(arma::datum::nan);
  other_V.rows(5, S - 1).fill(arma::datum::nan);
  EXPECT_THAT(head(tiled_attention(Q, other_K, other_V, 3, 2), 3),
              IsNear(head(naive_attention(Q, K, V, visible(L, S)), 3), output_axes))
      << note(
             "the queries are tokens 2 to 7, three per block; keys and values of tokens 5 to 7 hold NaN, and the first "
             "block of queries sees none of them");
}

TEST(CachedPrefix, EqualsPyTorch) {
  const GoldenCase golden = load_golden("tiles");
  for (const arma::uword key_block : {3U, 2U, 1U, 5U}) {
    EXPECT_THAT(tiled_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), 4, key_block),
                Matches(golden.expected("output")))
        << note(sizes_text(6, 8, 4, key_block));
  }
}

TEST(CachedPrefix, AcceptsExtremeScores) {
  const arma::uword L = 5, S = 7;
  const arma::cube Q(L, 1, 2, arma::fill::ones), V = normal(S, 3, 2);
  for (const double step : {900.0, -900.0}) {
    arma::cube K(S, 1, 2);
    for (arma::uword j = 0; j < S; ++j) K.row(j).fill(step * static_cast<double>(j));
    const arma::cube wanted = step > 0 ? arma::cube(V.rows(S - L, S - 1)) : [&] {
      arma::cube first(L, 3, 2);
      for (arma::uword n = 0; n < 2; ++n) first.slice(n).each_row() = arma::rowvec(V.slice(n).row(0));
      return first;
    }();
    EXPECT_THAT(tiled_attention(Q, K, V, 3, 4), IsNear(wanted, output_axes))
        << note("each key's score is 900 " + std::string(step > 0 ? "above" : "below") +
                " that of the key before it, so a query takes the value of the " + (step > 0 ? "last" : "first") +
                " key that it sees");
  }
}

TEST(CachedPrefix, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, S, D, Dv, N, query_block, key_block;
  };
  for (const auto& [L, S, D, Dv, N, query_block, key_block] : {Sizes{5, 6, 2, 3, 4, 5, 4},
                                                               {7, 7, 3, 2, 5, 4, 2},
                                                               {3, 11, 4, 5, 2, 2, 5},
                                                               {1, 8, 2, 6, 3, 4, 3},
                                                               {9, 13, 5, 1, 2, 6, 3},
                                                               {40, 71, 3, 2, 1, 16, 8}}) {
    const arma::cube Q = normal(L, D, N), K = normal(S, D, N), V = normal(S, Dv, N);
    EXPECT_THAT(tiled_attention(Q, K, V, query_block, key_block),
                IsNear(naive_attention(Q, K, V, visible(L, S)), output_axes))
        << note(sizes_text(L, S, query_block, key_block));
  }
}

// --------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("tiled_attention, 2 heads of 200 queries and 256 keys, D = 32", [] {
  const arma::cube Q = normal(200, 32, 2);
  const arma::cube K = normal(256, 32, 2);
  return [Q, K] { return tiled_attention(Q, K, K, 64, 64); };
});

}  // namespace
}  // namespace attn::judge
