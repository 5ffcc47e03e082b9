// What ./learn generate adds to the lessons: characters that come in pieces, the weights that a layer does not keep, and which
// parts are whose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <string>
#include <vector>

#include "attn/generation.hpp"
#include "attn/heads.hpp"
#include "attn/language_model.hpp"
#include "generate/options.hpp"
#include "learn/commands/own_parts.hpp"
#include "shared/model_view.hpp"

namespace attn::generating {
namespace {

TEST(CharacterStream, GivesACharacterWhenItIsWhole) {
  CharacterStream stream(false);
  EXPECT_EQ(stream.take("caf\xC3"), "caf");
  EXPECT_EQ(stream.take("\xA9 \xF0\x9F"), "é ");
  EXPECT_EQ(stream.take("\x99"), "");
  EXPECT_EQ(stream.take("\x82!"), "\xF0\x9F\x99\x82!");
  EXPECT_EQ(stream.finish(), "");
}

TEST(CharacterStream, ReplacesWhatIsNoCharacter) {
  CharacterStream stream(false);
  EXPECT_EQ(stream.take("a\x1B[2J\xFF\n\t"), "a\xEF\xBF\xBD[2J\xEF\xBF\xBD\n\t");
  EXPECT_EQ(stream.take("\xE2\x80"), "");
  EXPECT_THAT(stream.finish(), ::testing::StartsWith("\xEF\xBF\xBD"));
}

TEST(CharacterStream, WritesAsciiWhereThatIsAllThereIs) {
  CharacterStream stream(true);
  EXPECT_EQ(stream.take("\xE5\x96\x9C ok"), "? ok");
}

TEST(BytesOf, ATokenThatTheVocabularyLacksAreNone) {
  TokenizerData data;
  data.tokens = {"a", "", "Ġb"};
  data.specials = {{"<end>", 3}};
  const ByteLevelBPE tokenizer(data);
  EXPECT_EQ(bytes_of(tokenizer, 2), " b");
  EXPECT_EQ(bytes_of(tokenizer, 3), "<end>");
  for (const arma::uword id : {1U, 4U, 1000U}) EXPECT_EQ(bytes_of(tokenizer, id), "") << id;
}

LanguageModelConfig small_config(Architecture architecture) {
  LanguageModelConfig config;
  config.architecture = architecture;
  config.vocab_size = 11;
  config.num_layers = 3;
  config.hidden_dim = 10;
  config.attention.embed_dim = 12;
  config.attention.num_heads = 4;
  config.attention.num_kv_heads = architecture == Architecture::llama ? 2 : 4;
  config.attention.head_dim = 6;
  config.attention.window = architecture == Architecture::llama ? 3 : 0;
  config.attention.qk_norm = architecture == Architecture::llama;
  config.attention.bias = architecture == Architecture::gpt2;
  config.max_position = architecture == Architecture::gpt2 ? 9 : 0;
  return config;
}

/// What each layer's attention returns, from the weights: the layer itself computes the same.
TEST(LayerAttention, GivesTheWeightsThatTheModelUses) {
  const std::vector<arma::uword> ids = {3, 1, 4, 1, 5};
  for (const Architecture architecture : {Architecture::llama, Architecture::gpt2}) {
    arma::arma_rng::set_seed(1);
    LanguageModel model(small_config(architecture));
    LanguageModel twin = model;
    arma::cube X = twin.token_embedding(arma::umat(arma::uvec(ids)));
    if (architecture == Architecture::gpt2) X.slice(0) += twin.position_embedding.head_rows(ids.size());
    arma::uword layers = 0;
    visit_attention(model, ids, [&](arma::uword layer, const arma::cube& weights) {
      EXPECT_EQ(layer, layers++);
      DecoderBlock block = twin.blocks[layer];
      const arma::cube normed = apply_layer(block.attention_norm, X);
      const arma::uword G = twin.config().attention.num_kv_heads;
      const arma::cube V = split_heads(block.attention.value_proj(normed), G);
      arma::cube context(ids.size(), 6, 4);
      for (arma::uword h = 0; h < 4; ++h) context.slice(h) = weights.slice(h) * V.slice(h / (4 / G));
      const arma::cube expected = block.attention.extend(normed);
      EXPECT_TRUE(arma::approx_equal(block.attention.output_proj(merge_heads(context, 4)), expected, "absdiff", 1e-12));
      X = twin.blocks[layer].extend(X);
      return true;
    });
    EXPECT_EQ(layers, 3u);
  }
}

TEST(LayerAttention, LeavesTheModelWithoutTokens) {
  LanguageModel model(small_config(Architecture::llama));
  const HeadOfLayer found = head_of_layer(model, {1, 2, 3}, 1, 2);
  EXPECT_EQ(found.layer, 1u);
  EXPECT_EQ(found.head, 2u);
  EXPECT_EQ(found.weights.n_slices, 4u);
  EXPECT_TRUE(model.lengths().is_empty());
}

TEST(SharpestHead, FindsAHeadAlsoForOneToken) {
  LanguageModel model(small_config(Architecture::llama));
  EXPECT_EQ(sharpest_head(model, {1}).weights.n_rows, 1u);
  const HeadOfLayer found = sharpest_head(model, {1, 2, 3, 4});
  EXPECT_LT(found.layer, 3u);
  EXPECT_LT(found.head, 4u);
}

TEST(Generate, TakesALongPromptInChunks) {
  std::vector<arma::uword> prompt;
  for (arma::uword i = 0; i < 2 * prompt_chunk + 5; ++i) prompt.push_back(i * i % 11);
  LanguageModel model(small_config(Architecture::llama));
  model.extend(arma::umat(arma::uvec(prompt)));
  const KVCache whole = model.blocks.back().attention.cache();
  generate(model, prompt, {{}, 1, {}, 0});
  const KVCache& chunks = model.blocks.back().attention.cache();
  EXPECT_GT(chunks.capacity(), prompt.size());  // it grew, while room for the whole prompt would fit
  ASSERT_EQ(chunks.length(0), prompt.size());
  EXPECT_TRUE(arma::approx_equal(arma::cube(chunks.keys().rows(0, prompt.size() - 1)), whole.keys(), "absdiff", 1e-10));
}

// ------------------------------------------------------------------------------------------------- whose parts

learn::ModelPart part(const std::string& number, bool own, const std::string& why_not = "") {
  return {lesson::find_lesson(ATTN_ROOT, number), own, why_not};
}

TEST(PartsText, SaysWhoseAPartIsAndWhatIsNext) {
  EXPECT_EQ(learn::parts_text({part("20", true), part("21", false), part("22", true)}, "train"),
            "2 of 3 parts are yours: 20, 22; ./learn 21 is next. ./learn train --help lists them all");
  EXPECT_EQ(learn::parts_text({part("20", false), part("21", false)}, "generate"),
            "0 of 2 parts are yours; ./learn 20 is next. ./learn generate --help lists them all");
  EXPECT_EQ(learn::parts_text({part("20", true), part("21", true)}, "train"), "2 of 2 parts are yours.");
  EXPECT_THAT(learn::parts_text({part("20", false, "does not pass")}, "train"),
              ::testing::HasSubstr("\n20 transformer_block is the reference's, as yours does not pass"));
}

TEST(RunsInText, SaysWhichProgramALessonRunsIn) {
  EXPECT_THAT(learn::runs_in_text(lesson::find_lesson(ATTN_ROOT, "00")), ::testing::HasSubstr("./learn generate"));
  EXPECT_THAT(learn::runs_in_text(lesson::find_lesson(ATTN_ROOT, "24")), ::testing::HasSubstr("./learn train"));
  EXPECT_EQ(learn::runs_in_text(lesson::find_lesson(ATTN_ROOT, "05")), "");
}

TEST(LayerAndHead, AreTwoNumbersWithADot) {
  for (const char* right : {"0.0", "2.1", "11.31"}) EXPECT_TRUE(is_layer_and_head(right)) << right;
  for (const char* wrong : {"", "2", "2.", ".1", "a.1", "-1.0", "1.2.3", "1.99999"}) {
    EXPECT_FALSE(is_layer_and_head(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace attn::generating
