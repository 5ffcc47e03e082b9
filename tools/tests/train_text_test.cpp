// What ./learn train needs for a text: its tokens, what is held out, the models that it is compared with, and the
// files that others read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/sampling.hpp"
#include "byte_tokenizer.hpp"
#include "held_out.hpp"
#include "learn/commands/train_options.hpp"
#include "learned_merges.hpp"
#include "model_export.hpp"
#include "scratch.hpp"
#include "text_data.hpp"
#include "text_screen.hpp"
#include "trainer.hpp"
#include "trigram.hpp"

namespace attn::training {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string verse = "Wie der Fluß fließt, fließt 水 über Stein; don't stop.\n  水火 12 é\t\n\nfließt\n";

// ------------------------------------------------------------------------------------------------- tokens

TEST(CharacterTokenizer, MakesEachCharacterOneToken) {
  const TokenizerData data = character_tokenizer("aé喜a🙂");
  EXPECT_EQ(data.tokens.size(), 256u + 1 + 2 + 3);
  EXPECT_EQ(ids_of("aé喜a🙂", data).size(), 5u);
  EXPECT_EQ(ids_of("éé 喜喜", data).size(), 5u) << "no token has two of them";
  EXPECT_EQ(ids_of("è", data).size(), 2u) << "one that the text does not have: as its bytes";
  EXPECT_EQ(character_tokenizer("plain").tokens.size(), 256u);
}

TEST(CharacterTokenizer, SharesMergesOfTheSameFirstBytes) {
  EXPECT_EQ(character_tokenizer("喜").merges.size(), 2u);
  EXPECT_EQ(character_tokenizer("喜喝").merges.size(), 3u) << "E5 96 9C and E5 96 9D";
}

std::vector<PiecePair> merges_of_lesson_10(std::vector<CountedWord> words, arma::uword count) {
  std::vector<PiecePair> merges;
  while (merges.size() < count) {
    const PiecePair pair = most_frequent_pair(words);
    if (pair.first.empty()) break;
    merges.push_back(pair);
    words = merge_pair(words, pair);
  }
  return merges;
}

TEST(LearnedMerges, AreThoseOfLesson10) {
  std::mt19937_64 generator(1);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<CountedWord> words;
    for (int w = 0; w < 30; ++w) {
      CountedWord word;
      const std::size_t size = 1 + generator() % 8;
      for (std::size_t i = 0; i < size; ++i) word.pieces.emplace_back(1, static_cast<char>('a' + generator() % 3));
      word.count = 1 + generator() % 3;
      words.push_back(word);
    }
    EXPECT_EQ(learned_merges(words, 40), merges_of_lesson_10(words, 40)) << "trial " << trial;
  }
}

TEST(LearnedTokenizer, HasAsManyTokensAsAsked) {
  EXPECT_EQ(learned_tokenizer(verse, 270).tokens.size(), 270u);
  EXPECT_EQ(learned_tokenizer("ab ab", 300).tokens.size(), 256u + 2) << "ab, and the space before it";
}

TEST(IdsOf, AreThoseOfTheEncoder) {
  for (const TokenizerData& data : {character_tokenizer(verse), learned_tokenizer(verse, 290)}) {
    const std::string text = verse + "ganz anderer Text, 漢字\r\n  \n " + verse;
    const ByteLevelBPE tokenizer(data);
    EXPECT_EQ(ids_of(text, data), tokenizer.encode(text));
    EXPECT_EQ(tokenizer.decode(ids_of(text, data)), text);
  }
}

TEST(TokenizerJson, IsReadAsItWas) {
  const Scratch folder;
  for (const TokenizerData& data : {character_tokenizer(verse), learned_tokenizer(verse, 290)}) {
    put(folder.path() / "tokenizer.json", tokenizer_json(data));
    const TokenizerData read = read_tokenizer(folder.path());
    EXPECT_EQ(read.tokens, data.tokens);
    EXPECT_EQ(read.merges, data.merges);
    EXPECT_EQ(read.splitting.patterns, data.splitting.patterns);
    EXPECT_TRUE(read.specials.empty());
    EXPECT_TRUE(read.begin_tokens.empty());
  }
}

// ------------------------------------------------------------------------------------------------- the text

Recipe recipe_for(const fs::path& file, arma::uword context = 4) {
  learn::TrainOptions options;
  options.text = file.string();
  options.context = context;
  options.width = 8;
  options.heads = 2;
  options.layers = 1;
  options.batch = 2;
  options.steps = 5;
  return recipe_of(options);
}

TEST(TextData, HoldsTheLastTenthOut) {
  const Scratch folder;
  put(folder.path() / "text", std::string(85, 'a') + "ééééé" + std::string(5, 'b'));
  Recipe recipe = recipe_for(folder.path() / "text");
  const TextData data = read_text_data(recipe);
  EXPECT_EQ(data.training, std::string(85, 'a') + "éé") << "byte 90 is within a character";
  EXPECT_EQ(data.held_out, "ééébbbbb");
  EXPECT_EQ(data.characters, 95u);
  EXPECT_EQ(data.different, 3u);
  EXPECT_EQ(data.training_ids.size(), 87u);
  EXPECT_EQ(recipe.vocab_size, 257u);
  EXPECT_EQ(read_same_text(recipe).training_ids, data.training_ids);
}

TEST(TextData, LearnsNothingFromWhatIsHeldOut) {
  const Scratch folder;
  Recipe recipe = recipe_for(folder.path() / "text");
  for (const char* kind : {"characters", "bpe"}) {
    recipe.tokens = kind;
    recipe.vocab_size = 270;
    const std::string begin = "abc abd abe 水 " + std::string(200, 'x') + "y";
    put(folder.path() / "text", begin + "qqqqqq qqqqqq qqqqqq");
    const TextData one = read_text_data(recipe);
    put(folder.path() / "text", begin + "火火火火 zz");
    EXPECT_EQ(read_text_data(recipe).tokenizer.merges, one.tokenizer.merges);
  }
}

std::string reason(const fs::path& file, const std::string& text, arma::uword context = 4) {
  put(file, text);
  Recipe recipe = recipe_for(file, context);
  try {
    read_text_data(recipe);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(TextData, SaysWhatIsWrongWithATextAndWhatToDo) {
  const Scratch folder;
  const fs::path file = folder.path() / "text";
  EXPECT_EQ(reason(file, verse), "");
  EXPECT_THAT(reason(file, "ab\ncd\xff" + verse), AllOf(HasSubstr("line 2, at byte 3"), HasSubstr("iconv")));
  EXPECT_THAT(reason(file, verse + "\xe6\xb0"), HasSubstr("not UTF-8"));
  EXPECT_THAT(reason(file, std::string(500, 'a')), AllOf(HasSubstr("one character only"), HasSubstr("500 times")));
  EXPECT_THAT(
      reason(file, std::string(30, 'a') + std::string(20, 'b')),
      AllOf(HasSubstr("the last tenth"), HasSubstr("5 tokens"), HasSubstr("at least 6"), HasSubstr("--context")));
  EXPECT_THAT(reason(file, verse, 200), HasSubstr("the part to learn from"));
  EXPECT_THAT(reason(file, ""), HasSubstr("empty"));
}

TEST(TextData, NoticesThatATextHasChanged) {
  const Scratch folder;
  const fs::path file = folder.path() / "text";
  put(file, verse);
  Recipe recipe = recipe_for(file);
  read_text_data(recipe);
  EXPECT_NO_THROW(read_same_text(recipe));
  const auto reason_of = [&] {
    try {
      read_same_text(recipe);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  recipe.ids_hash = "0";
  EXPECT_THAT(reason_of(), HasSubstr("other tokens"));
  put(file, verse + "!");
  EXPECT_THAT(reason_of(), HasSubstr("has changed"));
  fs::remove(file);
  EXPECT_THAT(reason_of(), HasSubstr("not there any more"));
}

TEST(FirstInvalidByte, CountsLinesAndBytesFromOne) {
  EXPECT_EQ(first_invalid_byte(verse), "");
  EXPECT_EQ(first_invalid_byte("\x80"), "line 1, at byte 1 of it");
  EXPECT_EQ(first_invalid_byte("a\n\néx\xc3"), "line 3, at byte 4 of it");
  EXPECT_EQ(first_invalid_byte("\xed\xa0\x80"), "line 1, at byte 1 of it") << "a surrogate";
  EXPECT_EQ(first_characters("é水x", 2), "é水");
  EXPECT_EQ(first_characters("é", 5), "é");
  EXPECT_EQ(count_characters("é水x"), 3u);
}

// ------------------------------------------------------------------------------------------------- what is measured

/// Worked out by hand: of "aab" there is one trigram, and the uniform model has a, b and an unknown one.
TEST(TrigramModel, IsInterpolatedKneserNey) {
  const TrigramModel model("aab");
  const auto bits = [](double p) { return -std::log2(p); };
  EXPECT_NEAR(model.bits('a', 'a', 'b'), bits(0.25 + 0.75 * (0.25 + 0.75 * (0.25 + 0.75 / 3))), 1e-12);
  EXPECT_NEAR(model.bits('a', 'a', 'a'), bits(0.75 * 0.75 * 0.75 / 3), 1e-12);
  EXPECT_NEAR(model.bits('b', 'a', 'b'), bits(0.25 + 0.75 * (0.25 + 0.75 / 3)), 1e-12) << "b a was not seen";
  EXPECT_NEAR(model.bits('b', 'b', 'b'), bits(0.25 + 0.75 / 3), 1e-12);
  EXPECT_NEAR(model.bits(U'水', 'a', U'水'), bits(0.75 * 0.75 / 3), 1e-12);
  EXPECT_NEAR(model.unigram_bits('a'), bits((1.25 + 0.75 * 2 / 3) / 3), 1e-12);
  EXPECT_NEAR(model.unigram_bits('z'), bits(0.75 * 2 / 3 / 3), 1e-12);
  EXPECT_NEAR(model.uniform_bits(), bits(1.0 / 3), 1e-12);
}

/// What counts below is how many different ones come before, and not how often.
TEST(TrigramModel, CountsDifferentOnesBelow) {
  // trigrams: abb, bba, bab twice, aba; so pairs: bb, ba after b and after a, ab
  const TrigramModel model("abbabab");
  const double lower_a = (2 - 0.75 + 0.75 * 2 * (1 - 0.75 + 0.75 * 2.0 / 3) / 3) / 3;
  EXPECT_NEAR(std::exp2(-model.bits('x', 'b', 'a')), lower_a, 1e-12);
  const double lower_b = 0.25 + 0.75 * (2 - 0.75 + 0.75 * 2 / 3) / 3;  // ab comes after b alone, if twice
  EXPECT_NEAR(std::exp2(-model.bits('x', 'a', 'b')), lower_b, 1e-12);
}

TEST(TrigramModel, HasProbabilitiesThatSumToOne) {
  const TrigramModel model(verse);
  std::vector<char32_t> all = {U'☃'};  // any unknown one
  for (const std::string& character : split_characters(verse)) {
    if (std::find(all.begin(), all.end(), code_point(character)) == all.end()) all.push_back(code_point(character));
  }
  for (const auto& [a, b] :
       std::vector<std::pair<char32_t, char32_t>>{{'l', 'i'}, {'x', 'i'}, {U'水', U'火'}, {'?', '?'}}) {
    double sum = 0, single = 0;
    for (const char32_t c : all) {
      sum += std::exp2(-model.bits(a, b, c));
      single += std::exp2(-model.unigram_bits(c));
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(single, 1, 1e-12);
  }
}

TEST(SimpleModels, GoOnFromTheTrainingText) {
  const TrigramModel model("aab");
  const SimpleModels simple = simple_models("aab", "ba");
  EXPECT_NEAR(simple.trigram, (model.bits('a', 'b', 'b') + model.bits('b', 'b', 'a')) / 2, 1e-12);
  EXPECT_NEAR(simple.unigram, (model.unigram_bits('b') + model.unigram_bits('a')) / 2, 1e-12);
}

/// Each token on its own: a window of L tokens that ends where it should.
TEST(TotalNats, AreThoseOfOverlappingWindows) {
  Recipe recipe = recipe_for("text", 6);
  recipe.vocab_size = 11;
  Training training = new_run(recipe);
  const std::vector<arma::uword> before = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<arma::uword> tokens = {9, 10, 0, 1, 5, 5, 2, 7};
  std::vector<arma::uword> all = before;
  all.insert(all.end(), tokens.begin(), tokens.end());
  double nats = 0;
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    const std::size_t last = std::min(j / 3 * 3 + 2, tokens.size() - 1);  // of its window of 6, half of which counts
    const std::size_t end = before.size() + last;                         // what is read ends before it
    training.model.reset();
    const arma::uvec ids(std::vector<arma::uword>(all.begin() + static_cast<std::ptrdiff_t>(end - 6),
                                                  all.begin() + static_cast<std::ptrdiff_t>(end)));
    const arma::mat logits = training.model.extend(arma::umat(ids)).slice(0);
    nats -= log_softmax_rows(logits)(5 - (last - j), tokens[j]);
  }
  for (const arma::uword B : {1U, 2U, 16U}) {
    EXPECT_NEAR(total_nats(training.model, before, tokens, 6, B), nats, 1e-10) << "B = " << B;
  }
}

// ------------------------------------------------------------------------------------------------- files for others

/// A model as it was saved has the same logits, but for single precision.
void expect_same_model(const learn::TrainOptions& asked) {
  const Scratch folder;
  put(folder.path() / "text", verse + verse);
  learn::TrainOptions options = asked;
  options.text = (folder.path() / "text").string();
  options.context = 8;
  Recipe recipe = recipe_of(options);
  const TextData data = read_text_data(recipe);
  Training training = new_run(recipe);
  for (const ParameterView& parameter : parameters_of(training.model)) parameter.vector() += 0.1;  // biases, too
  put(folder.path() / "config.json", config_json(training.model.config()));
  put(folder.path() / "tokenizer.json", tokenizer_json(data.tokenizer));
  put(folder.path() / "model.safetensors", exported_weights(training.model));
  Checkpoint read = load_language_model(folder.path());
  EXPECT_TRUE(read.stop_tokens.empty());
  const arma::umat ids = arma::uvec(std::vector<arma::uword>(data.training_ids.begin(), data.training_ids.begin() + 8));
  const arma::cube expected = training.model.extend(ids);
  EXPECT_LT(arma::abs(read.model.extend(ids) - expected).max(), 1e-4 * arma::abs(expected).max());
  EXPECT_EQ(read.model.config().attention.window, training.model.config().attention.window);
  EXPECT_EQ(read.tokenizer.encode(verse), ids_of(verse, data.tokenizer));
}

TEST(ExportedModel, IsReadAsALlama) {
  learn::TrainOptions options;
  options.width = 12;
  options.heads = 6;
  options.kv_heads = 3;
  options.layers = 2;
  expect_same_model(options);
}

TEST(ExportedModel, IsReadAsGPT2) {
  learn::TrainOptions options;
  options.architecture = "gpt2";
  options.tokens = "bpe";
  options.vocab = 280;
  options.width = 12;
  options.heads = 3;
  expect_same_model(options);
}

// ------------------------------------------------------------------------------------------------- the command line

std::string refusal(const std::string& words) {
  const Scratch folder;
  put(folder.path() / "text", verse);
  learn::TrainOptions options;
  CLI::App app;
  add_train_options(app, options);
  std::string line = words;
  const auto at = line.find("TEXT");
  if (at != std::string::npos) line.replace(at, 4, (folder.path() / "text").string());
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(TrainOptions, GoTogether) {
  EXPECT_EQ(refusal("--text TEXT --width 24 --heads 4 --kv-heads 2"), "");
  EXPECT_EQ(refusal("--text TEXT --architecture gpt2 --width 12 --heads 4 --tokens bpe --vocab 300"), "");
  EXPECT_EQ(refusal("--resume --svg map.svg --reference"), "");
  EXPECT_EQ(refusal("--resume models/trained/copy"), "");
  EXPECT_THAT(refusal("--text TEXT --heads 5"), AllOf(HasSubstr("--heads"), HasSubstr("divisor of --width")));
  EXPECT_THAT(refusal("--text TEXT --width 12 --heads 4"), AllOf(HasSubstr("3 wide"), HasSubstr("even")));
  EXPECT_THAT(refusal("--text TEXT --kv-heads 3"), HasSubstr("divisor of --heads"));
  EXPECT_THAT(refusal("--text TEXT --architecture gpt2 --kv-heads 2"), HasSubstr("gpt2 has no groups"));
  EXPECT_THAT(refusal("--text TEXT --vocab 300"), HasSubstr("--tokens bpe"));
  EXPECT_THAT(refusal("--text TEXT --tokens bpe --vocab 256"), HasSubstr("--vocab"));
  EXPECT_THAT(refusal("--text TEXT --task copy"), HasSubstr("leave out --task"));
  EXPECT_THAT(refusal("--text TEXT --svg map.svg"), HasSubstr("--svg"));
  EXPECT_THAT(refusal("--width 32"), HasSubstr("--text FILE"));
  EXPECT_THAT(refusal("--resume --steps 5"), AllOf(HasSubstr("--steps"), HasSubstr("keeps its own")));
  EXPECT_THAT(refusal("--resume --text TEXT"), HasSubstr("keeps its own"));
  EXPECT_THAT(refusal("--text /"), HasSubstr("is a folder"));
  EXPECT_THAT(refusal("--text /dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("--text /no/such"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal("--text TEXT --rate 0"), HasSubstr("--rate"));
  EXPECT_THAT(refusal("--text TEXT --rate nan"), HasSubstr("--rate"));
}

}  // namespace
}  // namespace attn::training
