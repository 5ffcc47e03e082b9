#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/decoder_attention.hpp"
#include "attn/masking.hpp"
#include "attn/multi_head_attention.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using arma::uword;
using Strings = std::vector<std::string>;

const Strings position_axes = {"L", "B"};
const Strings mask_axes = {"L", "S", "B"};
const Strings head_axes = {"L", "D", "H·B"};
const Strings cache_axes = {"S", "D", "G·B"};
const Strings output_axes = {"L", "E", "B"};
const Strings token_axes = {"tokens", "E", "B"};

/// Lengths as text: "5, 2".
std::string list(const arma::uvec& numbers) {
  std::string text;
  for (const uword number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text.empty() ? "none" : text;
}

arma::mat numbers(const arma::umat& x) { return arma::conv_to<arma::mat>::from(x); }
arma::cube numbers(const Mask& x) { return arma::conv_to<arma::cube>::from(x); }

arma::uvec drawn_lengths(uword count, uword most) {
  return arma::randi<arma::uvec>(count, arma::distr_param(0, static_cast<int>(most)));
}

// ------------------------------------------------------------------------- the definitions, one number at a time

Mask naive_mask(const arma::uvec& old_lengths, const arma::uvec& new_lengths, uword L, uword S, uword window) {
  Mask mask(L, S, old_lengths.n_elem, arma::fill::zeros);
  for (uword b = 0; b < mask.n_slices; ++b) {
    for (uword i = 0; i < L; ++i) {
      for (uword j = 0; j < S; ++j) {
        const uword position = old_lengths(b) + i;
        const bool in_window = window == 0 || position < j || position - j < window;
        mask(i, j, b) = i < new_lengths(b) && j <= position && in_window ? 1 : 0;
      }
    }
  }
  return mask;
}

arma::cube naive_grouped(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {},
                         double soft_cap = 0) {
  const uword N = Q.n_slices, sharing = N / K.n_slices;
  arma::cube context(Q.n_rows, V.n_cols, N, arma::fill::zeros);
  for (uword n = 0; n < N; ++n) {
    for (uword i = 0; i < Q.n_rows; ++i) {
      double sum = 0;
      arma::rowvec mixed(V.n_cols, arma::fill::zeros);
      for (uword j = 0; j < K.n_rows; ++j) {
        if (!mask.is_empty() && mask(i, j, n / (N / mask.n_slices)) == 0) continue;
        double score = 0;
        for (uword d = 0; d < Q.n_cols; ++d) score += Q(i, d, n) * K(j, d, n / sharing);
        score /= std::sqrt(static_cast<double>(Q.n_cols));
        if (soft_cap > 0) score = soft_cap * std::tanh(score / soft_cap);
        sum += std::exp(score);
        for (uword d = 0; d < V.n_cols; ++d) mixed(d) += std::exp(score) * V(j, d, n / sharing);
      }
      if (sum > 0) context.slice(n).row(i) = mixed / sum;
    }
  }
  return context;
}

/// Each row divided by its root mean square, times the weight.
arma::cube naive_norm(arma::cube x, const RMSNorm& norm) {
  for (uword n = 0; n < x.n_slices; ++n) {
    for (uword i = 0; i < x.n_rows; ++i) {
      double squares = 0;
      for (uword d = 0; d < x.n_cols; ++d) squares += x(i, d, n) * x(i, d, n) / static_cast<double>(x.n_cols);
      for (uword d = 0; d < x.n_cols; ++d) x(i, d, n) *= norm.weight(d) / std::sqrt(squares + norm.epsilon);
    }
  }
  return x;
}

/// Rows at the positions 0, 1, 2, ..., turned.
arma::cube naive_rope(const arma::cube& x, const DecoderAttentionConfig& config) {
  const uword pairs = x.n_cols / 2;
  const bool half_split = config.pairing == RopePairing::half_split;
  arma::cube turned(arma::size(x));
  for (uword n = 0; n < x.n_slices; ++n) {
    for (uword i = 0; i < x.n_rows; ++i) {
      for (uword p = 0; p < pairs; ++p) {
        const double speed = config.rope_speeds.is_empty()
                                 ? std::pow(10000, -static_cast<double>(p) / static_cast<double>(pairs))
                                 : config.rope_speeds(p);
        const double angle = static_cast<double>(i) * speed;
        const uword a = half_split ? p : 2 * p, b = half_split ? p + pairs : 2 * p + 1;
        turned(i, a, n) = x(i, a, n) * std::cos(angle) - x(i, b, n) * std::sin(angle);
        turned(i, b, n) = x(i, a, n) * std::sin(angle) + x(i, b, n) * std::cos(angle);
      }
    }
  }
  return turned;
}

/// What a layer gives for whole sequences, without a cache, and its keys as they should be cached. The configuration is
/// the check's: it does not come from the layer.
struct Whole {
  arma::cube keys, values, output;
};

Whole naive(const DecoderAttention& attention, const DecoderAttentionConfig& config, const arma::cube& X) {
  const auto heads = [&](const Linear& proj, uword count) {
    return naive_split_heads(naive_linear(X, proj.weight, proj.bias), count);
  };
  arma::cube Q = heads(attention.query_proj, config.num_heads), K = heads(attention.key_proj, config.num_kv_heads);
  if (config.qk_norm) {
    Q = naive_norm(Q, attention.query_norm);
    K = naive_norm(K, attention.key_norm);
  }
  const arma::cube keys = naive_rope(K, config), values = heads(attention.value_proj, config.num_kv_heads);
  const arma::uvec none(X.n_slices, arma::fill::zeros), all = none + X.n_rows;
  const Mask mask = naive_mask(none, all, X.n_rows, X.n_rows, config.window);
  const arma::cube context =
      naive_merge_heads(naive_grouped(naive_rope(Q, config), keys, values, mask, config.soft_cap), config.num_heads);
  return {keys, values, naive_linear(context, attention.output_proj.weight, attention.output_proj.bias)};
}

// ------------------------------------------------------------------------------------------ layers and their calls

DecoderAttentionConfig sizes(uword embed_dim, uword num_heads, uword num_kv_heads, uword head_dim = 0) {
  DecoderAttentionConfig config;
  config.embed_dim = embed_dim;
  config.num_heads = num_heads;
  config.num_kv_heads = num_kv_heads;
  config.head_dim = head_dim;
  return config;
}

/// Sizes of the golden cases with three calls, and the options of each case.
DecoderAttentionConfig config_of(const std::string& model) {
  DecoderAttentionConfig config = sizes(14, 8, 2, 6);
  if (model == "mistral" || model == "everything") config.window = 4;
  if (model == "qwen3" || model == "everything") config.qk_norm = true;
  if (model == "gemma2" || model == "everything") config.soft_cap = 1.5;
  if (model == "everything") config.pairing = RopePairing::interleaved;
  return config;
}

const Strings all_models = {"llama", "mistral", "qwen3", "gemma2", "everything"};

std::string about(const std::string& model) {
  if (model == "llama") return note("RoPE, grouped queries and a cache; no window, no QK-norm, no soft cap");
  if (model == "mistral") return note("with a window of 4");
  if (model == "qwen3") return note("with QK-norm");
  if (model == "gemma2") return note("with a soft cap of 1.5");
  return note("with a window of 4, QK-norm, a soft cap of 1.5 and interleaved pairs");
}

/// A layer with the projections and norms of case "llama", which its neighbours share.
DecoderAttention layer_of(const std::string& model) {
  const GoldenCase golden = load_golden("llama");
  DecoderAttention attention = with_projections(DecoderAttention(config_of(model)), golden);
  attention.query_norm.weight = golden.rowvec("query_norm");
  attention.key_norm.weight = golden.rowvec("key_norm");
  return attention;
}

/// A new layer whose norms were drawn, too.
DecoderAttention drawn_layer(const DecoderAttentionConfig& config) {
  DecoderAttention attention(config);
  attention.query_norm.weight.randn();
  attention.key_norm.weight.randn();
  return attention;
}

/// New tokens, as a call of extend takes them: X (L x E x B), and how many of its rows are tokens of each sequence.
struct Chunk {
  arma::cube X;
  arma::uvec lengths;
};

/// The three calls of the golden cases.
std::vector<Chunk> golden_chunks() {
  const GoldenCase golden = load_golden("llama");
  return {
      {golden.cube("chunk_1"), {4, 2, 5}}, {golden.cube("chunk_2"), {1, 5, 3}}, {golden.cube("chunk_3"), {4, 0, 2}}};
}

/// The rows that are tokens; the rows after them may hold anything, and become zeros.
arma::cube tokens_only(arma::cube extended, const arma::uvec& lengths) {
  if (extended.n_slices != lengths.n_elem || extended.n_rows < lengths.max()) return extended;
  for (uword b = 0; b < extended.n_slices; ++b) {
    for (uword i = lengths(b); i < extended.n_rows; ++i) extended.slice(b).row(i).zeros();
  }
  return extended;
}

/// The tokens of sequence b in all chunks, one after the other (T x E x 1). Not their padding.
arma::cube sequence_of(const std::vector<Chunk>& chunks, uword b) {
  arma::mat tokens(0, chunks.front().X.n_cols);
  for (const Chunk& chunk : chunks) {
    if (chunk.lengths(b) > 0) tokens = arma::join_cols(tokens, chunk.X.slice(b).head_rows(chunk.lengths(b)));
  }
  return as_cube(tokens);
}

/// Rows first to last of all sequences.
arma::cube rows_of(const arma::cube& X, uword first, uword last) { return X.rows(first, last); }

/// The rows of a, then those of b, of all sequences.
arma::cube stacked(const arma::cube& a, const arma::cube& b) {
  arma::cube both(a.n_rows + b.n_rows, a.n_cols, a.n_slices);
  both.rows(0, a.n_rows - 1) = a;
  both.rows(a.n_rows, both.n_rows - 1) = b;
  return both;
}

/// X in calls of so many rows each, what they give put together again. What has a wrong shape is returned as it is.
arma::cube in_calls(DecoderAttention& attention, const arma::cube& X, const arma::uvec& calls) {
  arma::cube output(arma::size(X));
  uword first = 0;
  for (const uword L : calls) {
    const arma::cube Y = attention.extend(rows_of(X, first, first + L - 1));
    if (Y.n_rows != L || Y.n_cols != X.n_cols || Y.n_slices != X.n_slices) return Y;
    output.rows(first, first + L - 1) = Y;
    first += L;
  }
  return output;
}

/// The tokens of sequence b in a cache of G heads, of keys or of values.
arma::cube cached(const KVCache& cache, const arma::cube& kept, uword b) {
  const uword G = cache.num_heads(), length = cache.length(b);
  if (length == 0 || kept.n_rows < length || kept.n_slices < (b + 1) * G) return kept;
  return kept.subcube(0, 0, b * G, length - 1, kept.n_cols - 1, (b + 1) * G - 1);
}

void expect_lengths(const DecoderAttention& attention, const arma::uvec& wanted, const std::string& about = "") {
  const std::string lengths = list(attention.cache().lengths());
  ASSERT_HOLDS(lengths == list(wanted), "cache().lengths() holds " + lengths + ", want " + list(wanted)) << about;
}

/// The example of the chapter: a quarter of a turn for each token, and a window of 3.
DecoderAttentionConfig config_by_hand() {
  DecoderAttentionConfig config = sizes(3, 2, 1, 2);
  config.rope_speeds = {arma::datum::pi / 2};
  config.window = 3;
  return config;
}

DecoderAttention layer_by_hand() {
  DecoderAttention attention(config_by_hand());
  attention.query_proj.weight = {{1, 0, 0, 0}, {0, 1, 1, 0}, {0, 0, 0, 1}};
  attention.key_proj.weight = {{1, 0}, {0, 0}, {0, 1}};
  attention.value_proj.weight = {{0, 0}, {1, 0}, {0, 1}};
  attention.output_proj.weight = {{1, 0, 0}, {0, 1, 0}, {0, 1, 0}, {0, 0, 1}};
  return attention;
}

arma::cube prompt_by_hand() { return as_cube(arma::mat{{1, 0, 1}, {0, 1, 1}, {2, 1, 0}}); }
arma::cube token_by_hand() { return as_cube(arma::mat{{1, 0, 2}}); }

// ------------------------------------------------------------------------------------------- positions_after, 21.1

TEST(PositionsAfter, HasARowForEachNewTokenAndAColumnForEachSequence) {
  const arma::umat positions = positions_after({5, 0, 2}, 4);
  EXPECT_THAT(numbers(positions), HasShape({{"L", 4}, {"B", 3}}))
      << (positions.n_rows == 3 && positions.n_cols == 4 ? likely_mistake("positions_transposed") : "");
}

TEST(PositionsAfter, GivesTheExampleOfTheChapter) {
  EXPECT_THAT(numbers(positions_after({3, 1}, 2)), IsNear(arma::mat{{3, 1}, {4, 2}}, position_axes))
      << note("sequence 0 has 3 tokens, sequence 1 has 1; two rows come");
}

TEST(PositionsAfter, BeginsAtZeroWithoutOldTokens) {
  EXPECT_THAT(numbers(positions_after({0, 0, 0}, 4)),
              IsNear(arma::mat{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, position_axes));
}

TEST(PositionsAfter, ContinuesEachSequenceAfterItsOwnTokens) {
  const arma::uvec old_lengths = {7, 1, 130, 2, 7};
  arma::mat wanted(6, 5);
  for (uword b = 0; b < 5; ++b) {
    for (uword i = 0; i < 6; ++i) wanted(i, b) = static_cast<double>(old_lengths(b) + i);
  }
  EXPECT_THAT(numbers(positions_after(old_lengths, 6)), IsNear(wanted, position_axes))
      << note("five sequences with " + list(old_lengths) + " tokens");
}

TEST(PositionsAfter, ContinuesWhereTheCallBeforeEnded) {
  const arma::uvec old_lengths = {4, 1, 9};
  const arma::mat at_once = numbers(positions_after(old_lengths, 7));
  ASSERT_THAT(at_once, HasShape({{"L", 7}, {"B", 3}}));
  EXPECT_THAT(numbers(positions_after(old_lengths + 5, 2)), IsNear(arma::mat(at_once.rows(5, 6)), position_axes))
      << note("the last two of seven rows, when the five before them came in an earlier call");
}

TEST(PositionsAfter, LeavesItsArguments) {
  const arma::uvec old_lengths = {4, 1, 9};
  expect_leaves_its_arguments("positions_after", {{"old_lengths", old_lengths}},
                              [&] { positions_after(old_lengths, 2); });
}

// --------------------------------------------------------------------------------------------- decoder_mask, 21.2

TEST(DecoderMask, HasASliceForEachSequence) {
  EXPECT_THAT(numbers(decoder_mask({5, 0, 2}, {4, 4, 4}, 4, 9)), HasShape({{"L", 4}, {"S", 9}, {"B", 3}}));
}

TEST(DecoderMask, GivesTheExampleOfTheChapter) {
  arma::cube wanted(2, 6, 2);
  wanted.slice(0) = {{1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 0}};
  wanted.slice(1) = {{1, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
  EXPECT_THAT(numbers(decoder_mask({3, 1}, {2, 1}, 2, 6)), IsNear(wanted, mask_axes))
      << note("3 and 1 tokens are cached; of the chunk's two rows 2 and 1 are tokens; there is room for 6 keys");
}

TEST(DecoderMask, GivesTheExampleOfTheChapterWithAWindow) {
  arma::cube wanted(2, 6, 2);
  wanted.slice(0) = {{0, 1, 1, 1, 0, 0}, {0, 0, 1, 1, 1, 0}};
  wanted.slice(1) = {{1, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
  EXPECT_THAT(numbers(decoder_mask({3, 1}, {2, 1}, 2, 6, 3)), IsNear(wanted, mask_axes)) << note("the window is 3");
}

TEST(DecoderMask, ShowsTheNewestKeysOfTheWindow) {
  for (uword window = 1; window <= 9; ++window) {
    const arma::cube mask = numbers(decoder_mask({3, 1}, {5, 5}, 5, 8, window));
    ASSERT_THAT(mask, HasShape({{"L", 5}, {"S", 8}, {"B", 2}}));
    const arma::cube seen = arma::sum(mask, 1);  // (L x 1 x B)
    arma::cube wanted(5, 1, 2);
    for (uword i = 0; i < 5; ++i) {
      wanted(i, 0, 0) = static_cast<double>(std::min(window, i + 4));
      wanted(i, 0, 1) = static_cast<double>(std::min(window, i + 2));
    }
    EXPECT_THAT(seen, IsNear(wanted, {"L", "1", "B"})) << note(
        "how many keys each query sees, with 3 and 1 tokens before it and a window of " + std::to_string(window));
  }
}

TEST(DecoderMask, ShowsAQueryItsOwnKey) {
  const Mask mask = decoder_mask({3, 1}, {4, 4}, 4, 9, 1);
  ASSERT_THAT(numbers(mask), HasShape({{"L", 4}, {"S", 9}, {"B", 2}}));
  EXPECT_THAT(numbers(mask), IsNear(numbers(naive_mask({3, 1}, {4, 4}, 4, 9, 1)), mask_axes))
      << note("with a window of 1 a query sees its own key alone: the key at its position");
}

TEST(DecoderMask, BlocksTheFutureOfEachSequence) {
  const Mask mask = decoder_mask({3, 1, 5}, {4, 4, 4}, 4, 9);
  ASSERT_THAT(numbers(mask), HasShape({{"L", 4}, {"S", 9}, {"B", 3}}));
  const Mask causal = causal_mask(9, 9);
  arma::cube wanted(4, 9, 3);
  for (const auto& [b, old] : {std::pair<uword, uword>{0, 3}, {1, 1}, {2, 5}}) {
    wanted.slice(b) = arma::conv_to<arma::mat>::from(causal.slice(0).rows(old, old + 3));
  }
  EXPECT_THAT(numbers(mask), IsNear(wanted, mask_axes))
      << note("expected: the rows of causal_mask(9, 9) at the positions of the new tokens");
}

TEST(DecoderMask, EqualsPyTorch) {
  const GoldenCase golden = load_golden("masks");
  for (const uword window : {0U, 2U, 4U}) {
    EXPECT_THAT(numbers(decoder_mask({3, 1, 0}, {2, 5, 0}, 5, 7, window)),
                Matches(golden.expected("window_" + std::to_string(window))))
        << note("3, 1 and 0 tokens, then 2, 5 and 0 more; the window is " + std::to_string(window));
  }
}

TEST(DecoderMask, IsTheSameInChunks) {
  for (const uword window : {0U, 1U, 3U, 5U}) {
    const Mask whole = decoder_mask({0, 2}, {9, 9}, 9, 12, window);
    ASSERT_THAT(numbers(whole), HasShape({{"L", 9}, {"S", 12}, {"B", 2}}));
    for (uword start = 0; start < 9; ++start) {
      const arma::cube wanted = numbers(Mask(whole.rows(start, 8)));
      const uword L = 9 - start;
      EXPECT_THAT(numbers(decoder_mask({start, start + 2}, {L, L}, L, 12, window)), IsNear(wanted, mask_axes))
          << note("9 tokens: the last " + std::to_string(L) + " rows, when the others came in an earlier call; the " +
                  "window is " + std::to_string(window));
    }
  }
}

TEST(DecoderMask, IgnoresTheCapacity) {
  const Mask tight = decoder_mask({3, 1}, {2, 4}, 4, 5, 3);
  ASSERT_THAT(numbers(tight), HasShape({{"L", 4}, {"S", 5}, {"B", 2}}));
  for (const uword S : {6U, 10U, 33U}) {
    arma::cube wanted(4, S, 2, arma::fill::zeros);
    wanted.cols(0, 4) = numbers(tight);
    EXPECT_THAT(numbers(decoder_mask({3, 1}, {2, 4}, 4, S, 3)), IsNear(wanted, mask_axes))
        << note("room for " + std::to_string(S) + " keys instead of 5: the new columns are all 0");
  }
}

TEST(DecoderMask, TakesALargeWindowAsNone) {
  const arma::cube wanted = numbers(naive_mask({3, 1}, {4, 2}, 4, 9, 0));
  for (const uword window : {uword{7}, uword{8}, uword{1000}, ~uword{0}}) {
    EXPECT_THAT(numbers(decoder_mask({3, 1}, {4, 2}, 4, 9, window)), IsNear(wanted, mask_axes))
        << note("7 tokens at most, and a window of " + std::to_string(window) + ": all keys are in it");
  }
}

TEST(DecoderMask, ShowsPaddingNothing) {
  const Mask mask = decoder_mask({3, 1, 4, 0}, {2, 0, 5, 1}, 5, 9, 3);
  ASSERT_THAT(numbers(mask), HasShape({{"L", 5}, {"S", 9}, {"B", 4}}));
  for (const auto& [b, length] : {std::pair<uword, uword>{0, 2}, {1, 0}, {3, 1}}) {
    const arma::cube padding = numbers(Mask(mask.subcube(length, 0, b, 4, 8, b)));
    EXPECT_THAT(padding, IsNear(arma::cube(arma::size(padding), arma::fill::zeros), mask_axes))
        << note("the rows of sequence " + std::to_string(b) + " from " + std::to_string(length) + " on: padding");
  }
}

TEST(DecoderMask, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, B, window;
  };
  for (const auto& [L, S, B, window] :
       {Sizes{3, 8, 5, 0}, {3, 8, 5, 2}, {1, 6, 4, 3}, {7, 7, 2, 5}, {2, 40, 3, 11}, {1, 1, 2, 1}, {6, 20, 1, 4}}) {
    const arma::uvec old_lengths = drawn_lengths(B, S - L), new_lengths = drawn_lengths(B, L);
    EXPECT_THAT(numbers(decoder_mask(old_lengths, new_lengths, L, S, window)),
                IsNear(numbers(naive_mask(old_lengths, new_lengths, L, S, window)), mask_axes))
        << note(list(old_lengths) + " tokens, then " + list(new_lengths) + " more; the window is " +
                std::to_string(window));
  }
}

TEST(DecoderMask, LeavesItsArguments) {
  const arma::uvec old_lengths = {4, 1}, new_lengths = {2, 3};
  expect_leaves_its_arguments("decoder_mask", {{"old_lengths", old_lengths}, {"new_lengths", new_lengths}},
                              [&] { decoder_mask(old_lengths, new_lengths, 3, 7, 2); });
}

// ----------------------------------------------------------------------------------------- grouped_attention, 21.3

TEST(GroupedAttention, GivesAContextForEachQuery) {
  EXPECT_THAT(grouped_attention(normal(5, 7, 24), normal(9, 7, 6), normal(9, 7, 6)),
              HasShape({{"L", 5}, {"D", 7}, {"H·B", 24}}));
}

TEST(GroupedAttention, GivesTheExampleWorkedByHand) {
  arma::cube Q(1, 2, 2), K(4, 2, 1), V(4, 2, 1);
  Q.slice(0) = {{0, -1}};
  Q.slice(1) = {{2, 0}};
  K.slice(0) = {{1, 1}, {-1, 0}, {-2, 0}, {2, -1}};
  V.slice(0) = {{0, 1}, {1, 1}, {1, 0}, {0, 2}};
  Mask mask = ones(1, 4, 1);
  mask(0, 0, 0) = 0;
  EXPECT_THAT(grouped_attention(Q, K, V, mask), Matches(load_golden("by_hand").expected("context")))
      << note("the last token of the chapter's example: two query heads share a key/value head");
}

TEST(GroupedAttention, EqualsPyTorchWithoutAMask) {
  const GoldenCase golden = load_golden("grouped");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V")),
              Matches(golden.expected("unmasked")))
      << note("H = 8, G = 2, B = 3, D = 7");
}

TEST(GroupedAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("grouped");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), golden.mask("mask")),
              Matches(golden.expected("output")))
      << note("H = 8, G = 2, B = 3, D = 7; the mask has a slice for each sequence");
}

TEST(GroupedAttention, EqualsPyTorchWithASoftCap) {
  const GoldenCase golden = load_golden("grouped");
  EXPECT_THAT(grouped_attention(golden.cube("Q"), golden.cube("K"), golden.cube("V"), golden.mask("mask"), 2.5),
              Matches(golden.expected("capped")))
      << note("soft_cap is 2.5");
}

TEST(GroupedAttention, IsLesson03sAttentionWhereNothingIsShared) {
  const arma::cube Q = normal(5, 7, 6), K = normal(9, 7, 6), V = normal(9, 7, 6);
  const Mask mask = random_mask(5, 9, 2);
  EXPECT_THAT(grouped_attention(Q, K, V, mask), IsNear(scaled_dot_product_attention(Q, K, V, mask), head_axes))
      << note("G = H = 3, B = 2");
}

TEST(GroupedAttention, GivesZerosToAQueryWithoutKeys) {
  Mask mask = ones(5, 9, 2);
  mask.slice(1).row(3).zeros();
  mask.slice(0).row(0).zeros();
  for (const double soft_cap : {0.0, 2.0}) {
    const arma::cube Q = normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
    const arma::cube context = grouped_attention(Q, K, V, mask, soft_cap);
    EXPECT_THAT(context, IsNear(naive_grouped(Q, K, V, mask, soft_cap), head_axes))
        << note("query 0 of sequence 0 and query 3 of sequence 1 may attend to no key; soft_cap is " +
                std::to_string(soft_cap));
  }
}

TEST(GroupedAttention, IgnoresBlockedKeys) {
  const arma::cube Q = normal(5, 7, 12), V = normal(9, 7, 4);
  Mask mask = ones(5, 9, 2);
  mask.cols(6, 8).zeros();
  arma::cube K = normal(9, 7, 4), other = V;
  for (const double soft_cap : {0.0, 2.0}) {
    const arma::cube wanted = grouped_attention(Q, K, V, mask, soft_cap);
    K.rows(6, 8) *= 100;
    other.rows(6, 8) += 1000;
    EXPECT_THAT(grouped_attention(Q, K, other, mask, soft_cap), IsNear(wanted, head_axes)) << note(
        "keys 6 to 8 are blocked, and hold other numbers: nothing may change; soft_cap is " + std::to_string(soft_cap));
  }
}

TEST(GroupedAttention, IgnoresTheOrderOfKeys) {
  const arma::cube Q = normal(5, 7, 12);
  expect_ignores_the_order_of_keys(
      [&](const arma::cube& K, const arma::cube& V, const Mask& mask) { return grouped_attention(Q, K, V, mask, 2); },
      normal(4, 7, 6), normal(4, 7, 6), random_mask(5, 4, 3));
}

TEST(GroupedAttention, TakesAnyNumberButZeroAsAllowed) {
  const arma::cube Q = normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
  expect_takes_any_number_but_zero([&](const Mask& mask) { return grouped_attention(Q, K, V, mask); },
                                   random_mask(5, 9, 2));
}

TEST(GroupedAttention, TakesAHugeSoftCapAsNone) {
  const arma::cube Q = normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
  EXPECT_THAT(grouped_attention(Q, K, V, {}, 1e6), IsNear(grouped_attention(Q, K, V), head_axes, 1e-8))
      << note("soft_cap is a million: the tanh of so small a number is the number");
}

TEST(GroupedAttention, MixesEvenlyUnderATinySoftCap) {
  const arma::cube Q = normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
  arma::cube wanted(5, 7, 12);
  for (uword n = 0; n < 12; ++n) wanted.slice(n).each_row() = arma::rowvec(arma::mean(V.slice(n / 3), 0));
  EXPECT_THAT(grouped_attention(Q, K, V, {}, 1e-13), IsNear(wanted, head_axes))
      << note("all scores are between -1e-13 and 1e-13, so every query takes the mean of all values");
}

TEST(GroupedAttention, AcceptsExtremeScores) {
  const arma::cube Q = 1e4 * normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
  EXPECT_THAT(grouped_attention(Q, K, V, {}, 5), IsNear(naive_grouped(Q, K, V, {}, 5), head_axes))
      << note("scores in the tens of thousands, capped at 5");
  EXPECT_HOLDS(grouped_attention(Q, K, V).is_finite(), "there is NaN or infinity where scores are tens of thousands");
}

TEST(GroupedAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword L, S, D, H, G, B, slices;
    double soft_cap;
  };
  for (const Sizes& n : {Sizes{3, 5, 4, 6, 2, 1, 1, 0},
                         {2, 7, 3, 4, 4, 2, 2, 0.5},
                         {6, 3, 5, 4, 1, 2, 8, 0},
                         {1, 8, 2, 10, 5, 3, 3, 3},
                         {4, 4, 1, 3, 1, 5, 15, 1},
                         {1, 1, 6, 2, 1, 3, 1, 0},
                         {2, 30, 20, 9, 3, 1, 9, 20}}) {
    const arma::cube Q = normal(n.L, n.D, n.H * n.B), K = normal(n.S, n.D, n.G * n.B), V = normal(n.S, n.D, n.G * n.B);
    const Mask mask = random_mask(n.L, n.S, n.slices);
    EXPECT_THAT(grouped_attention(Q, K, V, mask, n.soft_cap),
                IsNear(naive_grouped(Q, K, V, mask, n.soft_cap), head_axes))
        << note("H = " + std::to_string(n.H) + ", G = " + std::to_string(n.G) + ", B = " + std::to_string(n.B) +
                "; the mask has " + std::to_string(n.slices) + " slices; soft_cap is " + std::to_string(n.soft_cap));
  }
}

TEST(GroupedAttention, LeavesItsArguments) {
  const arma::cube Q = normal(5, 7, 12), K = normal(9, 7, 4), V = normal(9, 7, 4);
  const Mask mask = random_mask(5, 9, 2);
  expect_leaves_its_arguments("grouped_attention", {{"Q", Q}, {"K", K}, {"V", V}, {"mask", mask}},
                              [&] { grouped_attention(Q, K, V, mask, 2); });
}

// --------------------------------------------------------------------------------------------- the constructor, 21.4

/// The sizes of a projection; mistakes are known by its number of columns.
void expect_projection(const std::string& name, const Linear& layer, uword in, uword out,
                       const std::vector<std::pair<uword, std::string>>& by_columns, const std::string& about) {
  std::string likely;
  for (const auto& [columns, mistake] : by_columns) {
    if (layer.weight.n_cols == columns && columns != out) likely = mistake;
  }
  EXPECT_THAT(layer.weight, HasShape({{"in", in}, {"out", out}}))
      << note("this is the weight of " + name) << about << likely;
}

// E, H, G, D and their products all differ: 24, 6, 2, 10; H·D = 60, G·D = 20, E / H = 4, G · E / H = 8, H / G = 3.
TEST(DecoderAttention, HasProjectionsForHeadsOfAnyWidth) {
  const DecoderAttention attention(sizes(24, 6, 2, 10));
  const std::string about = note("E = 24, H = 6, G = 2, head_dim = 10");
  expect_projection("query_proj", attention.query_proj, 24, 60, {{24, likely_mistake("head_dim_ignored")}}, about);
  expect_projection("key_proj", attention.key_proj, 24, 20,
                    {{8, likely_mistake("head_dim_ignored")},
                     {60, likely_mistake("keys_for_all_heads")},
                     {30, likely_mistake("keys_by_group_size")}},
                    about);
  expect_projection("value_proj", attention.value_proj, 24, 20,
                    {{8, likely_mistake("head_dim_ignored")},
                     {60, likely_mistake("keys_for_all_heads")},
                     {30, likely_mistake("keys_by_group_size")}},
                    about);
  const bool from_E = attention.output_proj.weight.n_rows == 24, back = attention.output_proj.weight.n_cols == 60;
  EXPECT_THAT(attention.output_proj.weight, HasShape({{"in", 60}, {"out", 24}}))
      << note("this is the weight of output_proj") << about
      << (from_E && attention.query_proj.weight.n_cols == 24 ? likely_mistake("head_dim_ignored")
          : from_E || back                                   ? likely_mistake("output_from_embed_dim")
                                                             : "");
}

TEST(DecoderAttention, TakesEmbedDimByHeadsWhereNoWidthIsGiven) {
  const DecoderAttention attention(sizes(24, 6, 2));
  const std::string about = note("E = 24, H = 6, G = 2, head_dim = 0: so D = E / H = 4");
  expect_projection("query_proj", attention.query_proj, 24, 24, {}, about);
  expect_projection("key_proj", attention.key_proj, 24, 8,
                    {{24, likely_mistake("keys_for_all_heads")}, {12, likely_mistake("keys_by_group_size")}}, about);
  expect_projection("value_proj", attention.value_proj, 24, 8,
                    {{24, likely_mistake("keys_for_all_heads")}, {12, likely_mistake("keys_by_group_size")}}, about);
  expect_projection("output_proj", attention.output_proj, 24, 24, {}, about);
}

TEST(DecoderAttention, HasNormsAsWideAsAHead) {
  const DecoderAttention attention(sizes(24, 6, 2, 10));
  const auto likely = [](uword width) {
    return width == 24                  ? likely_mistake("norms_of_embed_dim")
           : width == 60 || width == 20 ? likely_mistake("norms_of_all_heads")
           : width == 4                 ? likely_mistake("head_dim_ignored")
                                        : "";
  };
  for (const auto& [name, norm] : {std::pair<std::string, const RMSNorm*>{"query_norm", &attention.query_norm},
                                   {"key_norm", &attention.key_norm}}) {
    EXPECT_THAT(arma::mat(norm->weight), IsNear(arma::mat(1, 10, arma::fill::ones), {"1", "D"}))
        << note("this is the weight of " + name + "; E = 24, H = 6, G = 2, head_dim = 10")
        << likely(norm->weight.n_elem);
  }
}

TEST(DecoderAttention, HasBiasesWhereTheConfigurationSaysSo) {
  DecoderAttentionConfig config = sizes(24, 6, 2, 10);
  for (const bool bias : {false, true}) {
    config.bias = bias;
    const DecoderAttention attention(config);
    for (const auto& [name, layer] : projections_of(attention)) {
      const uword wanted = bias ? layer.weight.n_cols : 0;
      EXPECT_HOLDS(layer.bias.n_elem == wanted, name + ".bias has " + std::to_string(layer.bias.n_elem) +
                                                    " elements, want " + std::to_string(wanted))
          << note(bias ? "config.bias is true" : "config.bias is false")
          << (bias ? (name == "output_proj" && !attention.query_proj.bias.is_empty()
                          ? likely_mistake("output_without_bias")
                          : likely_mistake("bias_ignored"))
                   : likely_mistake("bias_always"));
    }
  }
}

TEST(DecoderAttention, BeginsWithAnEmptyCacheForTheKeyValueHeads) {
  const DecoderAttention attention(sizes(24, 6, 2, 10));
  const uword heads = attention.cache().num_heads();
  EXPECT_HOLDS(heads == 2, "cache().num_heads() is " + std::to_string(heads) + ", want G = 2")
      << (heads == 6 ? likely_mistake("cache_for_query_heads") : "");
  EXPECT_HOLDS(attention.cache().batch_size() == 0, "the cache of a new layer is not empty");
}

TEST(DecoderAttention, KeepsItsConfiguration) {
  for (const uword head_dim : {10U, 0U}) {
    DecoderAttentionConfig config = sizes(24, 6, 2, head_dim);
    config.window = 7;
    config.qk_norm = true;
    config.soft_cap = 1.5;
    config.bias = true;
    config.pairing = RopePairing::interleaved;
    const DecoderAttention attention(config);
    const DecoderAttentionConfig& kept = attention.config();
    EXPECT_HOLDS(kept.embed_dim == 24 && kept.num_heads == 6 && kept.num_kv_heads == 2 && kept.window == 7 &&
                     kept.qk_norm && kept.soft_cap == 1.5 && kept.bias && kept.pairing == RopePairing::interleaved,
                 "config() is another than the one given");
    const uword D = head_dim == 0 ? 4 : head_dim;
    EXPECT_HOLDS(kept.head_dim == D,
                 "config().head_dim is " + std::to_string(kept.head_dim) + ", want D = " + std::to_string(D))
        << note("head_dim was " + std::to_string(head_dim) + ", E = 24, H = 6")
        << (kept.head_dim == 0 ? likely_mistake("head_dim_stays_zero") : "");
  }
}

TEST(DecoderAttention, KeepsTheProjectionsThatLinearDraws) {
  DecoderAttentionConfig config = sizes(50, 6, 3, 8);
  config.bias = true;
  expect_drawn_as_linear_draws(projections_of(DecoderAttention(config)));
  expect_draws_each_projection_anew(projections_of(DecoderAttention(config)));
}

// ------------------------------------------------------------------------------------------------------ extend, 21.5

TEST(DecoderAttention, ExtendGivesARowForEachNewToken) {
  DecoderAttention attention(sizes(14, 8, 2, 6));
  EXPECT_THAT(attention.extend(normal(5, 14, 3)), HasShape({{"L", 5}, {"E", 14}, {"B", 3}}));
  expect_lengths(attention, {5, 5, 5}, note("three sequences of five tokens"));
  EXPECT_THAT(attention.extend(normal(4, 14, 3), {2, 0, 4}), HasShape({{"L", 4}, {"E", 14}, {"B", 3}}));
  expect_lengths(attention, {7, 5, 9}, note("then 2, 0 and 4 more, in 4 rows"));
}

TEST(DecoderAttention, GivesTheExampleWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  DecoderAttention attention = layer_by_hand();
  EXPECT_THAT(attention.extend(prompt_by_hand()), Matches(golden.expected("prompt")))
      << note("the first call: three tokens");
  EXPECT_THAT(attention.extend(token_by_hand()), Matches(golden.expected("token")))
      << note("the second call: one token, under a window of 3");
}

TEST(DecoderAttention, CachesTheTurnedKeysOfTheExample) {
  const GoldenCase golden = load_golden("by_hand");
  DecoderAttention attention = layer_by_hand();
  attention.extend(prompt_by_hand());
  attention.extend(token_by_hand());
  expect_lengths(attention, {4});
  EXPECT_THAT(cached(attention.cache(), attention.cache().keys(), 0), Matches(golden.expected("keys")))
      << note("these are the keys in the cache");
  const arma::mat values = {{0, 1}, {1, 1}, {1, 0}, {0, 2}};
  EXPECT_THAT(cached(attention.cache(), attention.cache().values(), 0), IsNear(as_cube(values), cache_axes))
      << note("these are the values in the cache");
}

TEST(DecoderAttention, EqualsPyTorchForOneCall) {
  const arma::uvec lengths = {4, 2, 5};
  for (const std::string& model : all_models) {
    DecoderAttention attention = layer_of(model);
    EXPECT_THAT(tokens_only(attention.extend(golden_chunks()[0].X, lengths), lengths),
                Matches(load_golden(model).expected("extended_1")))
        << note("the first call, with 4, 2 and 5 tokens") << about(model);
  }
}

TEST(DecoderAttention, EqualsPyTorchInThreeCalls) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = layer_of(model);
    uword number = 0;
    for (const Chunk& chunk : golden_chunks()) {
      ++number;
      EXPECT_THAT(tokens_only(attention.extend(chunk.X, chunk.lengths), chunk.lengths),
                  Matches(load_golden(model).expected("extended_" + std::to_string(number))))
          << note("call " + std::to_string(number) + " of three, with " + list(chunk.lengths) + " tokens")
          << about(model);
    }
    expect_lengths(attention, {9, 7, 10});
  }
}

TEST(DecoderAttention, CachesTheKeysThatAttentionReads) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = layer_of(model);
    for (const Chunk& chunk : golden_chunks()) attention.extend(chunk.X, chunk.lengths);
    expect_lengths(attention, {9, 7, 10});
    EXPECT_THAT(cached(attention.cache(), attention.cache().keys(), 2),
                Matches(load_golden(model).expected("keys_of_2")))
        << note("the keys of sequence 2 in the cache, after three calls") << about(model);
  }
}

TEST(DecoderAttention, CachesTheValuesAsTheyAreProjected) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = layer_of(model);
    const std::vector<Chunk> chunks = golden_chunks();
    for (const Chunk& chunk : chunks) attention.extend(chunk.X, chunk.lengths);
    for (uword b = 0; b < 3; ++b) {
      const Whole whole = naive(attention, config_of(model), sequence_of(chunks, b));
      EXPECT_THAT(cached(attention.cache(), attention.cache().values(), b), IsNear(whole.values, cache_axes))
          << note("the values of sequence " + std::to_string(b) + " in the cache") << about(model);
    }
  }
}

TEST(DecoderAttention, EqualsPyTorchWithBiasesAndOtherSpeeds) {
  const GoldenCase golden = load_golden("biased");
  DecoderAttentionConfig config = sizes(9, 6, 3, 4);
  config.bias = true;
  config.rope_speeds = golden.rowvec("speeds");
  DecoderAttention attention = with_projections(DecoderAttention(config), golden);
  const arma::cube X = golden.cube("X");
  EXPECT_THAT(attention.extend(X), Matches(golden.expected("output")))
      << note("E = 9, H = 6, G = 3, head_dim = 4; biases, and RoPE with base 500000");
}

TEST(DecoderAttention, IsTheSameForAnyCutIntoCalls) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = drawn_layer(config_of(model));
    const arma::cube X = normal(7, 14, 3);
    const arma::cube wanted = in_calls(attention, X, {7});
    for (const arma::uvec& calls : {arma::uvec{6, 1}, {1, 4, 2}, {1, 1, 1, 1, 1, 1, 1}}) {
      attention.reset();
      EXPECT_THAT(in_calls(attention, X, calls), IsNear(wanted, token_axes, 1e-12))
          << note("7 tokens in calls of " + list(calls) + "; want what one call gives") << about(model);
    }
  }
}

TEST(DecoderAttention, KeepsTheBatchApart) {
  const std::vector<arma::uvec> lengths = {{4, 2, 5}, {1, 5, 3}, {4, 0, 2}};
  for (const std::string& model : all_models) {
    DecoderAttention attention = drawn_layer(config_of(model));
    std::vector<Chunk> chunks, extended;
    for (const arma::uvec& of_call : lengths) {
      chunks.push_back({normal(6, 14, 3), of_call});
      extended.push_back({attention.extend(chunks.back().X, of_call), of_call});
      ASSERT_THAT(extended.back().X, HasShape({{"L", 6}, {"E", 14}, {"B", 3}}));
    }
    for (uword b = 0; b < 3; ++b) {
      DecoderAttention alone = attention;
      alone.reset();
      EXPECT_THAT(sequence_of(extended, b), IsNear(alone.extend(sequence_of(chunks, b)), token_axes, 1e-12))
          << note("sequence " + std::to_string(b) + " in the batch, in three calls; want what it gives alone, in one")
          << about(model);
    }
  }
}

TEST(DecoderAttention, IgnoresPadding) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = drawn_layer(config_of(model));
    arma::cube outputs[2];
    const arma::cube X = normal(6, 14, 3), next = normal(2, 14, 3);
    for (const bool other : {false, true}) {
      arma::cube padded = X;
      if (other) {
        padded.slice(0).tail_rows(2) *= 100;
        padded.slice(1).tail_rows(5).fill(-30);
      }
      attention.reset();
      const arma::cube first = tokens_only(attention.extend(padded, {4, 1, 6}), {4, 1, 6});
      outputs[other ? 1 : 0] = arma::join_slices(first, arma::cube(6, 14, 3, arma::fill::zeros));
      const arma::cube second = attention.extend(next);
      if (second.n_rows == 2) outputs[other ? 1 : 0].subcube(0, 0, 3, 1, 13, 5) = second;
    }
    EXPECT_THAT(outputs[1], IsNear(outputs[0])) << note(
                                                       "the padding holds other numbers, and nothing may change; the "
                                                       "last three slices are the next call")
                                                << about(model);
  }
}

TEST(DecoderAttention, SeesOffsetsAndNotPositions) {
  DecoderAttentionConfig config = config_of("everything");
  for (const RopePairing pairing : {RopePairing::half_split, RopePairing::interleaved}) {
    config.pairing = pairing;
    DecoderAttention attention = drawn_layer(config);
    const arma::cube X = normal(8, 14, 2);
    const arma::cube wanted = attention.extend(X);
    ASSERT_THAT(wanted, HasShape({{"L", 8}, {"E", 14}, {"B", 2}}));
    attention.reset();
    attention.extend(normal(5, 14, 2), {5, 3});
    const arma::cube later = attention.extend(X);
    ASSERT_THAT(later, HasShape({{"L", 8}, {"E", 14}, {"B", 2}}));
    EXPECT_THAT(rows_of(later, 3, 7), IsNear(rows_of(wanted, 3, 7), token_axes)) << note(
        "the same tokens after 5 and 3 others: under a window of 4 rows 3 to 7 see only each other, and RoPE's "
        "scores depend on offsets");
  }
}

TEST(DecoderAttention, TakesAWindowOfTheWholeTextAsNone) {
  DecoderAttentionConfig config = config_of("llama");
  DecoderAttention plain = drawn_layer(config);
  const arma::cube X = normal(9, 14, 3);
  const arma::cube wanted = in_calls(plain, X, {4, 2, 3});
  for (const uword window : {9U, 10U, 500U}) {
    config.window = window;
    DecoderAttention attention(config);
    attention.query_proj = plain.query_proj;
    attention.key_proj = plain.key_proj;
    attention.value_proj = plain.value_proj;
    attention.output_proj = plain.output_proj;
    EXPECT_THAT(in_calls(attention, X, {4, 2, 3}), IsNear(wanted, token_axes))
        << note("9 tokens and a window of " + std::to_string(window));
  }
}

TEST(DecoderAttention, IsMultiHeadAttentionWithoutItsAdditions) {
  MultiHeadAttention whole(12, 3);
  whole.dropout.eval();
  DecoderAttentionConfig config = sizes(12, 3, 3);
  config.bias = true;
  config.rope_speeds = arma::rowvec{0, 0};
  DecoderAttention attention(config);
  attention.query_proj = whole.query_proj;
  attention.key_proj = whole.key_proj;
  attention.value_proj = whole.value_proj;
  attention.output_proj = whole.output_proj;
  const arma::cube X = 2 * normal(9, 12, 2);
  EXPECT_THAT(in_calls(attention, X, {5, 1, 3}), IsNear(whole.forward(X, causal_mask(9, 9)), token_axes))
      << note("G = H, all speeds of RoPE are 0: this is lesson 07's layer under a causal mask");
}

TEST(DecoderAttention, UsesTheKeysAndValuesThatItKept) {
  for (const std::string& model : all_models) {
    DecoderAttention attention = drawn_layer(config_of(model));
    attention.extend(normal(5, 14, 3), {5, 2, 4});
    const KVCache before = attention.cache();
    attention.key_proj = Linear(14, 12, false);
    attention.value_proj = Linear(14, 12, false);
    attention.key_norm.weight.randn();
    attention.extend(normal(2, 14, 3), {2, 1, 0});
    expect_lengths(attention, {7, 3, 4});
    for (uword b = 0; b < 3; ++b) {
      for (const bool keys : {true, false}) {
        const KVCache& after = attention.cache();
        const arma::cube now = cached(after, keys ? after.keys() : after.values(), b);
        const arma::cube was = cached(before, keys ? before.keys() : before.values(), b);
        ASSERT_HOLDS(now.n_rows >= was.n_rows, "there are fewer rows in the cache than before");
        EXPECT_THAT(arma::cube(now.rows(0, was.n_rows - 1)), IsNear(was, cache_axes, 0))
            << note(std::string("the old ") + (keys ? "keys" : "values") + " of sequence " + std::to_string(b) +
                    ": a later call must not touch them")
            << about(model);
      }
    }
  }
}

TEST(DecoderAttention, SharesAPrefixByCopying) {
  DecoderAttention shared = drawn_layer(config_of("everything"));
  const arma::cube prefix = normal(6, 14, 2), one = normal(3, 14, 2), other = normal(4, 14, 2);
  shared.extend(prefix);
  DecoderAttention copy = shared;
  for (const auto& [attention, more] : {std::pair<DecoderAttention*, arma::cube>{&shared, one}, {&copy, other}}) {
    const arma::cube after = attention->extend(more);
    DecoderAttention afresh = *attention;
    afresh.reset();
    const arma::cube whole = afresh.extend(stacked(prefix, more));
    ASSERT_HOLDS(whole.n_rows == 6 + more.n_rows, "a call gave another number of rows than it was given");
    EXPECT_THAT(after, IsNear(rows_of(whole, 6, 5 + more.n_rows), token_axes))
        << note("the layer was copied after a prefix of 6 tokens, and each copy went on with tokens of its own");
  }
}

TEST(DecoderAttention, AcceptsSequencesWithoutTokens) {
  DecoderAttention attention = drawn_layer(config_of("everything"));
  const arma::uvec none = {0, 0, 0};
  const std::string threw = refusal([&] { attention.extend(normal(2, 14, 3), none); });
  ASSERT_HOLDS(threw.empty(), "extend threw: " + threw)
      << note("all lengths are 0: no sequence has a token yet, and the result is zeros")
      << (threw.find("S is 0") != std::string::npos ? likely_mistake("empty_rejected") : "");
  const arma::cube padding = normal(2, 14, 3), before = attention.extend(padding, none);
  ASSERT_THAT(before, HasShape({{"L", 2}, {"E", 14}, {"B", 3}}));
  EXPECT_THAT(before, IsNear(arma::cube(2, 14, 3, arma::fill::zeros), token_axes))
      << note("no sequence has a token yet, so there is nothing to attend to")
      << (arma::approx_equal(before, padding, "absdiff", 0) ? likely_mistake("empty_returns_input") : "");
  expect_lengths(attention, none);
  const std::vector<Chunk> chunks = {{normal(4, 14, 3), {0, 3, 0}}, {normal(4, 14, 3), {2, 4, 0}}};
  std::vector<Chunk> extended;
  for (const Chunk& chunk : chunks) extended.push_back({attention.extend(chunk.X, chunk.lengths), chunk.lengths});
  expect_lengths(attention, {2, 7, 0});
  for (const uword b : {0U, 1U}) {
    EXPECT_THAT(sequence_of(extended, b),
                IsNear(naive(attention, config_of("everything"), sequence_of(chunks, b)).output, token_axes))
        << note("sequence " + std::to_string(b) + ", which has no token in some of the calls");
  }
}

TEST(DecoderAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    uword E, H, G, D, B, L, window;
    bool qk_norm;
    double soft_cap;
  };
  for (const Sizes& n : {Sizes{5, 4, 2, 6, 3, 7, 0, false, 0},
                         {8, 3, 1, 4, 2, 5, 2, true, 0},
                         {6, 3, 3, 2, 4, 5, 0, false, 2},
                         {12, 6, 2, 0, 2, 9, 3, false, 0},
                         {1, 2, 1, 10, 3, 4, 1, true, 0.5},
                         {20, 10, 5, 4, 1, 3, 2, true, 0},
                         {3, 9, 3, 2, 2, 11, 7, false, 1}}) {
    DecoderAttentionConfig config = sizes(n.E, n.H, n.G, n.D);
    config.window = n.window;
    config.qk_norm = n.qk_norm;
    config.soft_cap = n.soft_cap;
    config.bias = n.window == 2;
    config.pairing = n.window == 0 ? RopePairing::interleaved : RopePairing::half_split;
    DecoderAttention attention = drawn_layer(config);
    std::vector<Chunk> chunks, extended;
    for (uword call = 0; call < 3; ++call) {
      chunks.push_back({normal(n.L, n.E, n.B), drawn_lengths(n.B, n.L)});
      chunks.back().lengths(call % n.B) = n.L;
      extended.push_back({attention.extend(chunks.back().X, chunks.back().lengths), chunks.back().lengths});
      ASSERT_THAT(extended.back().X, HasShape({{"L", n.L}, {"E", n.E}, {"B", n.B}}));
    }
    for (uword b = 0; b < n.B; ++b) {
      const arma::cube whole = sequence_of(chunks, b);
      if (whole.n_rows == 0) continue;
      EXPECT_THAT(sequence_of(extended, b), IsNear(naive(attention, config, whole).output, token_axes))
          << note("E = " + std::to_string(n.E) + ", H = " + std::to_string(n.H) + ", G = " + std::to_string(n.G) +
                  ", head_dim = " + std::to_string(n.D) + ", window = " + std::to_string(n.window) + ", QK-norm " +
                  (n.qk_norm ? "on" : "off") + ", soft_cap = " + std::to_string(n.soft_cap));
    }
  }
}

TEST(DecoderAttention, LeavesItsFieldsAndArguments) {
  DecoderAttention attention = drawn_layer(config_of("everything"));
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 14, 3);
  const arma::uvec lengths = {5, 2, 4};
  expect_leaves_its_arguments("extend",
                              {{"X", X},
                               {"lengths", lengths},
                               {"query_norm.weight", arma::mat(attention.query_norm.weight)},
                               {"key_norm.weight", arma::mat(attention.key_norm.weight)}},
                              [&] { attention.extend(X, lengths); });
  expect_unchanged(before, projections_of(attention), "extend");
}

// ------------------------------------------------------------------------------------------------------- reset, 21.4

TEST(DecoderAttention, ResetForgetsTheTokens) {
  DecoderAttention attention = drawn_layer(config_of("everything"));
  const Projections before = projections_of(attention);
  const arma::cube X = normal(5, 14, 3);
  const arma::cube wanted = attention.extend(X);
  attention.extend(normal(2, 14, 3));
  attention.reset();
  const uword kept = attention.cache().batch_size();
  EXPECT_HOLDS(kept == 0, "after reset the cache still has " + std::to_string(kept) + " sequences")
      << (kept == 3 ? likely_mistake("reset_does_nothing") : "");
  const uword heads = attention.cache().num_heads();
  ASSERT_HOLDS(heads == 2, "after reset cache().num_heads() is " + std::to_string(heads) + ", want G = 2")
      << (heads == 8 ? likely_mistake("reset_for_query_heads") : "");
  expect_unchanged(before, projections_of(attention), "reset");
  EXPECT_THAT(attention.extend(X), IsNear(wanted, output_axes)) << note("after reset, the same tokens as at first");
  attention.reset();
  EXPECT_THAT(attention.extend(normal(4, 14, 5)), HasShape({{"L", 4}, {"E", 14}, {"B", 5}}))
      << note("after reset, five sequences instead of three");
}

// -------------------------------------------------------------------------------------- bad input: positions_after, 21.1

TEST(PositionsAfter, RejectsNoSequenceAndNoRow) {
  EXPECT_PRED_FORMAT1(RejectsArgument("old_lengths", {"0"}), [] { positions_after({}, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { positions_after({2, 1}, 0); });
}

// ----------------------------------------------------------------------------------------- bad input: decoder_mask, 21.2

TEST(DecoderMask, RejectsLengthsThatDoNotFit) {
  EXPECT_PRED_FORMAT1(RejectsArgument("old_lengths", {"0"}), [] { decoder_mask({}, {}, 4, 9); });
  EXPECT_PRED_FORMAT1(RejectsArgument("new_lengths", {"3", "2"}), [] { decoder_mask({3, 1}, {2, 1, 1}, 4, 9); });
  EXPECT_PRED_FORMAT1(RejectsArgument("new_lengths", {"5", "4"}), [] { decoder_mask({3, 1}, {2, 5}, 4, 9); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"6", "7"}), [] { decoder_mask({3, 1}, {4, 2}, 4, 6); });
  EXPECT_PRED_FORMAT1(RejectsArgument("L", {"0"}), [] { decoder_mask({3, 1}, {0, 0}, 0, 6); });
  EXPECT_PRED_FORMAT1(RejectsArgument("S", {"0"}), [] { decoder_mask({0, 0}, {0, 0}, 4, 0); });
}

// ------------------------------------------------------------------------------------ bad input: grouped_attention, 21.3

TEST(GroupedAttention, RejectsShapesThatDoNotFit) {
  const auto attend = [](const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {},
                         double soft_cap = 0) { return [=] { grouped_attention(Q, K, V, mask, soft_cap); }; };
  const arma::cube Q = zeros(5, 7, 12), K = zeros(9, 7, 4);
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"0 x 7 x 12"}), attend(arma::cube(0, 7, 12), K, K));
  EXPECT_PRED_FORMAT1(RejectsArgument("Q", {"12", "5"}), attend(Q, zeros(9, 7, 5), zeros(9, 7, 5)));
  EXPECT_PRED_FORMAT1(RejectsArgument("K", {"9 x 6 x 4", "7"}), attend(Q, zeros(9, 6, 4), K));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"8 x 7 x 4", "9"}), attend(Q, K, zeros(8, 7, 4)));
  EXPECT_PRED_FORMAT1(RejectsArgument("V", {"9 x 7 x 2", "4"}), attend(Q, K, zeros(9, 7, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 8 x 2"}), attend(Q, K, K, ones(5, 8, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("mask", {"5 x 9 x 5"}), attend(Q, K, K, ones(5, 9, 5)));
  for (const double soft_cap : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_PRED_FORMAT1(RejectsArgument("soft_cap", {}), attend(Q, K, K, {}, soft_cap));
  }
}

// ------------------------------------------------------------------------------------ bad input: the constructor, 21.4

TEST(DecoderAttention, RejectsAnImpossibleConfiguration) {
  const auto make = [](const DecoderAttentionConfig& config) { return [config] { DecoderAttention{config}; }; };
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), make(sizes(0, 6, 2, 10)));
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), make(sizes(24, 0, 2, 10)));
  EXPECT_PRED_FORMAT1(RejectsArgument("num_kv_heads", {"0"}), make(sizes(24, 6, 0, 10)));
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"6", "4"}), make(sizes(24, 6, 4, 10)));
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"25", "6"}), make(sizes(25, 6, 2)));
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"9"}), make(sizes(24, 6, 2, 9)));
  EXPECT_PRED_FORMAT1(RejectsArgument("head_dim", {"5"}), make(sizes(30, 6, 2)));
  DecoderAttentionConfig config = sizes(24, 6, 2, 10);
  config.rope_speeds = arma::rowvec(10, arma::fill::ones);
  EXPECT_PRED_FORMAT1(RejectsArgument("rope_speeds", {"1 x 10", "5"}), make(config));
  config = sizes(24, 6, 2, 10);
  for (const double soft_cap : {-1.0, std::nan("")}) {
    config.soft_cap = soft_cap;
    EXPECT_PRED_FORMAT1(RejectsArgument("soft_cap", {}), make(config));
  }
}

// --------------------------------------------------------------------------------------------- bad input: extend, 21.5

TEST(DecoderAttention, IsUnchangedByARejectedCall) {
  DecoderAttention attention = drawn_layer(config_of("everything"));
  const auto extend = [&](const arma::cube& X, const arma::uvec& lengths = {}) {
    return [&attention, X, lengths] { attention.extend(X, lengths); };
  };
  for (const bool first : {true, false}) {
    const KVCache before = attention.cache();
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 8 x 3", "14"}), extend(zeros(5, 8, 3)));
    EXPECT_PRED_FORMAT1(RejectsArgument("X", {"0 x 14 x 3"}), extend(arma::cube(0, 14, 3)));
    EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"6", "5"}), extend(normal(5, 14, 3), {3, 6, 0}));
    EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"2", "3"}), extend(normal(5, 14, 3), {3, 5}));
    if (!first) {
      EXPECT_PRED_FORMAT1(RejectsArgument("X", {"5 x 14 x 2", "3"}), extend(normal(5, 14, 2)));
    }
    const KVCache& after = attention.cache();
    EXPECT_HOLDS(list(after.lengths()) == list(before.lengths()) &&
                     arma::approx_equal(after.keys(), before.keys(), "absdiff", 0) &&
                     arma::approx_equal(after.values(), before.values(), "absdiff", 0),
                 "a rejected call changed the cache")
        << note("check X before anything is changed; append checks the lengths");
    if (first) attention.extend(normal(4, 14, 3), {4, 1, 2});
  }
}

// ---------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("extend, 2 sequences of 16 tokens in two calls, E = 48, H = 8, G = 2, D = 16", [] {
  const arma::cube X = normal(16, 48, 2);
  DecoderAttentionConfig config = sizes(48, 8, 2, 16);
  config.qk_norm = true;
  return [attention = DecoderAttention(config), X]() mutable {
    attention.reset();
    attention.extend(X);
    return attention.extend(X);
  };
});

}  // namespace
}  // namespace attn::judge
