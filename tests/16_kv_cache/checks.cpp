#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/cached_attention.hpp"
#include "attn/decode_cost.hpp"
#include "attn/kv_cache.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_attention.hpp"
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

const std::vector<std::string> cache_axes = {"S", "D", "H·B"};
const std::vector<std::string> prefill_axes = {"L", "E", "B"};
const std::vector<std::string> decode_axes = {"tokens", "E", "B"};

/// Lengths as text: "5, 2".
std::string list(const arma::uvec& numbers) {
  std::string text;
  for (const uword number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text.empty() ? "none" : text;
}

/// The lengths of a cache, all together and one by one.
void expect_lengths(const KVCache& cache, const arma::uvec& wanted, const std::string& about = "") {
  const bool as_wanted =
      cache.lengths().n_elem == wanted.n_elem && std::equal(wanted.begin(), wanted.end(), cache.lengths().begin());
  ASSERT_HOLDS(as_wanted, "lengths() holds " + list(cache.lengths()) + ", want " + list(wanted)) << about;
  for (uword b = 0; b < wanted.n_elem; ++b) {
    EXPECT_HOLDS(cache.length(b) == wanted(b), "length(" + std::to_string(b) + ") is " +
                                                   std::to_string(cache.length(b)) + ", want " +
                                                   std::to_string(wanted(b)))
        << about;
  }
}

/// The first rows of the keys or the values; all of them when there are fewer, so that the shape can be reported.
arma::cube first_rows(const arma::cube& kept, uword rows) {
  return kept.n_rows < rows ? kept : arma::cube(kept.rows(0, rows - 1));
}

/// The rows of a cache that hold no token.
bool is_zero_after_the_lengths(const KVCache& cache, const arma::cube& kept) {
  for (uword n = 0; n < kept.n_slices; ++n) {
    for (uword i = cache.length(n / cache.num_heads()); i < kept.n_rows; ++i) {
      if (arma::any(arma::rowvec(kept.slice(n).row(i)) != 0)) return false;
    }
  }
  return true;
}

/// A cache after the three appends of the golden case.
KVCache cache_from(const GoldenCase& golden) {
  KVCache cache(3);
  cache.append(golden.cube("K_1"), golden.cube("V_1"), {5, 2});
  cache.append(golden.cube("K_2"), golden.cube("V_2"));
  cache.append(golden.cube("K_3"), golden.cube("V_3"), {1, 2});
  return cache;
}

/// The layer of a golden case.
CachedAttention layer_from(const GoldenCase& golden, uword num_heads) {
  return with_projections(CachedAttention(golden.linear("query_proj").weight.n_rows, num_heads), golden);
}

/// Decodes the rows of X one after the other: (T x E x B). What has a wrong shape is returned as it is.
arma::cube decode_all(CachedAttention& attention, const arma::cube& X) {
  arma::cube decoded(arma::size(X));
  for (uword t = 0; t < X.n_rows; ++t) {
    const arma::cube x = X.rows(t, t);
    const arma::cube y = attention.decode(x);
    if (arma::size(y) != arma::size(x)) return y;
    decoded.rows(t, t) = y;
  }
  return decoded;
}

/// Tokens `first` to the end of sequence b.
arma::cube tokens_of(const arma::cube& X, uword b, uword first = 0) {
  return X.subcube(first, 0, b, X.n_rows - 1, X.n_cols - 1, b);
}

/// The first `length` rows of sequence b of the prompt, and then its rows of `more`: one sequence (T x E x 1).
arma::cube joined(const arma::cube& prompt, uword length, const arma::cube& more, uword b) {
  arma::cube whole(length + more.n_rows, more.n_cols, 1);
  if (length > 0) whole.rows(0, length - 1) = prompt.subcube(0, 0, b, length - 1, prompt.n_cols - 1, b);
  whole.rows(length, whole.n_rows - 1) = tokens_of(more, b);
  return whole;
}

/// Causal attention over all tokens at once, one number at a time.
arma::cube naive_causal(const CachedAttention& attention, const arma::cube& X) {
  Mask mask(X.n_rows, X.n_rows, 1, arma::fill::zeros);
  for (uword i = 0; i < X.n_rows; ++i) mask.slice(0).row(i).head(i + 1).ones();
  return naive_multi_head(projections_of(attention), attention.num_heads(), X, X, X, mask).output;
}

/// The cache of a layer of H heads after all tokens of X, one number at a time.
void expect_keys_and_values(const CachedAttention& attention, uword H, const arma::cube& X, const std::string& about) {
  const auto heads = [&](const Linear& proj) { return naive_split_heads(naive_linear(X, proj.weight, proj.bias), H); };
  const arma::cube keys = first_rows(attention.cache().keys(), X.n_rows);
  const arma::cube values = first_rows(attention.cache().values(), X.n_rows);
  EXPECT_THAT(keys, IsNear(heads(attention.key_proj), cache_axes)) << note("these are the keys in the cache") << about;
  EXPECT_THAT(values, IsNear(heads(attention.value_proj), cache_axes))
      << note("these are the values in the cache") << about;
}

/// Compares prefill and decode with the causal forward of each whole sequence.
void expect_causal_forward(CachedAttention& attention, const arma::cube& prompt, const arma::uvec& lengths,
                           const arma::cube& more) {
  const arma::cube prefilled = attention.prefill(prompt, lengths);
  ASSERT_THAT(prefilled, HasShape({{"L", prompt.n_rows}, {"E", prompt.n_cols}, {"B", prompt.n_slices}}));
  const arma::cube decoded = decode_all(attention, more);
  ASSERT_THAT(decoded, HasShape({{"tokens", more.n_rows}, {"E", more.n_cols}, {"B", more.n_slices}}));
  for (uword b = 0; b < prompt.n_slices; ++b) {
    const uword length = lengths.is_empty() ? prompt.n_rows : lengths(b);
    const arma::cube wanted = naive_causal(attention, joined(prompt, length, more, b));
    const std::string about = note("this is sequence " + std::to_string(b) + ", with a prompt of " +
                                   std::to_string(length) + " of " + std::to_string(prompt.n_rows) + " rows");
    if (length > 0) {
      const arma::cube prefilled_tokens = prefilled.subcube(0, 0, b, length - 1, prompt.n_cols - 1, b);
      EXPECT_THAT(prefilled_tokens, IsNear(arma::cube(wanted.rows(0, length - 1)), prefill_axes))
          << note("the rows of prefill that are tokens") << about;
    }
    const arma::cube decoded_tokens = tokens_of(decoded, b);
    EXPECT_THAT(decoded_tokens, IsNear(arma::cube(wanted.rows(length, wanted.n_rows - 1)), decode_axes))
        << note("the rows of decode, one after the other") << about;
  }
}

/// New tokens, as a call of extend takes them: X (L x E x B), and how many of its rows are tokens of each sequence.
struct Chunk {
  arma::cube X;
  arma::uvec lengths;
};

/// The tokens of sequence b in all chunks, one after the other (T x E x 1). Not their padding.
arma::cube sequence_of(const std::vector<Chunk>& chunks, uword b) {
  arma::mat tokens(0, chunks.front().X.n_cols);
  for (const Chunk& chunk : chunks) {
    if (chunk.lengths(b) > 0) tokens = arma::join_cols(tokens, chunk.X.slice(b).head_rows(chunk.lengths(b)));
  }
  return as_cube(tokens);
}

/// The rows that are tokens; the rows after them may hold anything, and become zeros.
arma::cube tokens_only(arma::cube extended, const arma::uvec& lengths) {
  if (extended.n_slices != lengths.n_elem || extended.n_rows < lengths.max()) return extended;
  for (uword b = 0; b < extended.n_slices; ++b) {
    for (uword i = lengths(b); i < extended.n_rows; ++i) extended.slice(b).row(i).zeros();
  }
  return extended;
}

/// Compares extend, chunk after chunk, with the causal forward of each whole sequence.
void expect_causal_forward_of_chunks(CachedAttention& attention, const std::vector<Chunk>& chunks) {
  std::vector<Chunk> extended;
  for (const Chunk& chunk : chunks) {
    const arma::cube Y = attention.extend(chunk.X, chunk.lengths);
    ASSERT_THAT(Y, HasShape({{"L", chunk.X.n_rows}, {"E", chunk.X.n_cols}, {"B", chunk.X.n_slices}}));
    extended.push_back({Y, chunk.lengths});
  }
  for (uword b = 0; b < chunks.front().X.n_slices; ++b) {
    const arma::cube whole = sequence_of(chunks, b);
    if (whole.n_rows == 0) continue;
    arma::uvec lengths(chunks.size());
    for (uword n = 0; n < chunks.size(); ++n) lengths(n) = chunks[n].lengths(b);
    EXPECT_THAT(sequence_of(extended, b), IsNear(naive_causal(attention, whole), decode_axes))
        << note("this is sequence " + std::to_string(b) + ", in chunks of " + list(lengths) + " tokens");
  }
}

/// Compares what the new tokens x (L x E x B) gave, y, with attention to what was in the cache before and to themselves.
/// key_proj and value_proj are others than those that made what is in the cache.
void expect_old_keys_and_values_used(const CachedAttention& attention, const KVCache& before, const arma::cube& x,
                                     const arma::cube& y, const std::string& call) {
  const uword L = x.n_rows, H = before.num_heads(), D = x.n_cols / H;
  for (uword b = 0; b < x.n_slices; ++b) {
    const arma::cube xb = tokens_of(x, b);
    const uword old = before.length(b);
    const auto heads = [&](const Linear& proj) {
      return naive_split_heads(naive_linear(xb, proj.weight, proj.bias), H);
    };
    const auto with_new = [&](const arma::cube& kept, const Linear& proj) {
      arma::cube all(old + L, D, H);
      all.rows(0, old - 1) = kept.subcube(0, 0, H * b, old - 1, D - 1, H * b + H - 1);
      all.rows(old, old + L - 1) = heads(proj);
      return all;
    };
    Mask mask(L, old + L, 1, arma::fill::zeros);
    for (uword i = 0; i < L; ++i) mask.slice(0).row(i).head(old + i + 1).ones();
    const arma::cube context = naive_attention(heads(attention.query_proj), with_new(before.keys(), attention.key_proj),
                                               with_new(before.values(), attention.value_proj), mask);
    EXPECT_THAT(tokens_of(y, b), IsNear(naive_linear(naive_merge_heads(context, H), attention.output_proj.weight,
                                                     attention.output_proj.bias),
                                        decode_axes))
        << note("key_proj and value_proj were replaced before " + call +
                ": only new tokens may be projected by them, the old keys and values come from the cache");
  }
}

/// The layer of the example worked by hand.
CachedAttention layer_by_hand() {
  CachedAttention attention(2, 1);
  attention.query_proj.weight = {{1, 1}, {0, 1}};
  attention.key_proj.weight = {{1, 0}, {1, 1}};
  attention.value_proj.weight = {{2, 0}, {0, 1}};
  attention.output_proj.weight = {{1, 1}, {0, 1}};
  for (Linear* proj : {&attention.query_proj, &attention.key_proj, &attention.value_proj, &attention.output_proj}) {
    proj->bias = {0, 0};
  }
  return attention;
}

/// What Armadillo throws out of a first append, and what that may mean; empty when it throws nothing.
std::string first_append_error(KVCache& cache, const arma::cube& K) {
  try {
    cache.append(K, K);
  } catch (const NotWritten&) {
    throw;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::logic_error& error) {
    const bool no_sizes_yet = cache.lengths().is_empty() || cache.keys().n_slices != K.n_slices;
    return line("threw", error.what()) +
           (no_sizes_yet ? note("a new cache has no sizes yet: does the first append give lengths_ B zeros, and keys_ "
                                "and values_ the sizes 0, D and H·B?")
                         : "");
  }
  return {};
}

bool holds_numbers(const arma::cube& kept) {
  return std::any_of(kept.begin(), kept.end(), [](double number) { return number != 0; });
}

/// The cache of a layer, after a rejected call.
void expect_cache_unchanged(const KVCache& cache, const KVCache& before, const std::string& call,
                            const std::string& advice) {
  const bool same_lengths = list(cache.lengths()) == list(before.lengths());
  const bool same = same_lengths && arma::approx_equal(cache.keys(), before.keys(), "absdiff", 0) &&
                    arma::approx_equal(cache.values(), before.values(), "absdiff", 0);
  const std::string what = same_lengths
                               ? "its keys or values are others"
                               : "lengths() holds " + list(cache.lengths()) + ", want " + list(before.lengths());
  ASSERT_HOLDS(same, "a rejected " + call + " changed the cache: " + what) << note(advice);
}

// --------------------------------------------------------------------------------------------------- a new cache, 16.1

TEST(KvCache, BeginsAsAnEmptyKVCache) {
  const KVCache cache(3);
  EXPECT_HOLDS(cache.num_heads() == 3, "num_heads() is " + std::to_string(cache.num_heads()) + ", want 3")
      << (cache.num_heads() == 1 ? likely_mistake("cache_of_one_head") : "");
  EXPECT_HOLDS(cache.lengths().is_empty() && cache.batch_size() == 0 && cache.capacity() == 0,
               "a new cache has sequences or room already; the first append decides both");
}

// -------------------------------------------------------------------------------------------------------- append, 16.3

TEST(KvCache, AppendsToEveryHeadOfEverySequence) {
  KVCache cache(3);
  const std::string error = first_append_error(cache, normal(5, 4, 6));
  ASSERT_TRUE(error.empty()) << error;
  ASSERT_HOLDS(cache.capacity() >= 5,
               "capacity() is " + std::to_string(cache.capacity()) + " after five tokens of each sequence");
  EXPECT_THAT(cache.keys(), HasShape({{"capacity", cache.capacity()}, {"D", 4}, {"H·B", 6}}));
  EXPECT_THAT(cache.values(), HasShape({{"capacity", cache.capacity()}, {"D", 4}, {"H·B", 6}}));
}

// -------------------------------------------------------------------------------------------------------- length, 16.1

TEST(KvCache, GivesTheLengthOfEachSequence) {
  KVCache cache(3);
  cache.append(normal(5, 4, 6), normal(5, 4, 6), {5, 2});
  cache.append(normal(1, 4, 6), normal(1, 4, 6));
  for (uword b = 0; b < cache.batch_size(); ++b) {
    const uword length = cache.length(b);
    const std::string likely = length == cache.lengths().max() ? likely_mistake("length_is_longest")
                               : length == cache.capacity()    ? likely_mistake("length_is_capacity")
                                                               : "";
    EXPECT_HOLDS(length == cache.lengths()(b), "length(" + std::to_string(b) + ") is " + std::to_string(length) +
                                                   ", but lengths() holds " + list(cache.lengths()))
        << likely;
  }
}

// ---------------------------------------------------------------------------------------------------------- room, 16.2

TEST(KvCache, KeepsTheOldRowsWhenItMakesRoom) {
  KVCache cache(3);
  cache.append(normal(5, 4, 6), normal(5, 4, 6));
  const KVCache before = cache;
  cache.append(normal(7, 4, 6), normal(7, 4, 6));
  const auto lost = [](const arma::cube& old, const arma::cube& kept) {
    return holds_numbers(old) && !holds_numbers(first_rows(kept, old.n_rows));
  };
  const bool keys_lost = lost(before.keys(), cache.keys()), values_lost = lost(before.values(), cache.values());
  EXPECT_HOLDS(!(keys_lost || values_lost), "the first five rows hold zeros only, after seven more rows were appended")
      << likely_mistake(!values_lost ? "growth_forgets_keys"
                        : !keys_lost ? "growth_forgets_values"
                                     : "growth_forgets");
}

// -------------------------------------------------------------------------------------------------------- append, 16.3

TEST(KvCache, CountsTheTokensThatItAppends) {
  KVCache cache(3);
  cache.append(normal(5, 4, 6), normal(5, 4, 6), {5, 2});
  expect_lengths(cache, {5, 2});
  EXPECT_HOLDS(cache.batch_size() == 2, "batch_size() is " + std::to_string(cache.batch_size()) + ", want 2");
  cache.append(normal(1, 4, 6), normal(1, 4, 6));
  expect_lengths(cache, {6, 3}, note("then one more token of each"));
  cache.append(normal(2, 4, 6), normal(2, 4, 6), {0, 2});
  expect_lengths(cache, {6, 5}, note("then two more of sequence 1 only"));
}

TEST(KvCache, AppendsAsInTheExampleOfTheChapter) {
  KVCache cache(1);
  arma::cube prompt(3, 1, 2), more(1, 1, 2);
  prompt.slice(0) = arma::vec{1, 2, 3};
  prompt.slice(1) = arma::vec{4, 99, 99};
  more.slice(0) = arma::vec{5};
  more.slice(1) = arma::vec{6};
  cache.append(prompt, -prompt, {3, 1});
  cache.append(more, -more);
  arma::cube wanted(4, 1, 2, arma::fill::zeros);
  wanted.slice(0) = arma::vec{1, 2, 3, 5};
  wanted.slice(1) = arma::vec{4, 6, 0, 0};
  EXPECT_THAT(first_rows(cache.keys(), 4), IsNear(wanted, cache_axes)) << note("these are the keys");
  EXPECT_THAT(first_rows(cache.values(), 4), IsNear(arma::cube(-wanted), cache_axes)) << note("these are the values");
}

TEST(KvCache, AppendsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("cache");
  const KVCache cache = cache_from(golden);
  EXPECT_THAT(first_rows(cache.keys(), 7), Matches(golden.expected("keys"))) << note("these are the keys");
  EXPECT_THAT(first_rows(cache.values(), 7), Matches(golden.expected("values"))) << note("these are the values");
  expect_lengths(cache, {7, 5});
}

TEST(KvCache, AppendsNothingAfterTheLastToken) {
  KVCache cache(3);
  const arma::cube K = normal(5, 4, 6);
  cache.append(K, K, {3, 2});
  const bool padding_copied =
      list(cache.lengths()) == "3, 2" && cache.keys().n_rows > 2 &&
      arma::approx_equal(arma::rowvec(cache.keys().slice(3).row(2)), arma::rowvec(K.slice(3).row(2)), "absdiff", 0);
  ASSERT_HOLDS(!padding_copied, "after the two tokens of sequence 1 there is a row of its padding")
      << likely_mistake("padding_rows_copied");
  for (uword t = 0; t < 8; ++t) {
    cache.append(normal(2, 4, 6), normal(2, 4, 6), {1, t % 3});
    EXPECT_HOLDS(is_zero_after_the_lengths(cache, cache.keys()) && is_zero_after_the_lengths(cache, cache.values()),
                 "there is something after the last token of a sequence; rows that are not "
                 "used hold zeros, and padding is not kept");
  }
}

TEST(KvCache, AppendsTheSameTokenByTokenAsAllAtOnce) {
  const arma::cube K = normal(70, 4, 6), V = normal(70, 4, 6);
  KVCache at_once(3), one_by_one(3), in_pieces(3);
  at_once.append(K, V);
  for (uword t = 0; t < 70; ++t) one_by_one.append(K.rows(t, t), V.rows(t, t));
  for (const auto& [first, last] : {std::pair{0U, 11U}, {12U, 12U}, {13U, 59U}, {60U, 69U}}) {
    in_pieces.append(K.rows(first, last), V.rows(first, last));
  }
  for (const KVCache* cache : {&at_once, &one_by_one, &in_pieces}) {
    const std::string about = note("70 tokens came at once, one by one, and in pieces of 12, 1, 47 and 10");
    EXPECT_THAT(first_rows(cache->keys(), 70), IsNear(K, cache_axes)) << about;
    EXPECT_THAT(first_rows(cache->values(), 70), IsNear(V, cache_axes)) << about;
    expect_lengths(*cache, {70, 70}, about);
  }
}

TEST(KvCache, AppendsNothingToAnIdleSequence) {
  KVCache cache(2);
  const arma::cube K = normal(3, 5, 8);
  cache.append(K, 2 * K, {0, 0, 0, 0});
  expect_lengths(cache, {0, 0, 0, 0}, note("four empty sequences are four sequences"));
  cache.append(K, 2 * K, {0, 3, 0, 1});
  cache.append(K, 2 * K, {0, 0, 2, 0});
  expect_lengths(cache, {0, 3, 2, 1});
  arma::cube wanted(3, 5, 8, arma::fill::zeros);
  wanted.slices(2, 3) = K.slices(2, 3);
  wanted.subcube(0, 0, 4, 1, 4, 5) = K.subcube(0, 0, 4, 1, 4, 5);
  wanted.subcube(0, 0, 6, 0, 4, 7) = K.subcube(0, 0, 6, 0, 4, 7);
  EXPECT_THAT(first_rows(cache.keys(), 3), IsNear(wanted, cache_axes));
  EXPECT_THAT(first_rows(cache.values(), 3), IsNear(arma::cube(2 * wanted), cache_axes));
}

/// For how many tokens a cache asks for room while it takes in T of them, one by one.
uword room_asked_for(uword T) {
  const uword D = 2, H = 1, B = 3;
  const arma::cube token = normal(1, D, H * B);
  KVCache cache(H);
  const std::size_t asked = allocated_bytes([&] {
    for (uword t = 0; t < T; ++t) cache.append(token, token);
  });
  expect_lengths(cache, arma::uvec(B).fill(T));
  return asked / (2 * D * H * B * sizeof(double));
}

// ---------------------------------------------------------------------------------------------------------- room, 16.2

TEST(KvCache, MakesRoomSoThatTokensAreSeldomCopied) {
  // Doubling asks for 1 + 2 + 4 + ... < 4 T.
  const uword T = 4000, allowed = 6 * T, asked = room_asked_for(T);
  std::string likely;
  if (asked > T * T / 4) {
    likely = likely_mistake("grown_at_every_step");
  } else if (asked > allowed && asked > 3 * room_asked_for(T / 2)) {
    likely = likely_mistake("grown_by_a_constant");
  }
  EXPECT_TRUE(asked <= allowed) << line("memory", "to take in " + std::to_string(T) +
                                                      " tokens one by one, the cache asked for room for " +
                                                      std::to_string(asked) + " rows in all, want at most " +
                                                      std::to_string(allowed))
                                << likely;
}

TEST(KvCache, AtLeastDoublesItsCapacityWhenFull) {
  const uword T = 200;
  const arma::cube token = normal(1, 2, 6);
  KVCache cache(3);
  double first = 0, last = 0, least = 2;  // factors by which the capacity grew, from 16 rows on
  std::string about;
  for (uword t = 0; t < T; ++t) {
    const uword before = cache.capacity();
    cache.append(token, token);
    if (before < 16 || cache.capacity() == before) continue;
    last = static_cast<double>(cache.capacity()) / static_cast<double>(before);
    if (first == 0) first = last;
    if (last < least && about.empty()) {
      about = "from " + std::to_string(before) + " rows to " + std::to_string(cache.capacity());
    }
    least = std::min(least, last);
  }
  const bool by_a_factor = least > 1.2 && std::abs(last - first) < 0.1;
  EXPECT_HOLDS(least >= 2, "when the cache was full, its capacity grew " + about + ": less than twice as much")
      << (by_a_factor ? likely_mistake("grown_by_less_than_two") : "");
}

// -------------------------------------------------------------------------------------------------------- append, 16.3

TEST(KvCache, AppendsWithoutSpaceForPadding) {
  KVCache cache(3);
  cache.append(normal(100, 4, 6), normal(100, 4, 6), {1, 2});
  expect_lengths(cache, {1, 2}, note("of 100 rows, 1 and 2 are tokens"));
  EXPECT_HOLDS(cache.capacity() < 100,
               "capacity() is " + std::to_string(cache.capacity()) + " after 100 rows, of which 1 and 2 are tokens")
      << (HasFailure() ? "" : likely_mistake("room_for_padding"));
}

TEST(KvCache, AppendsWithoutCopiesThatItDoesNotNeed) {
  KVCache cache(2);
  const arma::cube K = normal(100, 24, 6);
  const std::size_t asked = allocated_bytes([&] { cache.append(K, K); });
  const std::size_t allowed = 5 * 100 * 24 * 6 * sizeof(double);
  EXPECT_TRUE(asked <= allowed) << line("memory", "the first append asked for " + bytes_text(asked) +
                                                      ", want at most " + bytes_text(allowed))
                                << note("keys and values of 100 tokens have " +
                                        bytes_text(2 * 100 * 24 * 6 * sizeof(double)));
}

TEST(KvCache, LeavesWhatItAppends) {
  KVCache cache(3);
  const arma::cube K = normal(5, 4, 6), V = normal(5, 4, 6);
  const arma::uvec lengths = {5, 2};
  expect_leaves_its_arguments("append", {{"K_new", K}, {"V_new", V}, {"lengths", lengths}},
                              [&] { cache.append(K, V, lengths); });
}

TEST(KvCache, IsIndependentOfItsCopy) {
  KVCache cache(3);
  const arma::cube K = normal(5, 4, 6);
  cache.append(K, 2 * K);
  KVCache copy = cache;
  copy.append(normal(1, 4, 6), normal(1, 4, 6));
  expect_lengths(cache, {5, 5}, note("a copy of the cache took in a token"));
  expect_lengths(copy, {6, 6});
  EXPECT_THAT(first_rows(cache.keys(), 5), IsNear(K, cache_axes)) << note("a copy of the cache took in a token");
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.1

TEST(KvCache, RejectsZeroHeads) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [] { KVCache(0); });
}

TEST(KvCache, RejectsASequenceThatDoesNotExist) {
  KVCache cache(3);
  EXPECT_PRED_FORMAT1(RejectsArgument("b", {"0"}), [&] { cache.length(0); });
  cache.append(normal(5, 4, 6), normal(5, 4, 6));
  EXPECT_PRED_FORMAT1(RejectsArgument("b", {"2"}), [&] { cache.length(2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("b", {"7", "2"}), [&] { cache.length(7); });
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.3

TEST(KvCache, RejectsKeysOfTheWrongShape) {
  KVCache cache(3);
  const auto append = [&](const arma::cube& K) { return [&cache, K] { cache.append(K, K); }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"7", "3"}), append(zeros(5, 4, 7)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"0 x 0 x 0"}), append(arma::cube()));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"0 x 4 x 6"}), append(arma::cube(0, 4, 6)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 0 x 6"}), append(arma::cube(5, 0, 6)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 4 x 0"}), append(arma::cube(5, 4, 0)));
  cache.append(zeros(5, 4, 6), zeros(5, 4, 6));
  const std::string about = note("the first append has decided that D is 4 and H·B is 6");
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 8 x 6", "4"}), append(zeros(5, 8, 6))) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 2 x 6", "4"}), append(zeros(5, 2, 6))) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 4 x 9", "6"}), append(zeros(5, 4, 9))) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("K_new", {"5 x 4 x 3", "6"}), append(zeros(5, 4, 3))) << about;
}

TEST(KvCache, RejectsValuesThatAreNotAsLargeAsTheKeys) {
  KVCache cache(3);
  const auto append = [&](const arma::cube& K, const arma::cube& V) { return [&cache, K, V] { cache.append(K, V); }; };
  const arma::cube K = zeros(5, 4, 6);
  for (const bool first : {true, false}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"7 x 4 x 6", "5"}), append(K, zeros(7, 4, 6)));
    EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"1 x 4 x 6", "5"}), append(K, zeros(1, 4, 6)));
    EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"5 x 8 x 6", "4"}), append(K, zeros(5, 8, 6)));
    EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"5 x 4 x 3", "6"}), append(K, zeros(5, 4, 3)));
    EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"0 x 0 x 0"}), append(K, arma::cube()));
    if (first) cache.append(K, K);
  }
}

TEST(KvCache, RejectsNumbersOfTokensThatDoNotFit) {
  KVCache cache(3);
  const arma::cube K = zeros(5, 4, 6), V = K;
  const auto append = [&](const arma::cube& K_new, const arma::cube& V_new, const arma::uvec& lengths) {
    return [&cache, K_new, V_new, lengths] { cache.append(K_new, V_new, lengths); };
  };
  const std::string about = note("K and V are 5 x 4 x 6, so L is 5; H is 3, so B is 2");
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), append(K, V, {6, 2})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"7", "5"}), append(K, V, {2, 7})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"1", "2"}), append(K, V, {5})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"3", "2"}), append(K, V, {5, 2, 1})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "2"}), append(K, V, {5, 5, 5, 2, 2, 2})) << about;
}

TEST(KvCache, IsUnchangedByARejectedAppend) {
  KVCache fresh(3);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6"}), [&] { fresh.append(zeros(5, 4, 6), zeros(5, 4, 6), {6, 2}); });
  EXPECT_HOLDS(fresh.batch_size() == 0 && fresh.keys().is_empty(),
               "a rejected first append left something in the cache");

  const GoldenCase golden = load_golden("cache");
  KVCache cache = cache_from(golden);
  const uword capacity = cache.capacity();
  const auto append = [&](const arma::cube& K, const arma::cube& V, const arma::uvec& lengths) {
    return [&cache, K, V, lengths] { cache.append(K, V, lengths); };
  };
  EXPECT_PRED_FORMAT1(RejectsArgument("V_new", {"9"}), append(normal(20, 4, 6), normal(20, 4, 9), {}));
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"21"}), append(normal(20, 4, 6), normal(20, 4, 6), {3, 21}));
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"3"}), append(normal(20, 4, 6), normal(20, 4, 6), {3, 1, 1}));
  const std::string about = note("append was called with bad input; the cache must be what it was before");
  EXPECT_THAT(first_rows(cache.keys(), 7), IsNear(golden.cube("keys"), cache_axes)) << about;
  EXPECT_THAT(first_rows(cache.values(), 7), IsNear(golden.cube("values"), cache_axes)) << about;
  expect_lengths(cache, {7, 5}, about);
  EXPECT_HOLDS(cache.capacity() == capacity, "capacity() has changed") << about;
}

// ----------------------------------------------------------------------------------------------- the layer, 16.4

TEST(CachedAttention, HasFourProjectionsWithBias) {
  const CachedAttention attention(6, 3);
  expect_four_projections_with_bias(projections_of(attention), 6, likely_mistake("projections_without_bias"));
  const bool only_the_layer = attention.num_heads() == 1 && KVCache(3).num_heads() == 3;
  EXPECT_HOLDS(attention.num_heads() == 3, "num_heads() is " + std::to_string(attention.num_heads()) + ", want 3")
      << (only_the_layer ? likely_mistake("layer_of_one_head") : "");
  EXPECT_HOLDS(attention.cache().batch_size() == 0, "the cache of a new layer is not empty");
}

TEST(CachedAttention, KeepsTheProjectionsThatLinearDraws) {
  expect_drawn_as_linear_draws(projections_of(CachedAttention(50, 2)));
}

TEST(CachedAttention, DrawsEachProjectionAnew) {
  expect_draws_each_projection_anew(projections_of(CachedAttention(50, 2)));
}

// ------------------------------------------------------------------------------------------------------- prefill, 16.5

TEST(CachedAttention, PrefillGivesOneRowForEachToken) {
  CachedAttention attention(6, 3);
  EXPECT_THAT(attention.prefill(normal(5, 6, 2)), HasShape({{"L", 5}, {"E", 6}, {"B", 2}}));
  expect_lengths(attention.cache(), {5, 5}, note("the prompt has five tokens, and all are in the cache"));
}

TEST(CachedAttention, PrefillKeepsTheLengthOfEachPrompt) {
  CachedAttention attention(6, 3);
  attention.prefill(normal(5, 6, 2), {2, 4});
  const arma::cube& keys = attention.cache().keys();  // sequence 0 has slices 0 to 2
  const bool holds_padding =
      keys.n_rows > 2 && keys.n_slices > 2 && holds_numbers(keys.subcube(2, 0, 0, keys.n_rows - 1, keys.n_cols - 1, 2));
  ASSERT_HOLDS(attention.cache().lengths().n_elem == 2 && attention.cache().length(0) != 5,
               "lengths() holds " + list(attention.cache().lengths()) + ", want 2, 4")
      << likely_mistake(holds_padding ? "padding_cached" : "lengths_grow_by_L");
  expect_lengths(attention.cache(), {2, 4});
}

TEST(CachedAttention, PrefillKeepsTheKeysAndValuesOfThePrompt) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prompt = golden.cube("prompt");
  attention.prefill(prompt);
  expect_lengths(attention.cache(), {5, 5});
  expect_keys_and_values(attention, 3, prompt, note("a prompt of five tokens was read"));
}

// -------------------------------------------------------------------------------------------------------- decode, 16.6

TEST(CachedAttention, DecodeGivesOneRowForEachNewToken) {
  CachedAttention attention(6, 3);
  attention.prefill(normal(5, 6, 2));
  EXPECT_THAT(attention.decode(normal(1, 6, 2)), HasShape({{"1", 1}, {"E", 6}, {"B", 2}}));
  expect_lengths(attention.cache(), {6, 6}, note("the prompt has five tokens, and one was decoded"));
}

TEST(CachedAttention, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  CachedAttention attention = layer_by_hand();
  arma::cube prompt(3, 2, 1), token(1, 2, 1);
  prompt.slice(0) = {{1, 0}, {0, 1}, {1, -1}};
  token.slice(0) = {{0, 2}};
  ASSERT_THAT(attention.prefill(prompt), Matches(golden.expected("prefilled"))) << note("this is prefill");
  EXPECT_THAT(attention.decode(token), Matches(golden.expected("decoded"))) << note("this is decode");
}

// ------------------------------------------------------------------------------------------------------- prefill, 16.5

TEST(CachedAttention, PrefillsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prompt = golden.cube("prompt");
  EXPECT_THAT(attention.prefill(prompt), Matches(golden.expected("prefilled")));
}

TEST(CachedAttention, PrefillsAsPyTorchDoesWhereEveryPromptIsPadded) {
  const GoldenCase golden = load_golden("all_padded");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prefilled = attention.prefill(golden.cube("prompt"), {4, 4});
  EXPECT_THAT(prefilled, HasShape({{"L", 7}, {"E", 12}, {"B", 2}}));
  const arma::cube tokens = first_rows(prefilled, 4);
  EXPECT_THAT(tokens, Matches(golden.expected("tokens")))
      << note("the first 4 rows of prefill: two prompts of 4 tokens, padded to 7 rows");
}

// -------------------------------------------------------------------------------------------------------- decode, 16.6

TEST(CachedAttention, DecodeKeepsTheKeysAndValuesOfNewTokens) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prompt = golden.cube("prompt"), more = golden.cube("new");
  attention.prefill(prompt);
  decode_all(attention, more);
  expect_lengths(attention.cache(), {8, 8});
  expect_keys_and_values(attention, 3, arma::join_slices(joined(prompt, 5, more, 0), joined(prompt, 5, more, 1)),
                         note("a prompt of five tokens was read, and three were decoded"));
}

TEST(CachedAttention, DecodesAsPyTorchDoes) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube tokens = golden.cube("new");
  attention.prefill(golden.cube("prompt"));
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("three tokens, one after the other, after a prompt of five");
}

TEST(CachedAttention, DecodesPromptsOfDifferentLengthsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("ragged");
  CachedAttention attention = layer_from(golden, 2);
  const arma::cube tokens = golden.cube("new");
  attention.prefill(golden.cube("prompt"), {4, 6, 1});
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("prompts of 4, 6 and 1 tokens, padded to 6; each new token follows its own prompt");
  expect_lengths(attention.cache(), {8, 10, 5});
}

TEST(CachedAttention, DecodesFromNothingAsPyTorchDoes) {
  const GoldenCase golden = load_golden("from_nothing");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube tokens = golden.cube("new");
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("there was no prefill: the first token attends to itself only");
}

// ------------------------------------------------------------------------------------------------------- prefill, 16.5

TEST(CachedAttention, PrefillForgetsTheOldPrompt) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube tokens = golden.cube("new");
  attention.prefill(golden.cube("before"));
  attention.prefill(golden.cube("prompt"));
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("prefill was called before with another prompt");
  expect_lengths(attention.cache(), {8, 8});
  attention.prefill(normal(2, 12, 5), {1, 2, 0, 2, 1});
  expect_lengths(attention.cache(), {1, 2, 0, 2, 1}, note("then a prompt of five sequences, where there were two"));
}

// ------------------------------------------------------------------------------------------ decode after prefill, 16.6

TEST(CachedAttention, EqualsTheCausalForwardOfLesson07) {
  for (const uword prompt_length : {1U, 4U, 8U}) {
    MultiHeadAttention whole(12, 3);
    whole.dropout.eval();
    CachedAttention attention(12, 3);
    attention.query_proj = whole.query_proj;
    attention.key_proj = whole.key_proj;
    attention.value_proj = whole.value_proj;
    attention.output_proj = whole.output_proj;
    const arma::cube X = 2 * normal(9, 12, 2);
    const arma::cube wanted = whole.forward(X, causal_mask(9, 9));
    const std::string about = note("a prompt of " + std::to_string(prompt_length) + " of 9 tokens, the others decoded");
    EXPECT_THAT(attention.prefill(X.rows(0, prompt_length - 1)),
                IsNear(arma::cube(wanted.rows(0, prompt_length - 1)), prefill_axes))
        << about;
    EXPECT_THAT(decode_all(attention, X.rows(prompt_length, 8)),
                IsNear(arma::cube(wanted.rows(prompt_length, 8)), decode_axes))
        << about;
  }
}

TEST(CachedAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, T, E, H, B;
  };
  for (const Sizes& n : {Sizes{3, 5, 8, 2, 4},
                         {6, 2, 4, 4, 3},
                         {1, 7, 6, 2, 3},
                         {4, 3, 5, 1, 2},
                         {34, 3, 4, 2, 1},
                         {2, 18, 6, 3, 4},
                         {3, 5, 68, 2, 4},
                         {3, 2, 1, 1, 4},
                         {1, 1, 2, 2, 1}}) {
    CachedAttention attention(n.E, n.H);
    const arma::cube prompt = 2 * normal(n.L, n.E, n.B);
    const arma::cube more = 2 * normal(n.T, n.E, n.B);
    expect_causal_forward(attention, prompt, {}, more);
    const arma::uvec lengths = arma::randi<arma::uvec>(n.B, arma::distr_param(0, static_cast<int>(n.L)));
    expect_causal_forward(attention, prompt, lengths, more);
  }
}

TEST(CachedAttention, IgnoresPadding) {
  CachedAttention attention(8, 4);
  const arma::uvec lengths = {2, 5, 3};
  const arma::cube prompt = normal(5, 8, 3), more = normal(4, 8, 3);
  arma::cube other = prompt;
  for (uword b = 0; b < 3; ++b) {
    if (lengths(b) < 5) other.subcube(lengths(b), 0, b, 4, 7, b) = 1000 * normal(5 - lengths(b), 8, 1);
  }
  attention.prefill(prompt, lengths);
  const arma::cube wanted = decode_all(attention, more);
  attention.prefill(other, lengths);
  EXPECT_THAT(decode_all(attention, more), IsNear(wanted, decode_axes))
      << note("the padding of the prompt holds other numbers, and nothing may change");
}

TEST(CachedAttention, KeepsTheBatchApart) {
  CachedAttention attention(8, 4);
  const arma::uvec lengths = {2, 5, 3};
  const arma::cube prompt = normal(5, 8, 3), more = normal(4, 8, 3);
  attention.prefill(prompt, lengths);
  expect_keeps_apart("sequence", 3, decode_all(attention, more), [&](uword b) {
    attention.prefill(prompt.subcube(0, 0, b, lengths(b) - 1, 7, b));
    return decode_all(attention, tokens_of(more, b));
  });
}

TEST(CachedAttention, IgnoresTheOrderOfKeys) {
  CachedAttention attention(8, 4);
  const arma::cube prompt = normal(5, 8, 3), token = normal(1, 8, 3);
  attention.prefill(prompt);
  const arma::cube wanted = attention.decode(token);
  attention.prefill(reordered(prompt, shuffled(5)));
  EXPECT_THAT(attention.decode(token), IsNear(wanted, decode_axes))
      << note("without positions a new token sees a set: the order of the tokens before it must not matter");
}

TEST(CachedAttention, UsesTheKeysAndValuesThatItKept) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  const arma::cube x = normal(1, 8, 3);
  const KVCache before = attention.cache();
  attention.key_proj = Linear(8, 8);
  attention.value_proj = Linear(8, 8);
  const arma::cube decoded = attention.decode(x);
  expect_old_keys_and_values_used(attention, before, x, decoded, "decode");
}

TEST(CachedAttention, DecodesWithoutAMatrixOfAllTokens) {
  const uword S = 128, E = 4, H = 2, B = 2;
  CachedAttention attention(E, H);
  attention.prefill(normal(S, E, B));
  const arma::cube x = normal(1, E, B);
  attention.decode(x);  // makes room
  const std::size_t asked = allocated_bytes([&] { attention.decode(x); });
  const std::size_t allowed =
      12 * S * E * B * sizeof(double);  // the matrices of S x S of all heads have five times that
  EXPECT_TRUE(asked <= allowed) << line("memory", "decode asked for " + bytes_text(asked) + ", want at most " +
                                                      bytes_text(allowed))
                                << note("the cache has " + bytes_text(2 * S * E * B * sizeof(double)) +
                                        "; a decode has one query per sequence, and projects one token");
}

TEST(CachedAttention, AcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prompt = golden.cube("prompt"), tokens = golden.cube("new");
  EXPECT_THAT(attention.prefill(prompt), Matches(golden.expected("prefilled")));
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")));
}

TEST(CachedAttention, IsIndependentOfItsCopy) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  CachedAttention copy = attention;
  const arma::cube x = normal(1, 8, 3);
  const arma::cube wanted = attention.decode(x);
  EXPECT_THAT(copy.decode(x), IsNear(wanted, decode_axes))
      << note("a copy of the layer, made after prefill, goes on by itself");
  expect_lengths(copy.cache(), {3, 6, 4});
}

TEST(CachedAttention, LeavesItsFieldsAndArguments) {
  CachedAttention attention(6, 3);
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 6, 2), x = normal(1, 6, 2);
  expect_leaves_its_arguments("prefill or decode", {{"X", X}, {"x", x}}, [&] {
    attention.prefill(X, {4, 5});
    attention.decode(x);
  });
  expect_unchanged(before, projections_of(attention), "prefill or decode");
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.4

TEST(CachedAttention, RejectsSizesThatMakeNoProjections) {
  expect_rejects_impossible_sizes([](uword embed_dim, uword num_heads) { CachedAttention(embed_dim, num_heads); });
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.5

TEST(CachedAttention, RejectsAPromptOfTheWrongShape) {
  CachedAttention attention(6, 3);
  const auto prefill = [&](const arma::cube& X) { return [&attention, X] { attention.prefill(X); }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 2", "6"}), prefill(zeros(5, 8, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"6 x 5 x 2", "6"}), prefill(zeros(6, 5, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 0 x 0"}), prefill(arma::cube()));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 6 x 2"}), prefill(arma::cube(0, 6, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 6 x 0"}), prefill(arma::cube(5, 6, 0)));
}

TEST(CachedAttention, RejectsLengthsThatDoNotFitThePrompt) {
  CachedAttention attention(6, 3);
  const arma::cube X = zeros(5, 6, 2);
  const auto prefill = [&](const arma::cube& prompt, const arma::uvec& lengths) {
    return [&attention, prompt, lengths] { attention.prefill(prompt, lengths); };
  };
  const std::string about = note("X is 5 x 6 x 2, so L is 5 and B is 2");
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), prefill(X, {3, 6})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"1", "2"}), prefill(X, {5})) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"3", "2"}), prefill(X, {5, 2, 1})) << about;
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.6

TEST(CachedAttention, RejectsATokenOfTheWrongShape) {
  CachedAttention attention(6, 3);
  const auto decode = [&](const arma::cube& x) { return [&attention, x] { attention.decode(x); }; };
  for (const bool first : {true, false}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("x", {"1 x 8 x 2", "6"}), decode(zeros(1, 8, 2)));
    EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4 x 6 x 2", "1"}), decode(zeros(4, 6, 2)));
    EXPECT_PRED_FORMAT1(RejectsArgument("x", {"6 x 1 x 2", "6"}), decode(zeros(6, 1, 2)));
    EXPECT_PRED_FORMAT1(RejectsArgument("x", {"0 x 0 x 0"}), decode(arma::cube()));
    EXPECT_PRED_FORMAT1(RejectsArgument("x", {"1 x 6 x 0"}), decode(arma::cube(1, 6, 0)));
    if (first) attention.prefill(normal(5, 6, 2));
  }
  const std::string about = note("the prompt had two sequences");
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"1 x 6 x 3", "2"}), decode(zeros(1, 6, 3))) << about;
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"1 x 6 x 1", "2"}), decode(zeros(1, 6, 1))) << about;
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.5

TEST(CachedAttention, IsUnchangedByARejectedPrefill) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  attention.prefill(golden.cube("prompt"));
  const KVCache before = attention.cache();
  const auto prefill = [&](const arma::cube& X, const arma::uvec& lengths) {
    return [&attention, X, lengths] { attention.prefill(X, lengths); };
  };
  const std::string advice = "fill a new KVCache, and move it into cache_ when nothing can be rejected any more";
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"9"}), prefill(normal(5, 9, 2), {}));
  expect_cache_unchanged(attention.cache(), before, "prefill", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"7"}), prefill(normal(5, 12, 2), {7, 2}));
  expect_cache_unchanged(attention.cache(), before, "prefill", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "3"}), prefill(normal(3, 12, 4), {1, 6, 1, 2}));
  expect_cache_unchanged(attention.cache(), before, "prefill", advice);
  const arma::cube tokens = golden.cube("new");
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("prefill was called with bad input before; it must leave the cache as it was");
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.6

TEST(CachedAttention, IsUnchangedByARejectedDecode) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  attention.prefill(golden.cube("prompt"));
  const KVCache before = attention.cache();
  const auto decode = [&](const arma::cube& x) { return [&attention, x] { attention.decode(x); }; };
  const std::string advice = "check x before you append";
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"9"}), decode(normal(1, 9, 2)));
  expect_cache_unchanged(attention.cache(), before, "decode", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"4"}), decode(normal(1, 12, 4)));
  expect_cache_unchanged(attention.cache(), before, "decode", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("x", {"3"}), decode(normal(3, 12, 2)));
  expect_cache_unchanged(attention.cache(), before, "decode", advice);
  const arma::cube tokens = golden.cube("new");
  EXPECT_THAT(decode_all(attention, tokens), Matches(golden.expected("decoded")))
      << note("decode was called with bad input before; it must leave the cache as it was");
}

// ------------------------------------------------------------------------------------------------ what it costs, 16.7

/// A number of FLOPs or bytes; `mistakes` are the numbers that well-known mistakes give, with their lines.
void expect_count(const std::string& what, uword actual, uword wanted,
                  const std::vector<std::pair<uword, std::string>>& mistakes = {}) {
  std::string likely;
  for (const auto& [number, named] : mistakes) {
    if (number == actual) likely = named;
  }
  EXPECT_HOLDS(actual == wanted, what + " is " + std::to_string(actual) + ", want " + std::to_string(wanted)) << likely;
}

/// "decode_flops of E = 6, S = 10, B = 3 and 8 bytes per number".
std::string of(const std::string& function, const DecodeSizes& sizes) {
  return function + " of E = " + std::to_string(sizes.embed_dim) + ", S = " + std::to_string(sizes.length) +
         ", B = " + std::to_string(sizes.batch_size) + " and " + std::to_string(sizes.bytes_per_number) +
         " bytes per number";
}

const DecodeSizes small = {6, 10, 3, 5};

TEST(DecodeCost, CountsTheFlopsByHand) {
  expect_count(of("decode_flops", small), decode_flops(small), 3 * (8 * 36 + 4 * 60),
               {{3 * (4 * 36 + 2 * 60), likely_mistake("multiply_add_counted_once")},
                {8 * 36 + 4 * 60, likely_mistake("flops_of_one_sequence")},
                {3 * 8 * 36, likely_mistake("flops_without_the_cache")},
                {3 * (8 * 36 + 2 * 60), likely_mistake("scores_or_mixing_forgotten")},
                {3 * 4 * 60, likely_mistake("flops_without_projections")},
                {3 * 10 * (8 * 36 + 4 * 60), likely_mistake("flops_of_all_tokens")},
                {3 * (6 * 36 + 4 * 60), likely_mistake("three_projections_counted")},
                {3 * (2 * 36 + 4 * 60), likely_mistake("one_projection_counted")},
                {3 * (8 * 36 + 4 * 10 * 60), likely_mistake("flops_square_length")},
                {8 * 36 + 3 * 4 * 60, likely_mistake("flops_projections_of_one_sequence")},
                {3 * 8 * 36 + 4 * 60, likely_mistake("flops_mixing_of_one_sequence")}});
}

TEST(DecodeCost, CountsTheBytesOfTheCacheByHand) {
  expect_count(of("cache_bytes", small), cache_bytes(small), 2 * 3 * 10 * 6 * 5,
               {{3 * 10 * 6 * 5, likely_mistake("keys_or_values_forgotten")},
                {2 * 10 * 6 * 5, likely_mistake("cache_of_one_sequence")},
                {2 * 3 * 10 * 6, likely_mistake("numbers_for_bytes")},
                {2 * 3 * 10 * 6 * 4, likely_mistake("bytes_fixed_at_four")},
                {2 * 3 * 6 * 5, likely_mistake("cache_without_length")},
                {2 * 3 * 10 * 5, likely_mistake("cache_without_width")}});
}

TEST(DecodeCost, CountsTheBytesThatAreReadByHand) {
  const uword cache = 2 * 3 * 10 * 6 * 5, weights = 4 * 36 * 5;
  expect_count(of("decode_bytes", small), decode_bytes(small), cache + weights,
               {{cache + 3 * weights, likely_mistake("weights_read_for_each_sequence")},
                {cache + 4 * 36, likely_mistake("weights_without_bytes")},
                {cache, likely_mistake("weights_not_read")},
                {weights, likely_mistake("cache_not_read")},
                {cache + 3 * 36 * 5, likely_mistake("three_weights_read")},
                {cache + 36 * 5, likely_mistake("one_weight_read")},
                {cache + 4 * 6 * 5, likely_mistake("weights_one_dimensional")}});
}

TEST(DecodeCost, DividesFlopsByBytes) {
  const double flops = 3 * (8 * 36 + 4 * 60), cache = 2 * 3 * 10 * 6 * 5, weights = 4 * 36 * 5,
               wanted = flops / (cache + weights);
  const double got = arithmetic_intensity(small);
  const auto is = [&](double number) { return std::abs(got - number) < 1e-12; };
  const bool bytes_are_right = static_cast<double>(decode_bytes(small)) == cache + weights;
  EXPECT_HOLDS(is(wanted),
               of("arithmetic_intensity", small) + " is " + std::to_string(got) + ", want " + std::to_string(wanted))
      << (got == std::floor(wanted)              ? likely_mistake("integer_division")
          : bytes_are_right && is(1 / wanted)    ? likely_mistake("intensity_inverted")
          : bytes_are_right && is(flops / cache) ? likely_mistake("intensity_of_cache_only")
                                                 : "");
}

TEST(DecodeCost, DividesLargeNumbersInDoublePrecision) {
  const DecodeSizes large = {1001, 9999, 7, 3};  // FLOPs and bytes above 2^24, where float skips integers
  const double flops = 7.0 * (8.0 * 1001 * 1001 + 4.0 * 9999 * 1001);
  const double bytes = 2.0 * 7 * 9999 * 1001 * 3 + 4.0 * 1001 * 1001 * 3;
  const double error = std::abs(arithmetic_intensity(large) - flops / bytes);
  EXPECT_HOLDS(error < 1e-12, of("arithmetic_intensity", large) + " is not FLOPs / bytes in double")
      << (error > 0 && error < 1e-6 ? likely_mistake("intensity_in_float") : "");
}

TEST(DecodeCost, GivesThePublishedFiguresOfARealModel) {
  // OPT-13B: 40 layers, E = 5120, 16 bits (Kwon et al. 2023, section 3).
  const DecodeSizes token = {5120, 1}, sequence = {5120, 2048};
  expect_count("40 times " + of("cache_bytes", token), 40 * cache_bytes(token), 819200);
  expect_count("40 times " + of("cache_bytes", sequence), 40 * cache_bytes(sequence), 1677721600);
}

TEST(DecodeCost, GivesOneFlopForEachByteOfOneSequenceInSixteenBits) {
  for (const DecodeSizes& sizes : {DecodeSizes{5120, 2048}, DecodeSizes{512, 7}, DecodeSizes{48, 100}}) {
    expect_count(of("decode_flops", sizes), decode_flops(sizes),
                 8 * sizes.embed_dim * sizes.embed_dim + 4 * sizes.length * sizes.embed_dim);
    expect_count(of("decode_bytes", sizes), decode_bytes(sizes), decode_flops(sizes));
  }
}

TEST(DecodeCost, CountsBeyondThirtyTwoBits) {
  const DecodeSizes large = {12288, 2048, 512};
  expect_count(of("decode_flops", large), decode_flops(large), 670014898176);
  expect_count(of("cache_bytes", large), cache_bytes(large), 51539607552);
  expect_count(of("decode_bytes", large), decode_bytes(large), 52747567104);
}

TEST(DecodeCost, GrowsWithTheBatchAndTheLength) {
  const DecodeSizes one = {512, 100}, batch = {512, 100, 7}, longer = {512, 300};
  expect_count("decode_flops for seven times the batch", decode_flops(batch), 7 * decode_flops(one));
  expect_count("cache_bytes for seven times the batch", cache_bytes(batch), 7 * cache_bytes(one));
  expect_count("cache_bytes for three times the length", cache_bytes(longer), 3 * cache_bytes(one));
  expect_count("the bytes of the weights, for another length", decode_bytes(longer) - cache_bytes(longer),
               decode_bytes(one) - cache_bytes(one));
  expect_count("the bytes of the weights, for another batch", decode_bytes(batch) - cache_bytes(batch),
               decode_bytes(one) - cache_bytes(one));
  EXPECT_HOLDS(arithmetic_intensity(batch) > arithmetic_intensity(one),
               "a larger batch does not raise arithmetic_intensity, although it shares the "
               "weights");
}

TEST(DecodeCost, RejectsSizesOfZero) {
  const std::vector<std::pair<std::string, DecodeSizes>> rejected = {{"embed_dim", {0, 10, 3, 8}},
                                                                     {"length", {6, 0, 3, 8}},
                                                                     {"batch_size", {6, 10, 0, 8}},
                                                                     {"bytes_per_number", {6, 10, 3, 0}}};
  for (const auto& [name, zero] : rejected) {
    const DecodeSizes& sizes = zero;
    const RejectsArgument rejects(name, {"0", "1"});
    const std::string about = note("sizes." + name + " is 0; all four functions reject it, used or not");
    EXPECT_PRED_FORMAT1(rejects, [&] { decode_flops(sizes); }) << about;
    EXPECT_PRED_FORMAT1(rejects, [&] { cache_bytes(sizes); }) << about;
    EXPECT_PRED_FORMAT1(rejects, [&] { decode_bytes(sizes); }) << about;
    EXPECT_PRED_FORMAT1(rejects, [&] { arithmetic_intensity(sizes); }) << about;
  }
}

// -------------------------------------------------------------------------------------------------------- extend, 16.8

TEST(CachedAttention, ExtendGivesOneRowForEachNewToken) {
  CachedAttention attention(6, 3);
  attention.prefill(normal(5, 6, 2));
  EXPECT_THAT(attention.extend(normal(4, 6, 2)), HasShape({{"L", 4}, {"E", 6}, {"B", 2}}));
  expect_lengths(attention.cache(), {9, 9}, note("the prompt has five tokens, and four came after it"));
}

TEST(CachedAttention, ExtendAddsTheNewTokensOfEachSequence) {
  KVCache cache(3);
  cache.append(normal(5, 2, 6), normal(5, 2, 6), {2, 4});
  cache.append(normal(3, 2, 6), normal(3, 2, 6), {3, 2});
  CachedAttention attention(6, 3);
  attention.prefill(normal(5, 6, 2), {2, 4});
  const bool all_is_well_before = list(cache.lengths()) == "5, 6" && list(attention.cache().lengths()) == "2, 4";
  attention.extend(normal(3, 6, 2), {3, 2});
  const std::string lengths = list(attention.cache().lengths());
  const std::string likely = !all_is_well_before ? ""
                             : lengths == "5, 7" ? likely_mistake("extend_padding_appended")
                             : lengths == "3, 2" ? likely_mistake("extend_begins_again")
                             : lengths == "2, 4" ? likely_mistake("extend_appends_nothing")
                             : lengths == "8, 8" ? likely_mistake("extend_appends_twice")
                                                 : "";
  EXPECT_HOLDS(lengths == "5, 6", "lengths() holds " + lengths + ", want 5, 6")
      << note("prompts of 2 and 4 tokens, and then 3 and 2 new ones in a chunk of 3 rows") << likely;
}

TEST(CachedAttention, ExtendGivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  CachedAttention attention = layer_by_hand();
  arma::cube prompt(4, 2, 1), chunk(2, 2, 1);
  prompt.slice(0) = {{1, 0}, {0, 1}, {1, -1}, {0, 2}};
  chunk.slice(0) = {{1, 1}, {0, 1}};
  attention.prefill(prompt);
  EXPECT_THAT(attention.extend(chunk), Matches(golden.expected("extended")));
}

TEST(CachedAttention, ExtendBlocksTheFuture) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  CachedAttention copy = attention;
  const arma::cube X = normal(6, 8, 3);
  arma::cube other = X;
  other.rows(4, 5) = normal(2, 8, 3);
  const arma::cube wanted = first_rows(attention.extend(X), 4);
  EXPECT_THAT(first_rows(copy.extend(other), 4), IsNear(wanted, prefill_axes))
      << note("these are rows 0 to 3 of six; rows 4 and 5 hold other tokens, and come later");
}

TEST(CachedAttention, ExtendLeavesASequenceWithoutNewTokens) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  CachedAttention copy = attention;
  attention.extend(normal(4, 8, 3), {4, 0, 1});
  expect_lengths(attention.cache(), {6, 5, 4}, note("sequence 1 got no new token"));
  const auto kept = [](const arma::cube& all) { return arma::cube(first_rows(all, 5).slices(4, 7)); };
  EXPECT_THAT(kept(attention.cache().keys()), IsNear(kept(copy.cache().keys()), cache_axes, 0))
      << note("these are the keys of sequence 1, which got no new token");
  EXPECT_THAT(kept(attention.cache().values()), IsNear(kept(copy.cache().values()), cache_axes, 0))
      << note("these are the values of sequence 1, which got no new token");
  EXPECT_HOLDS(is_zero_after_the_lengths(attention.cache(), attention.cache().keys()) &&
                   is_zero_after_the_lengths(attention.cache(), attention.cache().values()),
               "there is something in the cache after the last token of a sequence");
  const arma::cube x = normal(1, 8, 3);
  const arma::cube wanted = tokens_of(copy.decode(x), 1);
  EXPECT_THAT(tokens_of(attention.decode(x), 1), IsNear(wanted, decode_axes))
      << note("sequence 1 got no new token, and goes on with decode");
}

TEST(CachedAttention, ExtendIgnoresPadding) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  CachedAttention copy = attention;
  const arma::uvec lengths = {4, 1, 2};
  const arma::cube X = normal(6, 8, 3), more = normal(2, 8, 3);
  const arma::cube other = tokens_only(X, lengths) + 1000 * (X - tokens_only(X, lengths));
  const std::string about = note("the padding holds other numbers, and nothing may change");
  const arma::cube wanted = tokens_only(attention.extend(X, lengths), lengths);
  EXPECT_THAT(tokens_only(copy.extend(other, lengths), lengths), IsNear(wanted, prefill_axes)) << about;
  EXPECT_THAT(decode_all(copy, more), IsNear(decode_all(attention, more), decode_axes)) << about;
}

TEST(CachedAttention, ExtendKeepsTheBatchApart) {
  CachedAttention attention(8, 4);
  const arma::uvec old = {2, 5, 3}, lengths = {3, 1, 4};
  const arma::cube prompt = normal(5, 8, 3), X = normal(4, 8, 3);
  attention.prefill(prompt, old);
  expect_keeps_apart("sequence", 3, tokens_only(attention.extend(X, lengths), lengths), [&](uword b) {
    attention.prefill(prompt.subcube(0, 0, b, old(b) - 1, 7, b));
    arma::cube alone = attention.extend(X.subcube(0, 0, b, lengths(b) - 1, 7, b));
    alone.resize(4, 8, 1);
    return alone;
  });
}

TEST(CachedAttention, ExtendsToTheSameHoweverTheTokensAreCut) {
  CachedAttention attention(12, 3);
  const arma::cube X = normal(11, 12, 2);
  CachedAttention at_once = attention, one_by_one = attention;
  const arma::cube wanted = at_once.prefill(X);
  EXPECT_THAT(decode_all(one_by_one, X), IsNear(wanted, prefill_axes, 1e-12)) << note("this is decode, token by token");
  for (const arma::uvec& lengths : {arma::uvec{11}, arma::uvec(11, arma::fill::ones), arma::uvec{4, 7},
                                    arma::uvec{1, 9, 1}, arma::uvec{5, 2, 1, 3}}) {
    const std::string about =
        note("11 tokens were cut into chunks of " + list(lengths) + "; want what one prefill gives");
    CachedAttention cut = attention;
    arma::cube extended(arma::size(X));
    uword first = 0;
    for (const uword length : lengths) {
      const arma::cube Y = cut.extend(X.rows(first, first + length - 1));
      ASSERT_THAT(Y, HasShape({{"L", length}, {"E", 12}, {"B", 2}})) << about;
      extended.rows(first, first + length - 1) = Y;
      first += length;
    }
    EXPECT_THAT(extended, IsNear(wanted, prefill_axes, 1e-12)) << about;
    EXPECT_THAT(first_rows(cut.cache().keys(), 11), IsNear(first_rows(at_once.cache().keys(), 11), cache_axes, 1e-12))
        << note("these are the keys in the cache") << about;
    EXPECT_THAT(first_rows(cut.cache().values(), 11),
                IsNear(first_rows(at_once.cache().values(), 11), cache_axes, 1e-12))
        << note("these are the values in the cache") << about;
  }
}

TEST(CachedAttention, ExtendUsesTheKeysAndValuesThatItKept) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(5, 8, 3), {2, 5, 3});
  const arma::cube X = normal(6, 8, 3);
  const KVCache before = attention.cache();
  attention.key_proj = Linear(8, 8);
  attention.value_proj = Linear(8, 8);
  const arma::cube extended = attention.extend(X);
  expect_old_keys_and_values_used(attention, before, X, extended, "extend");
}

TEST(CachedAttention, ExtendKeepsTheKeysAndValuesOfNewTokens) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  const arma::cube prompt = golden.cube("prompt"), more = golden.cube("new");
  attention.prefill(prompt);
  attention.extend(more);
  expect_lengths(attention.cache(), {8, 8});
  expect_keys_and_values(attention, 3, arma::join_slices(joined(prompt, 5, more, 0), joined(prompt, 5, more, 1)),
                         note("a prompt of five tokens was read, and three came in a chunk"));
}

TEST(CachedAttention, ExtendsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  attention.prefill(golden.cube("prompt"));
  const arma::cube extended = attention.extend(golden.cube("new"));
  EXPECT_THAT(extended, Matches(golden.expected("decoded"))) << note("three tokens at once, after a prompt of five");
}

TEST(CachedAttention, ExtendsPromptsOfDifferentLengthsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("ragged");
  CachedAttention attention = layer_from(golden, 2);
  attention.prefill(golden.cube("prompt"), {4, 6, 1});
  const arma::cube extended = attention.extend(golden.cube("new"));
  EXPECT_THAT(extended, Matches(golden.expected("decoded")))
      << note("prompts of 4, 6 and 1 tokens, and then four of each at once");
  expect_lengths(attention.cache(), {8, 10, 5});
}

TEST(CachedAttention, ExtendsByChunksOfDifferentLengthsAsPyTorchDoes) {
  const GoldenCase golden = load_golden("chunks");
  CachedAttention attention = layer_from(golden, 2);
  uword number = 0;
  for (const arma::uvec& lengths : {arma::uvec{2, 4, 1}, arma::uvec{5, 1, 3}, arma::uvec{4, 0, 6}}) {
    const std::string n = std::to_string(++number);
    const arma::cube extended = tokens_only(attention.extend(golden.cube("chunk_" + n), lengths), lengths);
    EXPECT_THAT(extended, Matches(golden.expected("extended_" + n)))
        << note("this is chunk " + n + " of three: " + list(lengths) + " tokens; its padding is shown as zeros");
  }
  expect_lengths(attention.cache(), {11, 5, 10});
}

TEST(CachedAttention, ExtendEqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, E, H, B;
  };
  for (const Sizes& n : {Sizes{3, 8, 2, 4}, {6, 4, 4, 3}, {1, 6, 2, 3}, {4, 5, 1, 2}, {12, 4, 2, 1}, {3, 68, 2, 4}}) {
    CachedAttention attention(n.E, n.H);
    std::vector<Chunk> chunks;
    for (const uword rows : {n.L, n.L + 4, uword(2), 2 * n.L, uword(1)}) {
      const int most = static_cast<int>(rows);
      chunks.push_back(
          {2 * normal(rows, n.E, n.B), arma::randi<arma::uvec>(n.B, arma::distr_param(chunks.empty() ? 1 : 0, most))});
    }
    expect_causal_forward_of_chunks(attention, chunks);
  }
}

TEST(CachedAttention, ExtendTakesTurnsWithPrefillAndDecode) {
  CachedAttention attention(8, 4);
  attention.prefill(normal(4, 8, 2));
  const arma::uvec lengths = {3, 5};
  const arma::cube prompt = normal(5, 8, 2), turn = normal(6, 8, 2), x = normal(1, 8, 2), last = normal(2, 8, 2);
  attention.prefill(prompt, lengths);
  attention.extend(turn, {6, 4});
  attention.decode(x);
  const arma::cube extended = attention.extend(last);
  ASSERT_THAT(extended, HasShape({{"L", 2}, {"E", 8}, {"B", 2}}));
  for (uword b = 0; b < 2; ++b) {
    const arma::cube whole = sequence_of({{prompt, lengths}, {turn, {6, 4}}, {x, {1, 1}}, {last, {2, 2}}}, b);
    const arma::cube wanted = naive_causal(attention, whole);
    EXPECT_THAT(tokens_of(extended, b),
                IsNear(arma::cube(wanted.rows(whole.n_rows - 2, whole.n_rows - 1)), decode_axes))
        << note("prefill, extend, decode, and then this: extend by two tokens");
  }
}

TEST(CachedAttention, ExtendsFromNothingAsPyTorchDoes) {
  const GoldenCase golden = load_golden("from_nothing");
  CachedAttention attention = layer_from(golden, 3);
  EXPECT_THAT(attention.extend(golden.cube("new")), Matches(golden.expected("decoded")))
      << note("there was no prefill: extend is one");
}

TEST(CachedAttention, ExtendAcceptsAChunkWithoutTokens) {
  const GoldenCase golden = load_golden("from_nothing");
  CachedAttention attention = layer_from(golden, 3);
  EXPECT_THAT(attention.extend(normal(4, 6, 2), {0, 0}), HasShape({{"L", 4}, {"E", 6}, {"B", 2}}));
  expect_lengths(attention.cache(), {0, 0}, note("two sequences without a token are two sequences"));
  EXPECT_THAT(attention.extend(golden.cube("new")), Matches(golden.expected("decoded")))
      << note("a chunk came before in which no sequence had a token");
  attention.extend(normal(4, 6, 2), {0, 0});
  expect_lengths(attention.cache(), {5, 5});
}

TEST(CachedAttention, ExtendAcceptsExtremeScores) {
  const GoldenCase golden = load_golden("far_from_zero");
  CachedAttention attention = layer_from(golden, 3);
  attention.prefill(golden.cube("prompt"));
  EXPECT_THAT(attention.extend(golden.cube("new")), Matches(golden.expected("decoded")));
}

TEST(CachedAttention, ExtendsWithoutAMatrixOfAllTokens) {
  const uword S = 192, E = 4, H = 2, B = 2;
  CachedAttention attention(E, H);
  attention.prefill(normal(S, E, B));
  const arma::cube X = normal(2, E, B);
  attention.extend(X);  // makes room
  const std::size_t asked = allocated_bytes([&] { attention.extend(X); });
  const std::size_t allowed = 21 * S * E * B * sizeof(double);  // a matrix of S x S has more
  EXPECT_TRUE(asked <= allowed) << line("memory", "extend asked for " + bytes_text(asked) + ", want at most " +
                                                      bytes_text(allowed))
                                << note("the cache has " + bytes_text(2 * S * E * B * sizeof(double)) +
                                        "; two new tokens have two queries per sequence, and only they are projected");
}

TEST(CachedAttention, ExtendLeavesItsFieldsAndArguments) {
  CachedAttention attention(6, 3);
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 6, 2);
  const arma::uvec lengths = {4, 5};
  expect_leaves_its_arguments("extend", {{"X", X}, {"lengths", lengths}}, [&] { attention.extend(X, lengths); });
  expect_unchanged(before, projections_of(attention), "extend");
}

// ----------------------------------------------------------------------------------------------------- bad input, 16.8

TEST(CachedAttention, RejectsAChunkThatDoesNotFit) {
  CachedAttention attention(6, 3);
  const auto extend = [&](const arma::cube& X, const arma::uvec& lengths = {}) {
    return [&attention, X, lengths] { attention.extend(X, lengths); };
  };
  for (const bool first : {true, false}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 2", "6"}), extend(zeros(5, 8, 2)));
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 6 x 2"}), extend(arma::cube(0, 6, 2)));
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 6 x 0"}), extend(arma::cube(5, 6, 0)));
    EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), extend(zeros(5, 6, 2), {3, 6}));
    EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"3", "2"}), extend(zeros(5, 6, 2), {5, 2, 1}));
    EXPECT_HOLDS(attention.cache().batch_size() == (first ? 0U : 2U),
                 "a rejected extend changed the number of sequences");
    if (first) attention.prefill(normal(5, 6, 2));
  }
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 6 x 3", "2"}), extend(zeros(4, 6, 3)))
      << note("the prompt had two sequences");
}

TEST(CachedAttention, IsUnchangedByARejectedExtend) {
  const GoldenCase golden = load_golden("equal_lengths");
  CachedAttention attention = layer_from(golden, 3);
  attention.prefill(golden.cube("prompt"));
  const KVCache before = attention.cache();
  const auto extend = [&](const arma::cube& X, const arma::uvec& lengths) {
    return [&attention, X, lengths] { attention.extend(X, lengths); };
  };
  const std::string advice = "check X before anything is changed; append checks the lengths";
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"9"}), extend(normal(7, 9, 2), {}));
  expect_cache_unchanged(attention.cache(), before, "extend", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4"}), extend(normal(3, 12, 4), {}));
  expect_cache_unchanged(attention.cache(), before, "extend", advice);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"8", "7"}), extend(normal(7, 12, 2), {2, 8}));
  expect_cache_unchanged(attention.cache(), before, "extend", advice);
  const arma::cube tokens = golden.cube("new");
  EXPECT_THAT(attention.extend(tokens), Matches(golden.expected("decoded")))
      << note("extend was called with bad input before; it must leave the cache as it was");
}

// ------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("prefill of 32 tokens and 6 decodes, 2 sequences, E = 64, H = 4", [] {
  const arma::cube prompt = normal(32, 64, 2);
  const arma::cube more = normal(6, 64, 2);
  CachedAttention layer(64, 4);
  return [layer, prompt, more]() mutable {
    layer.prefill(prompt);
    return decode_all(layer, more);
  };
});

}  // namespace
}  // namespace attn::judge
