#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "attn/embedding.hpp"
#include "attn/merges.hpp"
#include "attn/sentence_attention.hpp"
#include "attn/text.hpp"
#include "attn/vocabulary.hpp"
#include "checks/draw.hpp"
#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "checks/oracles.hpp"
#include "checks/properties.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

using Tokens = std::vector<std::string>;

// ------------------------------------------------------------------------------------------------------ tokens as text

/// "E5 96 9C"
std::string bytes_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += (text.empty() ? "" : " ") + std::string(hex);
  }
  return text;
}

/// ["this", "is"]; a token that may not be valid UTF-8 is shown by its bytes too.
std::string tokens_text(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c <= '~'; });
    text += (text.empty() ? "" : ", ") + (plain ? "\"" + token + "\"" : token + " <" + bytes_text(token) + ">");
  }
  return "[" + text + "]";
}

/// Tokens that a mistake gives, and the line that names it.
struct WrongTokens {
  Tokens tokens;
  std::string likely;
};

MATCHER_P2(AreTokens, wanted, wrong, "are the wanted tokens") {
  const Tokens& got = arg;
  if (got == wanted) return true;
  std::string text = line("value", "got " + tokens_text(got)) + line("", "want " + tokens_text(wanted));
  for (const WrongTokens& one : wrong) {
    if (one.tokens == got) text += one.likely;
  }
  return explain(text, result_listener);
}

auto Are(Tokens wanted, std::vector<WrongTokens> wrong = {}) { return AreTokens(std::move(wanted), std::move(wrong)); }

arma::mat as_mat(const arma::umat& ids) { return arma::conv_to<arma::mat>::from(ids); }
arma::mat as_row(const arma::uvec& lengths) { return arma::conv_to<arma::mat>::from(lengths).t(); }

// ------------------------------------------------------------------------------------------------- the embedding, 10.1

arma::umat ids_of(const GoldenCase& golden) { return arma::conv_to<arma::umat>::from(golden.mat("ids")); }

Embedding embedding_from(const GoldenCase& golden) {
  const arma::mat weight = golden.mat("embedding");
  Embedding embedding(weight.n_rows, weight.n_cols);
  embedding.weight = weight;
  return embedding;
}

TEST(Embedding, HasARowForEveryNumber) {
  EXPECT_THAT(Embedding(6, 4).weight, HasShape({{"num_embeddings", 6}, {"E", 4}}));
}

TEST(Embedding, DrawsFromTheStandardNormalDistribution) {
  const Embedding embedding(70, 50);
  const arma::vec weight = arma::vectorise(embedding.weight);
  EXPECT_HOLDS(
      std::abs(arma::mean(weight)) < 0.1 && std::abs(arma::stddev(weight) - 1) < 0.1 && arma::abs(weight).max() > 2.5,
      "mean " + std::to_string(arma::mean(weight)) + ", standard deviation " + std::to_string(arma::stddev(weight)) +
          ", want about 0 and 1")
      << likely_mistake("not_normal");
  EXPECT_HOLDS(arma::abs(embedding.weight.row(0)).max() > 0, "row 0 is zeros") << note("row 0 is drawn as any other");
}

TEST(Embedding, LeavesSeedingToTheCaller) {
  expect_leaves_seeding_to_the_caller("the constructor", [] { return Embedding(6, 4).weight; });
}

TEST(Embedding, GivesAnLByEByBCube) {
  const Embedding embedding(7, 4);
  EXPECT_THAT(embedding(arma::umat(5, 3, arma::fill::zeros)), HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
}

TEST(Embedding, GivesTheRowsWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const Embedding embedding = embedding_from(golden);
  EXPECT_THAT(embedding(ids_of(golden)), Matches(golden.expected("X")));
}

TEST(Embedding, EqualsPyTorch) {
  const GoldenCase golden = load_golden("embedding");
  const Embedding embedding = embedding_from(golden);
  EXPECT_THAT(embedding(ids_of(golden)), Matches(golden.expected("X")));
  EXPECT_THAT(embedding.weight, IsNear(golden.mat("embedding"), {"num", "E"})) << note("a look-up changes nothing");
}

TEST(Embedding, EqualsPyTorchWithASquareWeight) {
  const GoldenCase golden = load_golden("square_embedding");
  EXPECT_THAT(embedding_from(golden)(ids_of(golden)), Matches(golden.expected("X")));
}

TEST(Embedding, LooksUpEveryRow) {
  for (const arma::SizeCube size : {arma::SizeCube(1, 3, 2), arma::SizeCube(70, 2, 3), arma::SizeCube(4, 6, 1)}) {
    const Embedding embedding(9, size.n_cols);
    arma::umat ids(size.n_rows, size.n_slices);
    for (arma::uword i = 0; i < ids.n_elem; ++i) ids(i) = (5 * i + 8) % 9;
    arma::cube X(size);
    for (arma::uword b = 0; b < size.n_slices; ++b)
      for (arma::uword e = 0; e < size.n_cols; ++e)
        for (arma::uword i = 0; i < size.n_rows; ++i) X(i, e, b) = embedding.weight(ids(i, b), e);
    EXPECT_THAT(embedding(ids), IsNear(X, {"L", "E", "B"}));
  }
}

TEST(Embedding, RejectsSizesOfZero) {
  EXPECT_PRED_FORMAT1(RejectsArgument("num_embeddings", {"0"}), [] { Embedding(0, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("embed_dim", {"0"}), [] { Embedding(6, 0); });
}

TEST(Embedding, RejectsNumbersWithoutARow) {
  const Embedding embedding(6, 4);
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"6"}), [&] { embedding(arma::umat{{1, 6}, {2, 0}}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"77", "6"}), [&] { embedding(arma::umat{{1, 5}, {77, 0}, {3, 3}}); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat()); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat(0, 3)); });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"0"}), [&] { embedding(arma::umat(5, 0)); });
}

// ----------------------------------------------------------------------------------------------------- word_mask, 10.2

/// Its sentences have 5, 3 and 0 words.
EncodedBatch batch_from(const GoldenCase& golden, const std::string& ids = "ids", Padding padding = Padding::right) {
  return {arma::conv_to<arma::umat>::from(golden.mat(ids)),
          arma::conv_to<arma::uvec>::from(golden.rowvec("lengths").t()), padding};
}

std::string name_of(Padding padding) { return padding == Padding::right ? "right" : "left"; }

arma::cube as_numbers(const Mask& mask) { return arma::conv_to<arma::cube>::from(mask); }

TEST(SentenceAttentionMask, IsLByLByB) {
  for (const Padding padding : {Padding::right, Padding::left}) {
    EXPECT_THAT(as_numbers(word_mask({arma::umat(5, 3, arma::fill::ones), {4, 2, 5}, padding})),
                HasShape({{"L", 5}, {"L", 5}, {"B", 3}}));
  }
}

TEST(SentenceAttentionMask, GivesTheColumnsWorkedByHand) {
  const arma::umat ids = {{1, 2}, {0, 0}, {2, 0}};
  arma::cube wanted(3, 3, 2, arma::fill::ones);
  wanted.slice(1) = arma::mat{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  EXPECT_THAT(as_numbers(word_mask({ids, {3, 1}, Padding::right})), IsNear(wanted, {"L", "L", "B"}))
      << note("padding on the right: 1 = a word, which every row may attend to");
  wanted.slice(1) = arma::mat{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
  EXPECT_THAT(as_numbers(word_mask({{{1, 0}, {0, 0}, {2, 2}}, {3, 1}, Padding::left})), IsNear(wanted, {"L", "L", "B"}))
      << note("padding on the left: 1 = a word, which every row may attend to");
}

TEST(SentenceAttentionMask, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(as_numbers(word_mask(batch_from(golden))), Matches(golden.expected("mask")));
}

TEST(SentenceAttentionMask, EqualsPyTorchOnTheLeft) {
  const GoldenCase golden = load_golden("batch");
  EXPECT_THAT(as_numbers(word_mask(batch_from(golden, "left_ids", Padding::left))),
              Matches(golden.expected("left_mask")));
}

TEST(SentenceAttentionMask, EqualsTheDefinitionForOtherSizes) {
  for (const arma::uvec& lengths : {arma::uvec{7, 0, 4, 1}, arma::uvec{2, 6}, arma::uvec{1, 3, 5, 7, 2, 0}}) {
    for (const Padding padding : {Padding::right, Padding::left}) {
      const arma::uword B = lengths.n_elem;
      arma::cube wanted(7, 7, B, arma::fill::zeros);
      for (arma::uword b = 0; b < B; ++b)
        for (arma::uword i = 0; i < 7; ++i)
          for (arma::uword j = 0; j < 7; ++j) {
            wanted(i, j, b) = padding == Padding::right ? (j < lengths(b)) : (j + lengths(b) >= 7);
          }
      EXPECT_THAT(as_numbers(word_mask({arma::umat(7, B, arma::fill::zeros), lengths, padding})),
                  IsNear(wanted, {"L", "L", "B"}))
          << note("all words are unknown here; padding is on the " + name_of(padding));
    }
  }
}

TEST(SentenceAttentionMask, RejectsLengthsThatDoNotFit) {
  const arma::umat ids(5, 3, arma::fill::ones);
  const auto rejects = [&](const arma::uvec& lengths, const std::vector<std::string>& named) {
    for (const Padding padding : {Padding::right, Padding::left}) {
      EXPECT_PRED_FORMAT1(RejectsArgument("lengths", named), [&] { word_mask({ids, lengths, padding}); });
    }
  };
  rejects({5, 5}, {"2", "3"});
  rejects({5, 4, 3, 2}, {"4", "3"});
  rejects({}, {"0", "3"});
  rejects({5, 6, 1}, {"6", "5"});
}

// -------------------------------------------------------------------------------------------------------- attend, 10.3

MultiHeadAttention layer_from(const GoldenCase& golden, arma::uword num_heads) {
  return with_projections(MultiHeadAttention(golden.mat("embedding").n_cols, num_heads, 0), golden);
}

/// Rows of padding mean nothing: they become zeros before anything is compared.
arma::cube words_only(arma::cube x, const EncodedBatch& batch) {
  const arma::uword B = batch.lengths.n_elem;
  if (x.is_empty() || x.n_slices % B != 0) return x;
  for (arma::uword n = 0; n < x.n_slices; ++n) {
    const arma::uword length = batch.lengths(n * B / x.n_slices);
    if (length >= x.n_rows) continue;
    if (batch.padding == Padding::right) {
      x.slice(n).rows(length, x.n_rows - 1).zeros();
    } else {
      x.slice(n).rows(0, x.n_rows - length - 1).zeros();
    }
  }
  return x;
}

/// Random numbers below `known` for the words of sentences of these lengths, zeros for their padding.
EncodedBatch random_batch(arma::uword L, const arma::uvec& lengths, arma::uword known, Padding padding) {
  EncodedBatch batch{arma::umat(L, lengths.n_elem, arma::fill::zeros), lengths, padding};
  for (arma::uword b = 0; b < lengths.n_elem; ++b) {
    const arma::uword first = padding == Padding::right ? 0 : L - lengths(b);
    for (arma::uword i = 0; i < lengths(b); ++i) batch.ids(first + i, b) = (5 * i + 3 * b + 2) % known;
  }
  return batch;
}

/// The same sentences, with their padding on the other side or more of it.
EncodedBatch moved(const EncodedBatch& batch, arma::uword L, Padding padding) {
  EncodedBatch result{arma::umat(L, batch.lengths.n_elem, arma::fill::zeros), batch.lengths, padding};
  for (arma::uword b = 0; b < batch.lengths.n_elem; ++b) {
    const arma::uword length = batch.lengths(b);
    const arma::uword from = batch.padding == Padding::right ? 0 : batch.ids.n_rows - length;
    const arma::uword to = padding == Padding::right ? 0 : L - length;
    for (arma::uword i = 0; i < length; ++i) result.ids(to + i, b) = batch.ids(from + i, b);
  }
  return result;
}

TEST(SentenceAttention, KeepsTheShapeOfItsInput) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  EXPECT_THAT(attend(batch_from(golden), embedding_from(golden), attention), HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
  EXPECT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
}

TEST(SentenceAttention, GivesTheTwoSentencesWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  MultiHeadAttention attention = layer_from(golden, 1);
  const EncodedBatch batch = batch_from(golden);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(attention.attention_weights(), batch), Matches(golden.expected("weights")));
  EXPECT_THAT(words_only(output, batch), Matches(golden.expected("output")));
}

TEST(SentenceAttention, GivesPaddingNoWeightAtAll) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attend(batch_from(golden), embedding_from(golden), attention);
  const arma::cube& weights = attention.attention_weights();
  ASSERT_THAT(weights, HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  const double to_padding = arma::abs(weights.slice(2).submat(0, 3, 2, 4)).max();  // words of sentence 1
  EXPECT_HOLDS(to_padding == 0,
               "a word gives its padding the weight " + std::to_string(to_padding) + ", want exactly 0");
}

TEST(SentenceAttention, GivesEveryWordWeightsThatSumToOne) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  EXPECT_THAT(arma::cube(attention.attention_weights().slices(0, 1)), RowsSumToOne());
  EXPECT_THAT(arma::cube(attention.attention_weights().subcube(0, 0, 2, 2, 2, 3)), RowsSumToOne());
}

TEST(SentenceAttention, AttendsToUnknownWords) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(attention.attention_weights(), HasShape({{"L", 5}, {"L", 5}, {"H·B", 6}}));
  const arma::mat first = attention.attention_weights().slice(0);                      // word 2 is unknown
  const arma::mat second = attention.attention_weights().slice(2).submat(0, 0, 2, 2);  // words 1 and 2 are
  const bool others = first.col(0).min() > 0 && first.col(1).min() > 0 && first.col(4).min() > 0;
  EXPECT_HOLDS(first.col(2).min() > 0 && second.min() > 0, "a word is blocked: some word gives it no weight")
      << (others && second.col(0).min() > 0 ? likely_mistake("mask_from_ids") : "");
}

TEST(SentenceAttention, EqualsPyTorch) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(output, batch), Matches(golden.expected("output")));
}

TEST(SentenceAttention, KeepsTheWeightsThatPyTorchHas) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden);
  attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(attention.attention_weights(), batch), Matches(golden.expected("weights")));
}

TEST(SentenceAttention, LetsAnEmptySentenceAttendToNoWord) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const arma::cube output = attend(batch_from(golden), embedding_from(golden), attention);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 4}, {"B", 3}}));
  EXPECT_THAT(arma::cube(attention.attention_weights().slices(4, 5)), IsNear(zeros(5, 5, 2)))
      << note("sentence 2 has no words: all its weights are 0");
  EXPECT_THAT(arma::mat(output.slice(2)), IsNear(arma::mat(arma::repmat(attention.output_proj.bias, 5, 1)), {"L", "E"}))
      << note("sentence 2 has no words: what comes out is the bias of output_proj");
}

TEST(SentenceAttention, EqualsPyTorchWithPaddingOnTheLeft) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const EncodedBatch batch = batch_from(golden, "left_ids", Padding::left);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(output, batch), Matches(golden.expected("left_output")));
}

TEST(SentenceAttention, GivesAWordTheSameResultOnBothSides) {
  const Embedding embedding(9, 6);
  MultiHeadAttention attention(6, 2, 0);
  const EncodedBatch right = random_batch(7, {5, 1, 7, 3}, 9, Padding::right);
  const EncodedBatch left = moved(right, 7, Padding::left);
  const arma::cube on_right = attend(right, embedding, attention);
  const arma::cube on_left = attend(left, embedding, attention);
  ASSERT_THAT(on_left, HasShape({{"L", 7}, {"E", 6}, {"B", 4}}));
  for (arma::uword b = 0; b < 4; ++b) {
    const arma::uword length = right.lengths(b);
    EXPECT_THAT(arma::mat(on_left.slice(b).tail_rows(length)),
                IsNear(arma::mat(on_right.slice(b).head_rows(length)), {"length", "E"}))
        << note("a word finds the same keys and values, whichever side the padding is on; only its row differs");
  }
}

TEST(SentenceAttention, EndsInTheLastRowWhenPaddingIsOnTheLeft) {
  const Embedding embedding(9, 4);
  MultiHeadAttention attention(4, 2, 0);
  const EncodedBatch left = random_batch(6, {2, 5, 4}, 9, Padding::left);
  const arma::cube output = attend(left, embedding, attention);
  ASSERT_THAT(output, HasShape({{"L", 6}, {"E", 4}, {"B", 3}}));
  arma::mat last(3, 4);
  arma::mat wanted(3, 4);
  for (arma::uword b = 0; b < 3; ++b) {
    const arma::uword length = left.lengths(b);
    const EncodedBatch alone{arma::umat(left.ids.submat(6 - length, b, 5, b)), arma::uvec{length}};  // without padding
    wanted.row(b) = attend(alone, embedding, attention).slice(0).row(length - 1);
    last.row(b) = output.slice(b).row(5);
  }
  EXPECT_THAT(last, IsNear(wanted, {"B", "E"}))
      << note("padded on the left, the last row of every sentence is its last word");
}

TEST(SentenceAttention, IgnoresPadding) {
  const Embedding embedding(9, 6);
  MultiHeadAttention attention(6, 2, 0);
  const EncodedBatch two = random_batch(5, {5, 5}, 9, Padding::right);
  const arma::cube wanted = attend(two, embedding, attention);
  for (const arma::uword L : {7U, 12U}) {
    const arma::cube output = attend(moved(two, L, Padding::right), embedding, attention);
    ASSERT_THAT(output, HasShape({{"L", L}, {"E", 6}, {"B", 2}}));
    EXPECT_THAT(arma::cube(output.rows(0, 4)), IsNear(wanted, {"L", "E", "B"})) << note(
        "two sentences of five words, padded to " + std::to_string(L) + "; expected: what they give without padding");
  }
}

TEST(SentenceAttention, KeepsTheBatchApart) {
  const Embedding embedding(9, 6);
  MultiHeadAttention attention(6, 3, 0);
  for (const Padding padding : {Padding::right, Padding::left}) {
    const EncodedBatch batch = random_batch(7, {5, 4, 6, 0, 3}, 9, padding);
    const arma::cube together = words_only(attend(batch, embedding, attention), batch);
    for (arma::uword b = 0; b < 5; ++b) {
      const EncodedBatch one{arma::umat(batch.ids.col(b)), arma::uvec{batch.lengths(b)}, padding};
      EXPECT_THAT(words_only(attend(one, embedding, attention), one),
                  IsNear(arma::cube(together.slices(b, b)), {"L", "E", "B"}))
          << note("this is sentence " + std::to_string(b) + ", alone; expected: what it gives in the batch");
    }
  }
}

TEST(SentenceAttention, EqualsTheDefinitionForOtherSizes) {
  struct Sizes {
    arma::uword L, E, H;
    arma::uvec lengths;
  };
  for (const Sizes& sizes : {Sizes{3, 4, 2, {2, 3, 1, 0}}, Sizes{1, 6, 3, {1, 0}}, Sizes{34, 4, 2, {30, 34, 1}},
                             Sizes{4, 6, 6, {3}}, Sizes{2, 3, 1, {1, 2, 1}}}) {
    const Embedding embedding(5, sizes.E);
    MultiHeadAttention attention(sizes.E, sizes.H, 0);
    const EncodedBatch batch = random_batch(sizes.L, sizes.lengths, 5, Padding::right);
    const arma::uword B = sizes.lengths.n_elem;
    Mask mask(sizes.L, sizes.L, B, arma::fill::zeros);
    arma::cube X(sizes.L, sizes.E, B);
    for (arma::uword b = 0; b < B; ++b) {
      for (arma::uword i = 0; i < sizes.L; ++i) {
        if (i < sizes.lengths(b)) mask.slice(b).col(i).ones();
        X.slice(b).row(i) = embedding.weight.row(batch.ids(i, b));
      }
    }
    const Attended wanted = naive_multi_head(projections_of(attention), sizes.H, X, X, X, mask);
    EXPECT_THAT(words_only(attend(batch, embedding, attention), batch),
                IsNear(words_only(wanted.output, batch), {"L", "E", "B"}));
    EXPECT_THAT(words_only(attention.attention_weights(), batch),
                IsNear(words_only(wanted.weights, batch), {"L", "L", "H·B"}));
  }
}

TEST(SentenceAttention, FollowsPermutedTokens) {
  const Embedding embedding(9, 4);
  MultiHeadAttention attention(4, 2, 0);
  const arma::uvec lengths = {4, 1};
  const arma::cube output = attend({{{1, 2}, {2, 0}, {3, 0}, {4, 0}, {0, 0}}, lengths}, embedding, attention);
  const arma::cube permuted = attend({{{4, 2}, {1, 0}, {3, 0}, {2, 0}, {0, 0}}, lengths}, embedding, attention);
  ASSERT_THAT(output, HasShape({{"L", 5}, {"E", 4}, {"B", 2}}));
  EXPECT_THAT(arma::mat(permuted.slice(0).rows(0, 3)),
              IsNear(arma::mat(arma::mat(output.slice(0)).rows(arma::uvec{3, 0, 2, 1})), {"L", "E"}))
      << note("attention knows no order: the same words in another order give the same rows, in that order");
}

TEST(SentenceAttention, StartsAfresh) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const Embedding embedding = embedding_from(golden);
  const EncodedBatch batch = batch_from(golden);
  const std::string about = note("attend was called before with another batch; nothing of that call may be left");
  attend({arma::umat{{1, 2, 3}, {4, 5, 6}}, arma::uvec{2, 1, 2}}, embedding, attention);
  EXPECT_THAT(words_only(attend(batch, embedding, attention), batch), Matches(golden.expected("output"))) << about;
  const EncodedBatch longer = {batch.ids, arma::uvec{5, 5, 5}};  // the same numbers, other lengths
  attend(longer, embedding, attention);
  EXPECT_HOLDS(attention.attention_weights().slice(2).col(4).min() > 0, "the last of five words gets no weight")
      << about;
}

TEST(SentenceAttention, LeavesItsArguments) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  const Projections before = projections_of(attention);
  const Embedding embedding = embedding_from(golden);
  const EncodedBatch batch = batch_from(golden);
  expect_leaves_its_arguments(
      "attend", {{"embedding.weight", embedding.weight}, {"batch.ids", batch.ids}, {"batch.lengths", batch.lengths}},
      [&] { attend(batch, embedding, attention); });
  expect_unchanged(before, projections_of(attention), "attend");
}

TEST(SentenceAttention, LeavesTheGeneratorAlone) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention = layer_from(golden, 2);
  attention.dropout.eval();
  const Embedding embedding = embedding_from(golden);
  expect_leaves_the_generator_alone("attend", [&] { attend(batch_from(golden), embedding, attention); });
}

TEST(SentenceAttention, LeavesDropoutToTheCaller) {
  const GoldenCase golden = load_golden("batch");
  MultiHeadAttention attention(4, 2, 0.5);
  attention.dropout.inject(Mask(5, 5, 6, arma::fill::zeros));
  const arma::cube output = attend(batch_from(golden), embedding_from(golden), attention);
  EXPECT_HOLDS(attention.dropout.training() && attention.attention_weights().is_zero(),
               "the layer was training, and dropped every weight; attend undid that")
      << note("train() and eval() are for the caller to call");
}

TEST(SentenceAttention, RejectsABatchThatDoesNotFit) {
  const Embedding embedding(6, 4);
  MultiHeadAttention attention(4, 2, 0);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"1", "3"}), [&] {
    attend({arma::umat(5, 3, arma::fill::ones), arma::uvec{5}}, embedding, attention);
  });
  EXPECT_PRED_FORMAT1(RejectsArgument("ids", {"7", "6"}), [&] {
    attend({arma::umat{{1, 7}, {2, 3}, {0, 1}}, arma::uvec{3, 2}}, embedding, attention);
  });
}

// ------------------------------------------------------------------------------------------- weights_of_sentence, 10.4

TEST(SentenceAttention, CutsOutTheWeightsOfEachSentence) {
  const GoldenCase golden = load_golden("batch");
  const EncodedBatch batch = batch_from(golden);
  const arma::cube weights = golden.cube("all_weights");
  EXPECT_THAT(weights_of_sentence(weights, batch, 0, 2), HasShape({{"length", 5}, {"length", 5}, {"H", 2}}));
  EXPECT_THAT(weights_of_sentence(weights, batch, 1, 2), Matches(golden.expected("sentence_1")));
}

TEST(SentenceAttention, FindsTheBlockOfEachSentenceOnEitherSide) {
  // weights(i, j, n) shows where it is: i, j, sentence and head as the digits of a number
  arma::cube weights(5, 5, 12);
  for (arma::uword b = 0; b < 4; ++b)
    for (arma::uword h = 0; h < 3; ++h)
      for (arma::uword j = 0; j < 5; ++j)
        for (arma::uword i = 0; i < 5; ++i) {
          weights(i, j, 3 * b + h) = static_cast<double>(1000 * i + 100 * j + 10 * b + h);
        }
  for (const Padding padding : {Padding::right, Padding::left}) {
    const EncodedBatch batch{arma::umat(5, 4, arma::fill::zeros), arma::uvec{2, 5, 1, 3}, padding};
    for (arma::uword b = 0; b < 4; ++b) {
      const arma::uword length = batch.lengths(b);
      const arma::uword first = padding == Padding::right ? 0 : 5 - length;
      arma::cube wanted(length, length, 3);
      for (arma::uword h = 0; h < 3; ++h)
        for (arma::uword j = 0; j < length; ++j)
          for (arma::uword i = 0; i < length; ++i) {
            wanted(i, j, h) = static_cast<double>(1000 * (first + i) + 100 * (first + j) + 10 * b + h);
          }
      EXPECT_THAT(weights_of_sentence(weights, batch, b, 3), IsNear(wanted, {"length", "length", "H"}))
          << note("a number here shows its row, column, sentence and head, one digit each; padding is on the " +
                  name_of(padding));
    }
  }
}

TEST(SentenceAttention, GivesTheWeightsThatPyTorchHasOnTheLeft) {
  const GoldenCase golden = load_golden("batch");
  const EncodedBatch batch = batch_from(golden, "left_ids", Padding::left);
  EXPECT_THAT(weights_of_sentence(golden.cube("left_weights"), batch, 1, 2), Matches(golden.expected("sentence_1")))
      << note("the padding is on the left; the words' weights are those that they have with padding on the right");
}

TEST(SentenceAttention, GivesAnEmptySentenceNoWeights) {
  const GoldenCase golden = load_golden("batch");
  const arma::cube none = weights_of_sentence(golden.cube("all_weights"), batch_from(golden), 2, 2);
  EXPECT_THAT(none, HasShape({{"length", 0}, {"length", 0}, {"H", 2}}));
  const EncodedBatch left = batch_from(golden, "left_ids", Padding::left);
  EXPECT_THAT(weights_of_sentence(golden.cube("left_weights"), left, 2, 2),
              HasShape({{"length", 0}, {"length", 0}, {"H", 2}}));
}

TEST(SentenceAttention, RejectsWeightsThatDoNotFit) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 3, 0}};
  const auto rejects = [&](arma::uword rows, arma::uword cols, arma::uword slices, const std::string& was) {
    const arma::cube weights(rows, cols, slices, arma::fill::zeros);
    EXPECT_PRED_FORMAT1(RejectsArgument("weights", {was}), [&] { weights_of_sentence(weights, batch, 1, 2); });
  };
  rejects(5, 5, 3, "5 x 5 x 3");
  rejects(5, 5, 2, "5 x 5 x 2");
  rejects(5, 5, 12, "5 x 5 x 12");
  rejects(4, 5, 6, "4 x 5 x 6");
  rejects(5, 4, 6, "5 x 4 x 6");
  rejects(7, 7, 6, "7 x 7 x 6");
  rejects(0, 0, 0, "0 x 0 x 0");
}

TEST(SentenceAttention, RejectsASentenceThatDoesNotExist) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 3, 0}};
  const arma::cube weights(5, 5, 6, arma::fill::zeros);
  EXPECT_PRED_FORMAT1(RejectsArgument("sentence", {"3"}), [&] { weights_of_sentence(weights, batch, 3, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("sentence", {"77", "3"}), [&] { weights_of_sentence(weights, batch, 77, 2); });
  EXPECT_PRED_FORMAT1(RejectsArgument("num_heads", {"0"}), [&] { weights_of_sentence(weights, batch, 1, 0); });
}

TEST(SentenceAttention, RejectsASentenceThatIsLongerThanTheBatch) {
  const EncodedBatch batch{arma::umat(5, 3, arma::fill::zeros), arma::uvec{5, 7, 0}};
  const arma::cube weights(5, 5, 6, arma::fill::zeros);
  EXPECT_PRED_FORMAT1(RejectsArgument("lengths", {"7", "5"}), [&] { weights_of_sentence(weights, batch, 1, 2); });
}

// ------------------------------------------------------------------------------------------------------ tokenize, 10.5

TEST(Text, CutsASentenceAtItsSpaces) {
  EXPECT_THAT(tokenize("this is an example sentence"), Are({"this", "is", "an", "example", "sentence"}));
}

TEST(Text, LowerCasesLetters) {
  EXPECT_THAT(
      tokenize("This IS Zebra AZaz"),
      Are({"this", "is", "zebra", "azaz"}, {{{"This", "IS", "Zebra", "AZaz"}, likely_mistake("letters_left_large")}}));
  EXPECT_THAT(tokenize("a1 [@] {`} X_9"), Are({"a1", "[@]", "{`}", "x_9"}));
}

TEST(Text, LowerCasesNoOtherCharacter) {
  // Adding 0x20 to the byte C3 gives E3: what is left is not UTF-8.
  EXPECT_THAT(tokenize("École ÀÉ"), Are({"École", "ÀÉ"}, {{{"\xE3\x89"
                                                            "cole",
                                                            "\xE3\x80\xE3\x89"},
                                                           likely_mistake("other_bytes_lowered")}}))
      << note("only A to Z are lower-cased");
  EXPECT_THAT(tokenize("喜欢 Ж"), Are({"喜欢", "Ж"})) << note("only A to Z are lower-cased");
}

TEST(Text, KeepsASingleWordWhole) {
  EXPECT_THAT(tokenize("sentence"),
              Are({"sentence"}, {{{"s", "e", "n", "t", "e", "n", "c", "e"}, likely_mistake("word_cut_into_letters")}}));
  EXPECT_THAT(tokenize("Überraschung"), Are({"Überraschung"})) << note("letters in a row are one word");
  EXPECT_THAT(tokenize("안녕하세요"), Are({"안녕하세요"})) << note("Korean has spaces: is_written_without_spaces");
}

TEST(Text, CutsChineseWithoutSpacesIntoCharacters) {
  EXPECT_THAT(tokenize("我喜欢玩游戏"),
              Are({"我", "喜", "欢", "玩", "游", "戏"}, {{{"我喜欢玩游戏"}, likely_mistake("chinese_uncut")}}));
}

TEST(Text, LetsSpacesDecideInChineseToo) {
  EXPECT_THAT(
      tokenize("我 喜欢 玩 游戏"),
      Are({"我", "喜欢", "玩", "游戏"}, {{{"我", "喜", "欢", "玩", "游", "戏"}, likely_mistake("spaces_ignored")}}));
  EXPECT_THAT(tokenize("我用 GPT"), Are({"我用", "gpt"})) << note("there is a space inside: it alone decides");
}

TEST(Text, KeepsLettersTogetherAmongCharacters) {
  EXPECT_THAT(tokenize("我用GPT"), Are({"我", "用", "gpt"}));
  EXPECT_THAT(tokenize("GPT我x用"), Are({"gpt", "我", "x", "用"}));
}

TEST(Text, KeepsPunctuation) {
  EXPECT_THAT(tokenize("我喜欢。"), Are({"我", "喜", "欢", "。"}));
  EXPECT_THAT(tokenize("Is this it? Yes!"), Are({"is", "this", "it?", "yes!"}));
}

TEST(Text, TreatsTheWideSpaceAsASpace) {
  EXPECT_THAT(tokenize("我\u3000喜欢"),
              Are({"我", "喜欢"}, {{{"我", "\u3000", "喜", "欢"}, likely_mistake("wide_space_unknown")}}));
}

TEST(Text, TreatsTabsAndLineEndsAsSpaces) {
  EXPECT_THAT(tokenize("this\tis\nan\r\nexample"), Are({"this", "is", "an", "example"}));
}

TEST(Text, IgnoresSpacesAroundAndTwice) {
  const std::string likely = tokenize("我喜欢").size() == 3 ? likely_mistake("outer_spaces_count") : "";
  EXPECT_THAT(tokenize("  this   is \t it  "), Are({"this", "is", "it"})) << note("there is no empty token");
  EXPECT_THAT(tokenize(" 我喜欢"), Are({"我", "喜", "欢"}, {{{"我喜欢"}, likely}}))
      << note("a space before the first word separates nothing");
  EXPECT_THAT(tokenize("我喜欢\u3000\n"), Are({"我", "喜", "欢"}, {{{"我喜欢"}, likely}}))
      << note("a space after the last word separates nothing");
}

TEST(Text, HasNoTokensInAnEmptySentence) {
  EXPECT_THAT(tokenize(""), Are({}));
  EXPECT_THAT(tokenize("  \u3000\t"), Are({}));
}

TEST(Text, RejectsASentenceThatIsNotUtf8) {
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [] { tokenize("this is it \xE5\x96"); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [] { tokenize("this is it \xFF x"); });
}

// ------------------------------------------------------------------------------------------------ the vocabulary, 10.6

const Tokens words = {"this", "is", "an", "example", "sentence", "我", "喜欢", "玩", "游戏"};

void expect_id(const Vocabulary& vocabulary, const std::string& word, arma::uword wanted, const std::string& about) {
  const arma::uword got = vocabulary.id(word);
  EXPECT_HOLDS(got == wanted, "id(\"" + word + "\") is " + std::to_string(got) + ", want " + std::to_string(wanted))
      << about;
}

/// Whether the plainest vocabulary is right: only then can a mistake be named for another one.
bool numbers_from_one() {
  const Vocabulary vocabulary(Tokens{"it", "is"});
  return vocabulary.id("it") == 1 && vocabulary.id("is") == 2;
}

TEST(Vocabulary, NumbersItsWordsFromOne) {
  const Vocabulary vocabulary(words);
  const std::string about = vocabulary.id("this") == 0 ? likely_mistake("numbers_from_zero") : "";
  for (arma::uword i = 0; i < words.size(); ++i) expect_id(vocabulary, words[i], i + 1, about);
}

TEST(Vocabulary, CountsItsWordsAndTheUnknown) {
  const Vocabulary vocabulary(words);
  EXPECT_HOLDS(vocabulary.size() == 10, "nine words: size() is " + std::to_string(vocabulary.size()) + ", want 10");
}

TEST(Vocabulary, GivesZeroForAnUnknownWord) {
  const Vocabulary vocabulary(words);
  for (const char* word : {"unknown", "sentences", "喜", "", "?"}) {
    try {
      expect_id(vocabulary, word, 0, "");
    } catch (const NotWritten&) {
      throw;
    } catch (const std::exception& error) {
      ADD_FAILURE() << line("threw", type_name(error) + ": " + error.what()) << likely_mistake("unknown_throws");
    }
  }
  expect_id(vocabulary, "game", 0, note("asking for an unknown word twice must not make it known"));
  expect_id(vocabulary, "game", 0, note("asking for an unknown word twice must not make it known"));
}

TEST(Vocabulary, GivesTheWordOfANumber) {
  const Vocabulary vocabulary(words);
  for (arma::uword i = 0; i < words.size(); ++i) {
    const std::string got = vocabulary.word(i + 1);
    EXPECT_HOLDS(got == words[i], "word(" + std::to_string(i + 1) + ") is \"" + got + "\", want \"" + words[i] + "\"");
  }
  EXPECT_HOLDS(vocabulary.word(0) == "?", "word(0) is not \"?\"");
}

TEST(Vocabulary, IgnoresTheCaseOfLetters) {
  const Vocabulary vocabulary(Tokens{"This", "IS", "École"});
  const std::string about = numbers_from_one() ? likely_mistake("vocabulary_keeps_case") : "";
  expect_id(vocabulary, "this", 1, about);
  expect_id(vocabulary, "THIS", 1, about);
  expect_id(vocabulary, "is", 2, about);
  EXPECT_HOLDS(vocabulary.word(2) == "is", "word(2) is not \"is\"") << about;
  EXPECT_HOLDS(Vocabulary(Tokens{"ABYZ"}).word(1) == "abyz", "\"ABYZ\" was not stored as \"abyz\"") << about;
  expect_id(vocabulary, "École", 3, note("only A to Z are lower-cased"));
  expect_id(vocabulary, "école", 0, note("only A to Z are lower-cased"));
  expect_id(Vocabulary(Tokens{"This", "this", "IS"}), "is", 2, note("This and this are one word, and have one number"));
}

TEST(Vocabulary, GivesARepeatedWordOneNumber) {
  const Vocabulary vocabulary(Tokens{"is", "this", "is", "this", "it"});
  const std::string about = numbers_from_one() ? likely_mistake("repeated_word_counts") : "";
  expect_id(vocabulary, "it", 3, about);
  expect_id(vocabulary, "is", 1, about);
  expect_id(vocabulary, "this", 2, about);
  EXPECT_HOLDS(vocabulary.size() == 4,
               "three different words: size() is " + std::to_string(vocabulary.size()) + ", want 4")
      << about;
  EXPECT_HOLDS(vocabulary.word(3) == "it", "word(3) is not \"it\"") << about;
}

TEST(Vocabulary, TreatsAQuestionMarkAsAnyOtherWord) {
  const Vocabulary vocabulary(Tokens{"is", "?"});
  expect_id(vocabulary, "?", 2, note("\"?\" is what word(0) shows, but no word is stored for 0"));
}

TEST(Vocabulary, MayBeEmpty) {
  const Vocabulary vocabulary(Tokens{});
  expect_id(vocabulary, "this", 0, "");
}

TEST(Vocabulary, KeepsTwoVocabulariesApart) {
  const Vocabulary first(Tokens{"this", "is"});
  const Vocabulary second(Tokens{"is", "it"});
  expect_id(first, "it", 0, note("another vocabulary holds that word"));
  expect_id(second, "is", 1, note("another vocabulary gives it another number"));
  expect_id(first, "is", 2, "");
}

TEST(Vocabulary, RejectsAnEmptyWord) {
  EXPECT_PRED_FORMAT1(RejectsArgument("words", {}), [] { Vocabulary(Tokens{"this", ""}); });
}

TEST(Vocabulary, RejectsAnUnknownNumber) {
  const Vocabulary vocabulary(words);
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"10"}), [&] { vocabulary.word(10); });
  EXPECT_PRED_FORMAT1(RejectsArgument("id", {"77", "10"}), [&] { vocabulary.word(77); });
}

// -------------------------------------------------------------------------------------------------------- encode, 10.7

const Tokens sentences = {"This is an example sentence", "我 喜欢 玩 游戏", "我喜欢玩游戏", "", "an UNKNOWN sentence"};

TEST(VocabularyEncode, GivesAColumnForEverySentence) {
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_mat(batch.ids), HasShape({{"L", 4}, {"B", 5}}));
  EXPECT_THAT(as_row(batch.lengths), HasShape({{"1", 1}, {"B", 5}}));
}

TEST(VocabularyEncode, GivesTheNumbersOfTheWords) {
  const GoldenCase golden = load_golden("encode");
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")))
      << note("the sentences have 5, 4, 6, 0 and 3 words; max_length is 4");
}

TEST(VocabularyEncode, CountsTheWordsOfEachSentence) {
  const GoldenCase golden = load_golden("encode");
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4);
  EXPECT_THAT(as_row(batch.lengths), Matches(golden.expected("lengths")))
      << note("the sentences have 5, 4, 6, 0 and 3 words; max_length is 4");
}

TEST(VocabularyEncode, GivesTheNumbersWorkedByHand) {
  const GoldenCase golden = load_golden("by_hand");
  const EncodedBatch batch = encode({"我 爱 玩", "玩"}, Vocabulary(Tokens{"我", "玩"}), 3);
  EXPECT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")));
  EXPECT_THAT(as_row(batch.lengths), Matches(golden.expected("lengths")));
}

TEST(VocabularyEncode, CutsOnlyWhatIsTooLong) {
  for (const arma::uword max_length : {1U, 2U, 3U, 4U, 5U, 6U, 70U}) {
    const EncodedBatch batch = encode({"this is an example sentence", "is"}, Vocabulary(words), max_length);
    arma::mat ids(max_length, 2, arma::fill::zeros);
    const arma::uword length = std::min<arma::uword>(5, max_length);
    for (arma::uword i = 0; i < length; ++i) ids(i, 0) = static_cast<double>(i + 1);
    ids(0, 1) = 2;
    const std::string about = note("five words and one word; max_length is " + std::to_string(max_length));
    EXPECT_THAT(as_mat(batch.ids), IsNear(ids, {"L", "B"})) << about;
    EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat{{static_cast<double>(length), 1}}, {"1", "B"})) << about;
  }
}

TEST(VocabularyEncode, CountsAnUnknownWordAsAWord) {
  const EncodedBatch batch = encode({"one two", "is three"}, Vocabulary(words), 3);
  EXPECT_THAT(as_mat(batch.ids), IsNear(arma::mat{{0, 2}, {0, 0}, {0, 0}}, {"L", "B"}));
  EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat{{2, 2}}, {"1", "B"}))
      << note("an unknown word has the number of padding, but is a word");
}

TEST(VocabularyEncode, ReadsOneSentenceAlone) {
  const EncodedBatch batch = encode({"玩游戏 is"}, Vocabulary(words), 3);
  EXPECT_THAT(as_mat(batch.ids), IsNear(arma::mat(arma::vec{0, 2, 0}), {"L", "B"}));
  EXPECT_THAT(as_row(batch.lengths), IsNear(arma::mat(1, 1, arma::fill::value(2.0)), {"1", "B"}));
}

TEST(VocabularyEncode, PadsOnTheLeft) {
  const GoldenCase golden = load_golden("encode");
  const EncodedBatch batch = encode(sentences, Vocabulary(words), 4, Padding::left);
  EXPECT_THAT(as_mat(batch.ids), Matches(golden.expected("left_ids")))
      << note("padding on the left; the sentences have 5, 4, 6, 0 and 3 words, and max_length is 4");
  EXPECT_THAT(as_row(batch.lengths), Matches(golden.expected("lengths"))) << note("lengths do not depend on the side");
}

TEST(VocabularyEncode, CutsTheSameWordsOnEitherSide) {
  for (const arma::uword max_length : {1U, 3U, 5U, 8U}) {
    const EncodedBatch batch =
        encode({"this is an example sentence", "is"}, Vocabulary(words), max_length, Padding::left);
    arma::mat ids(max_length, 2, arma::fill::zeros);
    const arma::uword length = std::min<arma::uword>(5, max_length);
    for (arma::uword i = 0; i < length; ++i) ids(max_length - length + i, 0) = static_cast<double>(i + 1);
    ids(max_length - 1, 1) = 2;
    EXPECT_THAT(as_mat(batch.ids), IsNear(ids, {"L", "B"}))
        << note("five words and one word, padding on the left; max_length is " + std::to_string(max_length));
  }
}

TEST(VocabularyEncode, SaysWhichSideItPadded) {
  for (const Padding padding : {Padding::right, Padding::left}) {
    const EncodedBatch batch = encode({"this is", "an example sentence"}, Vocabulary(words), 4, padding);
    EXPECT_HOLDS(batch.padding == padding, "batch.padding is " + name_of(batch.padding) + ", want " + name_of(padding))
        << (padding == Padding::left ? likely_mistake("side_not_kept") : "");
  }
}

TEST(VocabularyEncode, StartsAfresh) {
  const std::string about = note("the same sentence was encoded before, with another vocabulary or max_length");
  encode({"this is it"}, Vocabulary(words), 3);
  const EncodedBatch other = encode({"this is it", "it"}, Vocabulary(Tokens{"it", "is", "so"}), 3);
  EXPECT_THAT(as_mat(other.ids), IsNear(arma::mat{{0, 1}, {2, 0}, {1, 0}}, {"L", "B"})) << about;
  const EncodedBatch shorter = encode({"this is it", "it"}, Vocabulary(Tokens{"it", "is", "so"}), 2);
  EXPECT_THAT(as_mat(shorter.ids), IsNear(arma::mat{{0, 1}, {2, 0}}, {"L", "B"})) << about;
  EXPECT_THAT(as_row(shorter.lengths), IsNear(arma::mat{{2, 1}}, {"1", "B"})) << about;
}

TEST(VocabularyEncode, RejectsBadInput) {
  const Vocabulary vocabulary(words);
  EXPECT_PRED_FORMAT1(RejectsArgument("sentences", {}), [&] { encode({}, vocabulary, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("max_length", {"0"}), [&] { encode(sentences, vocabulary, 0); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"5"}), [&] { encode({"this", "it is\xFF"}, vocabulary, 4); });
  EXPECT_PRED_FORMAT1(RejectsArgument("text", {"11"}), [&] { encode({"this is it \xFF"}, vocabulary, 1); });
}

// ------------------------------------------------------------------------------------ from a sentence to its attention

// The way from a sentence to its attention, all of it: about no task of its own.

TEST(SentenceAttention, EqualsTheArticlesSingleHeadFromASentence) {
  const GoldenCase golden = load_golden("article_single_head");
  const Vocabulary vocabulary(Tokens{"我", "喜欢", "玩", "游戏"});
  const EncodedBatch batch = encode({"我 喜欢 玩 游戏", "我喜欢玩游戏"}, vocabulary, 6);
  MultiHeadAttention attention = layer_from(golden, 1);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  ASSERT_THAT(output, HasShape({{"L", 6}, {"E", 8}, {"B", 2}}));
  EXPECT_THAT(arma::mat(output.slice(0).rows(0, 3)), Matches(golden.expected("with_spaces")));
  EXPECT_THAT(arma::mat(output.slice(1)), Matches(golden.expected("without_spaces")));
}

TEST(SentenceAttention, EqualsTheArticlesTokenisedSentenceWithItsPaddingBlocked) {
  const GoldenCase golden = load_golden("article_tokenised");
  const Vocabulary vocabulary(Tokens{"this", "is", "an", "example", "sentence"});
  const EncodedBatch batch = encode({"This is an example sentence", "This sentence is wonderful"}, vocabulary, 10);
  ASSERT_THAT(as_mat(batch.ids), Matches(golden.expected("ids")));
  MultiHeadAttention attention = layer_from(golden, 8);
  const arma::cube output = attend(batch, embedding_from(golden), attention);
  EXPECT_THAT(words_only(output, batch), Matches(golden.expected("output")));
  EXPECT_THAT(weights_of_sentence(attention.attention_weights(), batch, 0, 8),
              Matches(golden.expected("first_weights")));
}

TEST(SentenceAttention, GivesWeightsThatSumToOneForEverySentence) {
  const Vocabulary vocabulary(words);
  const Embedding embedding(vocabulary.size(), 6);
  MultiHeadAttention attention(6, 3, 0);
  for (const Padding padding : {Padding::right, Padding::left}) {
    const EncodedBatch batch = encode(sentences, vocabulary, 7, padding);
    attend(batch, embedding, attention);
    for (const arma::uword b : {0U, 1U, 2U, 4U}) {
      const arma::cube own = weights_of_sentence(attention.attention_weights(), batch, b, 3);
      EXPECT_THAT(own, RowsSumToOne()) << note("this is sentence " + std::to_string(b) + ", with padding on the " +
                                               name_of(padding));
    }
  }
}

// ---------------------------------------------------------------------------- most_frequent_pair and merge_pair, 10.8

using Words = std::vector<CountedWord>;
using Merges = std::vector<PiecePair>;

/// "l o w"
std::string pieces_text(const Tokens& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
  return text;
}

/// "l o w x 5 · l o w e r x 2"
std::string text_of(const Words& all) {
  std::string text;
  for (const CountedWord& word : all) {
    text += (text.empty() ? "" : " · ") + pieces_text(word.pieces) + " x " + std::to_string(word.count);
  }
  return text;
}

std::string text_of(const PiecePair& pair) { return "(" + pair.first + ", " + pair.second + ")"; }
std::string text_of(const Tokens& pieces) { return pieces_text(pieces); }

/// The bytes of a text as numbers, in one row: what a mistake is found by.
arma::mat bytes_of(const std::string& text) {
  arma::mat bytes(1, text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes(0, i) = static_cast<unsigned char>(text[i]);
  return bytes;
}

/// Pieces, words or a pair are the expected ones, as text. Their bytes are compared as numbers are, for their mistakes.
MATCHER_P(ReadsAs, wanted, "reads as expected") {
  if (result_listener->IsInterested()) repeat_comparison();
  const std::string got = text_of(arg);
  const std::string difference = diagnose(as_cube(bytes_of(got)), {as_cube(bytes_of(wanted)), {"1", "bytes"}});
  if (difference.empty()) return true;
  Failure failure;
  failure.statements = {{"value", "got " + got}, {"", "want " + std::string(wanted)}};
  failure.comparison = decode(difference)->comparison;
  return explain(encode(failure), result_listener);
}

const Words low = {{{"l", "o", "w"}, 1}, {{"l", "o", "w", "e", "r"}, 1}, {{"l", "o", "w", "e", "s", "t"}, 1}};

/// Words that no sentence has, of three letters: with many pairs that occur more than once, and overlap.
Words words_of_three_letters(std::size_t how_many) {
  Words all;
  for (std::size_t n = 0; n < how_many; ++n) {
    CountedWord word{{}, 1 + (n * 7) % 5};
    for (std::size_t i = 0; i < 2 + n % 6; ++i) word.pieces.emplace_back(1, "abc"[(n * n + i * i * (n + 1) / 2) % 3]);
    all.push_back(word);
  }
  return all;
}

TEST(Merges, GivesTheTableOfTheChapter) {
  struct Step {
    const char* pair;
    const char* words;
  };
  Words all = low;
  for (const Step& step : {Step{"(l, o)", "lo w x 1 · lo w e r x 1 · lo w e s t x 1"},
                           Step{"(lo, w)", "low x 1 · low e r x 1 · low e s t x 1"},
                           Step{"(low, e)", "low x 1 · lowe r x 1 · lowe s t x 1"}}) {
    const PiecePair pair = most_frequent_pair(all);
    ASSERT_THAT(pair, ReadsAs(std::string(step.pair))) << note("the words are " + text_of(all));
    const Words merged = merge_pair(all, pair);
    ASSERT_THAT(merged, ReadsAs(std::string(step.words))) << note("the pair is " + text_of(pair));
    all = merged;
  }
}

TEST(Merges, CountsAPairAsOftenAsItsWordOccurs) {
  EXPECT_THAT(most_frequent_pair({{{"h", "a", "t"}, 2}, {{"c", "a", "t"}, 3}, {{"h", "u", "g"}, 9}}),
              ReadsAs(std::string("(h, u)")))
      << note("hat occurs 2 times, cat 3, hug 9: (a, t) counts 5, (h, u) 9");
}

TEST(Merges, TakesTheFirstOfEquals) {
  EXPECT_THAT(most_frequent_pair({{{"z", "o", "o"}, 1}, {{"a", "b", "c"}, 1}}), ReadsAs(std::string("(z, o)")))
      << note("all four pairs count 1: the one that is met first is expected");
  EXPECT_THAT(most_frequent_pair({{{"m", "n"}, 1}, {{"y", "x"}, 2}, {{"b", "a", "d"}, 2}}),
              ReadsAs(std::string("(y, x)")))
      << note("(y, x), (b, a) and (a, d) count 2: the one that is met first is expected");
}

TEST(Merges, CountsEveryPlaceInAWord) {
  EXPECT_THAT(most_frequent_pair({{{"x", "y"}, 2}, {{"n", "a", "n", "a", "n", "a"}, 1}}),
              ReadsAs(std::string("(n, a)")))
      << note("(n, a) is in nanana three times, (x, y) counts 2");
}

TEST(Merges, CountsNoPairAcrossWords) {
  EXPECT_THAT(most_frequent_pair({{{"p", "q"}, 1}, {{"e", "d"}, 1}, {{"p", "q"}, 1}, {{"e"}, 7}, {{"q", "e"}, 1}}),
              ReadsAs(std::string("(p, q)")))
      << note("q at a word's end and e at the beginning of the next are no neighbours");
}

TEST(Merges, CountsTheLastPairOfAWord) {
  EXPECT_THAT(most_frequent_pair({{{"f", "g"}, 1}, {{"i", "n", "g"}, 1}, {{"u", "n", "g"}, 1}}),
              ReadsAs(std::string("(n, g)")));
}

TEST(Merges, FindsNoPairWhereEveryWordIsOnePiece) {
  EXPECT_THAT(most_frequent_pair({{{"low"}, 3}, {{"a"}, 2}}), ReadsAs(std::string("(, )")));
  EXPECT_THAT(most_frequent_pair({}), ReadsAs(std::string("(, )")));
}

TEST(Merges, MergesEveryPlaceInEveryWord) {
  EXPECT_THAT(merge_pair({{{"n", "a", "n", "a", "b"}, 2}, {{"b", "a"}, 3}, {{"n", "a"}, 4}}, {"n", "a"}),
              ReadsAs(std::string("na na b x 2 · b a x 3 · na x 4")));
}

TEST(Merges, MergesNoPieceTwice) {
  EXPECT_THAT(merge_pair({{{"a", "a", "a"}, 5}, {{"a", "a", "a", "a"}, 2}}, {"a", "a"}),
              ReadsAs(std::string("aa a x 5 · aa aa x 2")))
      << note("from left to right: the third a finds no a before it, only aa");
}

TEST(Merges, ComparesPiecesAndNotTheirLetters) {
  EXPECT_THAT(merge_pair({{{"l", "ow"}, 1}, {{"lo", "w"}, 6}, {{"l", "o", "w"}, 2}, {{"w", "lo"}, 3}}, {"lo", "w"}),
              ReadsAs(std::string("l ow x 1 · low x 6 · l o w x 2 · w lo x 3")))
      << note("only the pieces lo and w, in this order, are the pair");
}

TEST(Merges, MergesNothingWhereThePairIsNot) {
  EXPECT_THAT(merge_pair({{{"l", "o", "w"}, 2}, {{"t"}, 3}}, {"o", "l"}), ReadsAs(std::string("l o w x 2 · t x 3")));
}

/// The lines of a text whose bytes a golden case has.
Tokens lines_from(const GoldenCase& golden, const std::string& array) {
  Tokens lines(1);
  for (const double byte : golden.rowvec(array)) {
    if (byte == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(byte);
    }
  }
  lines.pop_back();
  return lines;
}

/// "es t" is the pair (es, t).
Merges merges_from(const GoldenCase& golden) {
  Merges merges;
  for (const std::string& line : lines_from(golden, "merges")) {
    merges.emplace_back(line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1));
  }
  return merges;
}

TEST(Merges, EqualsThePaperOnItsExample) {
  const Merges merges = merges_from(load_golden("merges"));
  Words all = {{{"l", "o", "w", "."}, 5},
               {{"l", "o", "w", "e", "r", "."}, 2},
               {{"n", "e", "w", "e", "s", "t", "."}, 6},
               {{"w", "i", "d", "e", "s", "t", "."}, 3}};
  for (std::size_t step = 0; step < merges.size(); ++step) {
    const PiecePair pair = most_frequent_pair(all);
    ASSERT_THAT(pair, ReadsAs(text_of(merges[step])))
        << note("step " + std::to_string(step + 1) + "; the words are " + text_of(all));
    all = merge_pair(all, pair);
  }
  const Tokens wanted = lines_from(load_golden("merges"), "words");
  EXPECT_THAT(all, ReadsAs(wanted[0] + " x 5 · " + wanted[1] + " x 2 · " + wanted[2] + " x 6 · " + wanted[3] + " x 3"));
}

TEST(Merges, KeepsTheLettersOfEveryWord) {
  Words all = words_of_three_letters(23);
  const Words before = all;
  for (int step = 0; step < 6; ++step) all = merge_pair(all, most_frequent_pair(all));
  ASSERT_HOLDS(all.size() == before.size(), "there are " + std::to_string(all.size()) + " words, want 23");
  for (std::size_t n = 0; n < all.size(); ++n) {
    std::string joined;
    for (const std::string& piece : all[n].pieces) joined += piece;
    std::string wanted;
    for (const std::string& piece : before[n].pieces) wanted += piece;
    ASSERT_HOLDS(joined == wanted && all[n].count == before[n].count,
                 "\"" + wanted + "\" x " + std::to_string(before[n].count) + " became " + text_of({all[n]}))
        << note("a merge changes where a word is cut, and nothing else");
  }
}

TEST(Merges, FindsAPairThatNoneExceeds) {
  const Words all = words_of_three_letters(41);
  const auto count_of = [&](const PiecePair& pair) {
    arma::uword count = 0;
    for (const CountedWord& word : all) {
      for (std::size_t i = 1; i < word.pieces.size(); ++i) {
        if (word.pieces[i - 1] == pair.first && word.pieces[i] == pair.second) count += word.count;
      }
    }
    return count;
  };
  const PiecePair got = most_frequent_pair(all);
  for (const char* first : {"a", "b", "c"}) {
    for (const char* second : {"a", "b", "c"}) {
      ASSERT_HOLDS(count_of({first, second}) <= count_of(got),
                   "got " + text_of(got) + ", which counts " + std::to_string(count_of(got)) + "; " +
                       text_of(PiecePair(first, second)) + " counts " + std::to_string(count_of({first, second})));
    }
  }
}

// ---------------------------------------------------------------------------------------------- cut_word, 10.9

const Merges of_low = {{"l", "o"}, {"lo", "w"}, {"low", "e"}};

TEST(MergesCutWord, CutsTheWordsOfTheChapter) {
  EXPECT_THAT(cut_word("slow", of_low), ReadsAs(std::string("s low")));
  EXPECT_THAT(cut_word("lowest", of_low), ReadsAs(std::string("lowe s t")));
  EXPECT_THAT(cut_word("low", of_low), ReadsAs(std::string("low")));
}

TEST(MergesCutWord, AppliesEveryMergeInItsOrder) {
  const Merges merges = {{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"ab", "d"}};
  EXPECT_THAT(cut_word("abcabd", merges), ReadsAs(std::string("abc abd")))
      << note("the merges are (b, c), (a, b), (a, bc), (ab, d): (b, c) comes first and takes b from the first a");
  EXPECT_THAT(cut_word("abd", merges), ReadsAs(std::string("abd")));
  EXPECT_THAT(cut_word("abc", {{"b", "c"}, {"a", "b"}}), ReadsAs(std::string("a bc")))
      << note("the merges are (b, c), (a, b)");
}

TEST(MergesCutWord, GoesOnAfterAMergeThatFindsNothing) {
  EXPECT_THAT(cut_word("newer", {{"l", "o"}, {"lo", "w"}, {"e", "r"}, {"e", "w"}, {"ew", "er"}}),
              ReadsAs(std::string("n ewer")))
      << note("(l, o) and (lo, w) are not in this word; (e, r), (e, w) and (ew, er) are");
}

TEST(MergesCutWord, LeavesTheCharactersWithoutMerges) {
  EXPECT_THAT(cut_word("slow", {}), ReadsAs(std::string("s l o w")));
  EXPECT_THAT(cut_word("喜x欢", {}), ReadsAs(std::string("喜 x 欢"))) << note("characters, not bytes");
}

TEST(MergesCutWord, EqualsThePaperOnItsExample) {
  const Merges merges = merges_from(load_golden("merges"));
  EXPECT_THAT(cut_word("lowest.", merges), ReadsAs(std::string("low est.")));
  EXPECT_THAT(cut_word("newer.", merges), ReadsAs(std::string("new e r .")));
}

TEST(MergesCutWord, CutsAKnownWordAsLearningDid) {
  Words all = words_of_three_letters(31);
  const Words before = all;
  Merges merges;
  for (int step = 0; step < 8; ++step) {
    merges.push_back(most_frequent_pair(all));
    all = merge_pair(all, merges.back());
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    std::string word;
    for (const std::string& piece : before[n].pieces) word += piece;
    ASSERT_THAT(cut_word(word, merges), ReadsAs(pieces_text(all[n].pieces)))
        << note("\"" + word + "\" was among the words that the merges were learned from");
  }
}

TEST(MergesCutWord, HasNoPiecesOfAnEmptyWord) { EXPECT_THAT(cut_word("", of_low), ReadsAs(std::string())); }

// --------------------------------------------------------------------------------------------------------------- speed

ATTN_SPEED("attend, 2 sentences of 32 and 24 words, E = 64, H = 4", [] {
  const EncodedBatch batch{arma::randi<arma::umat>(32, 2, arma::distr_param(0, 999)), {32, 24}};
  MultiHeadAttention attention(64, 4);
  attention.dropout.eval();
  return [batch, embedding = Embedding(1000, 64), attention]() mutable { return attend(batch, embedding, attention); };
});

}  // namespace
}  // namespace attn::judge
