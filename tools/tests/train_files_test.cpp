// What ./learn train reads and writes: texts and their tokens, what is held out of them, models that other programs read,
// and trainings that are kept: gone on with bit for bit, refused when they are damaged, and never lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <armadillo>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/checkpoint.hpp"
#include "attn/memory_map.hpp"
#include "attn/sampling.hpp"
#include "lesson/lesson.hpp"
#include "scratch.hpp"
#include "train/held_out.hpp"
#include "train/text_data.hpp"
#include "train/training_files.hpp"
#include "train/training_folder.hpp"

namespace attn::training {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What is said where something is refused; nothing where it is not.
template <typename Act>
std::string reason_of(const Act& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

const std::string verse = "Wie der Fluß fließt, fließt 水 über Stein; don't stop.\n  水火 12 é\t\n\nfließt\n";

// ------------------------------------------------------------------------------------------------- tokens

TEST(CharacterTokenizer, MakesEachCharacterOneToken) {
  const TokenizerData data = character_tokenizer("aé喜a🙂");
  EXPECT_EQ(data.tokens.size(), 256u + 1 + 2 + 3);
  EXPECT_EQ(ids_of("aé喜a🙂", data).size(), 5u);
  EXPECT_EQ(ids_of("éé 喜喜", data).size(), 5u) << "no token has two of them";
  EXPECT_EQ(ids_of("è", data).size(), 2u) << "one that the text does not have: as its bytes";
  EXPECT_EQ(character_tokenizer("plain").tokens.size(), 256u);
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

TEST(IdsOf, OfATextWithoutSpacesTakesNoLonger) {
  std::string text;  // 3 000 kinds of characters, each ten times
  for (int i = 0; i < 30000; ++i) {
    const int code = 0x4E00 + i * 7 % 3000;
    text += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
             static_cast<char>(0x80 | (code & 0x3F))};
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ids_of(text, character_tokenizer(text)).size(), 30000u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10)) << "once minutes";
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
  TrainOptions options;
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
  return reason_of([&] { read_text_data(recipe); });
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
  std::string many;
  for (int code = 0x10000; code < 0x10000 + 20'001; ++code) {
    for (const int byte : {0xf0, 0x80 | (code >> 12 & 63), 0x80 | (code >> 6 & 63), 0x80 | (code & 63)}) {
      many += static_cast<char>(byte);
    }
  }
  EXPECT_THAT(reason(file, many), HasSubstr("20001 different characters, expected at most 20000"));
}

TEST(TextData, NoticesThatATextHasChanged) {
  const Scratch folder;
  const fs::path file = folder.path() / "text";
  put(file, verse);
  Recipe recipe = recipe_for(file);
  read_text_data(recipe);
  const auto read_again = [&] { read_same_text(recipe); };
  EXPECT_EQ(reason_of(read_again), "");
  recipe.ids_hash = "0";
  EXPECT_THAT(reason_of(read_again), HasSubstr("other tokens"));
  put(file, verse + "!");
  EXPECT_THAT(reason_of(read_again), HasSubstr("has changed"));
  fs::remove(file);
  EXPECT_THAT(reason_of(read_again), HasSubstr("not there any more"));
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
class ExportedModel : public testing::TestWithParam<std::string> {};

TEST_P(ExportedModel, IsReadAsItWas) {
  const Scratch folder;
  put(folder.path() / "text", verse + verse);
  TrainOptions options;
  CLI::App command;
  add_train_options(command, options);
  command.parse("--context 8 --width 12 --text " + (folder.path() / "text").string() + " " + GetParam());
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

INSTANTIATE_TEST_SUITE_P(All, ExportedModel,
                         testing::Values("--heads 6 --kv-heads 3 --layers 2",
                                         "--architecture gpt2 --tokens bpe --vocab 280 --heads 3"));

// ------------------------------------------------------------------------------------------------- trainings that are kept

Recipe task_recipe(arma::uword steps) {
  TrainOptions options;
  options.steps = steps;
  Recipe recipe = recipe_of(options);
  recipe.batch = 2;
  recipe.width = 4;
  return recipe;
}

Recipe text_recipe(arma::uword steps) {
  Recipe recipe = recipe_for("text");
  recipe.steps = steps;
  recipe.vocab_size = 9;
  return recipe;
}

const std::vector<arma::uword> text = {1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 3, 5, 7, 2, 4, 6, 8, 1, 2, 3};

void make_steps(Training& training, arma::uword count) {
  const TrainingConfig config = training_config_of(training.recipe);
  for (arma::uword i = 0; i < count; ++i) {
    const Batch batch = training.recipe.is_text()
                            ? next_token_batch(text, training.recipe.context, training.recipe.batch, training.examples)
                            : task_named(training.recipe.task).draw(training.recipe.batch, training.examples);
    training.losses.push_back(train_step(training.model, training.state, {batch}, config).loss);
  }
}

std::string trained_for(const Recipe& recipe, arma::uword steps) {
  Training training = new_run(recipe);
  make_steps(training, steps);
  return saved_training(training);
}

std::string reason(const std::string& file) {
  return reason_of([&] { read_training(file); });
}

std::string replaced(std::string bytes, const std::string& old, const std::string& by) {
  const auto at = bytes.find(old);
  if (at == std::string::npos || old.size() != by.size()) throw std::logic_error("not there: " + old);
  return bytes.replace(at, old.size(), by);
}

// ------------------------------------------------------------------------------------------------- going on

TEST(SavedTraining, IsReadAsItWasAndGoesOnBitForBit) {
  for (const Recipe& recipe : {task_recipe(5), text_recipe(5)}) {
    const std::string whole = trained_for(recipe, 5);
    for (arma::uword stopped = 0; stopped <= 5; ++stopped) {
      const std::string saved = trained_for(recipe, stopped);
      Training training = read_training(saved);
      EXPECT_EQ(training.losses.size(), stopped);
      EXPECT_EQ(training.state.t, stopped);
      EXPECT_TRUE(saved_training(training) == saved) << recipe.task << ", after step " << stopped;
      make_steps(training, 5 - stopped);
      EXPECT_TRUE(saved_training(training) == whole) << recipe.task << ", stopped after step " << stopped;
    }
  }
}

// ------------------------------------------------------------------------------------------------- damage

TEST(DamagedTraining, IsRefusedWhereverABitIsFlipped) {
  const std::string saved = trained_for(text_recipe(9), 2);
  const auto header = static_cast<unsigned char>(saved[0]) + 256u * static_cast<unsigned char>(saved[1]) + 8;
  std::mt19937_64 generator(1);
  for (std::size_t trial = 0; trial < 600; ++trial) {
    std::string damaged = saved;
    const std::size_t at = trial < 64 ? trial / 8 : generator() % (trial < 350 ? header : saved.size());
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << (trial < 64 ? trial % 8 : generator() % 8));
    try {
      Training training = read_training(damaged);  // a blank after the header says nothing
      EXPECT_TRUE(saved_training(training) == saved) << "a bit of byte " << at << ": it is read as another training";
    } catch (const std::invalid_argument& error) {
      EXPECT_STRNE(error.what(), "") << "a bit of byte " << at;
    }
  }
}

TEST(DamagedTraining, IsRefusedWhereverItIsCut) {
  const std::string saved = trained_for(text_recipe(9), 2);
  std::mt19937_64 generator(1);
  for (std::size_t cut = 0; cut < saved.size(); cut += cut < 40 ? 1 : 1 + generator() % (saved.size() / 300)) {
    EXPECT_NE(reason(saved.substr(0, cut)), "") << "cut at " << cut;
  }
  EXPECT_NE(reason(saved + "x"), "");
  EXPECT_NE(reason(saved + saved), "");
}

TEST(DamagedTraining, IsRefusedWhenItIsSomethingElse) {
  EXPECT_NE(reason(""), "");
  EXPECT_NE(reason("hello"), "");
  EXPECT_NE(reason(std::string(1000, '\xff')), "");
  const fs::path other = fs::path(ATTN_ROOT) / "models" / "small" / "model.safetensors";
  EXPECT_THAT(reason(std::string(MemoryMap(other).bytes())), HasSubstr("it is not a saved training"));
}

TEST(DamagedTraining, IsRefusedForWhatItSays) {
  const std::string saved = trained_for(text_recipe(9), 2);
  EXPECT_THAT(reason(replaced(saved, R"("version":"1")", R"("version":"2")")),
              AllOf(HasSubstr("version is 2"), HasSubstr("reads version 1")));
  EXPECT_THAT(reason(replaced(saved, "training of", "training-of")), HasSubstr("format"));
  EXPECT_THAT(reason(replaced(saved, R"(\"seed\":1)", R"(\"seed\":2)")), HasSubstr("checksum"));
  std::string changed = saved;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_THAT(reason(changed), HasSubstr("checksum"));
}

TEST(DamagedTraining, IsRefusedInWordsWhenItsRecipeCannotBeRead) {
  const auto reason_for = [](const std::string& json) { return reason_of([&] { recipe_from_json(json); }); };
  EXPECT_EQ(reason_for("{}"), "the recipe cannot be read: key 'task' not found");
  EXPECT_EQ(reason_for("{").find("the recipe cannot be read: parse error at line 1"), 0u);
}

/// With a checksum that fits: somebody's program wrote them so.
TEST(WrongTraining, IsRefused) {
  const double nan = arma::datum::nan, inf = arma::datum::inf;
  const std::vector<std::pair<std::function<void(Training&)>, std::string>> wrong = {
      {[&](Training& training) { training.model.token_embedding.weight(3, 2) = nan; },
       "model.token_embedding has numbers"},
      {[&](Training& training) { training.state.v.back()(1) = inf; },
       "v.final_norm.weight has numbers that are not finite"},
      {[&](Training& training) { training.losses[0] = nan; }, "losses has"},
      {[](Training& training) { training.recipe.vocab_size = 8; }, "model.token_embedding has 72 numbers, expected 64"},
      {[](Training& training) { training.recipe.layers = 2; }, "blocks.1.attention_norm.weight is missing"},
      {[](Training& training) { training.recipe.architecture = "gpt2"; }, "is"},
      {[](Training& training) { training.recipe.architecture = "lstm"; }, "lstm"},
      {[](Training& training) { training.recipe.width = 4096; }, "too small"},
      {[](Training& training) { training.recipe.width = 100'000'000; }, "width 100000000"},
      {[](Training& training) { training.recipe.heads = 3; }, "num_heads"},
      {[](Training& training) { training.recipe.heads = 0; }, "heads 0"},
      {[](Training& training) { training.recipe.task = "add"; }, "add"},
      {[](Training& training) { training.recipe.steps = 1; }, "more losses"},
      {[](Training& training) { training.recipe.rate = -1; }, "learning rate"}};
  for (const auto& [change, named] : wrong) {
    Training training = new_run(text_recipe(9));
    make_steps(training, 2);
    change(training);
    EXPECT_THAT(reason(saved_training(training)), HasSubstr(named));
  }
}

// ------------------------------------------------------------------------------------------------- the folder

std::string refusal(const fs::path& folder) {
  return reason_of([&] { TrainingFolder::for_new(folder); });
}

TEST(TrainingFolder, IsNotTakenFromAnotherTraining) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "a" / "b";
  EXPECT_EQ(refusal(folder), "");
  EXPECT_TRUE(fs::is_directory(folder));
  const auto with = [&](const std::string& bytes) {
    put(folder / "training.safetensors", bytes);
    const std::string why = refusal(folder);
    EXPECT_EQ(lesson::read_file(folder / "training.safetensors"), bytes);
    return why;
  };
  EXPECT_THAT(with(trained_for(task_recipe(2), 2)),
              AllOf(HasSubstr("holds a finished training, of the task reverse"), HasSubstr("--save")));
  EXPECT_EQ(with(trained_for(text_recipe(2), 0)), "") << "nothing was done yet";
  EXPECT_THAT(with(trained_for(task_recipe(2), 1)), AllOf(HasSubstr("not finished, 1 of 2"), HasSubstr("--resume")));
  EXPECT_THAT(with(trained_for(text_recipe(2), 1)), HasSubstr("not finished"));
  EXPECT_THAT(with(trained_for(text_recipe(2), 2)),
              AllOf(HasSubstr("holds a finished training, on /"), HasSubstr("--save")));
  EXPECT_THAT(with("something else"), HasSubstr("left as it is"));
  fs::remove(folder / "training.safetensors");
  fs::create_symlink("training.safetensors", folder / "training.safetensors");  // to itself
  EXPECT_THAT(refusal(folder), AllOf(HasSubstr("training.safetensors cannot be read"), Not(HasSubstr("filesystem"))));
  fs::remove(folder / "training.safetensors");
  put(folder / "training.safetensors.being-written-123", "half");
  EXPECT_EQ(refusal(folder), "") << "left by a program that was killed";
  put(folder / "config.json", "{}");
  EXPECT_THAT(refusal(folder), HasSubstr("other files, such as config.json"));
  put(scratch.path() / "file", "");
  EXPECT_THAT(refusal(scratch.path() / "file"), HasSubstr("cannot be made"));
  EXPECT_THAT(refusal(scratch.path() / std::string(300, 'x')), HasSubstr("cannot be made: File name too long"));
}

TEST(TrainingFolder, IsAnotherOneWhereAFinishedTrainingIs) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "novel";
  EXPECT_EQ(folder_beside_finished(folder), folder);
  put(folder / "training.safetensors", trained_for(text_recipe(2), 2));
  EXPECT_EQ(folder_beside_finished(folder), folder.string() + "-2");
  put(folder.string() + "-2/training.safetensors", trained_for(task_recipe(2), 2));
  EXPECT_EQ(folder_beside_finished(folder), folder.string() + "-3");
  for (const std::string& other : {trained_for(text_recipe(2), 1), std::string("something else")}) {
    put(folder.string() + "-3/training.safetensors", other);
    EXPECT_EQ(folder_beside_finished(folder), folder.string() + "-3") << "what is not finished is not passed over";
  }
}

/// A first save that fails at any of its files: the next training may have the folder, and nothing half written is left.
TEST(TrainingFolder, IsFreeAfterAFirstSaveThatFailed) {
  Recipe recipe = text_recipe(2);
  Training training = new_run(recipe);
  make_steps(training, 1);
  const TokenizerData tokenizer = character_tokenizer("abc");
  const Scratch whole;
  TrainingFolder::for_new(whole.path()).write(training, &tokenizer);
  std::vector<rlim_t> limits = {100};
  for (const auto& entry : fs::directory_iterator(whole.path())) limits.push_back(fs::file_size(entry.path()) - 1);
  EXPECT_EQ(limits.size(), 5u);
  for (const rlim_t bytes : limits) {
    const Scratch scratch;
    EXPECT_TRUE(ended_well(start_child([&] {
      const TrainingFolder folder = TrainingFolder::for_new(scratch.path());
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      try {
        folder.write(training, &tokenizer);
        return false;
      } catch (const std::runtime_error&) {
        return true;
      }
    }))) << bytes;
    EXPECT_EQ(refusal(scratch.path()), "") << "at most " << bytes << " bytes a file";
    for (const auto& entry : fs::directory_iterator(scratch.path())) {
      EXPECT_EQ(entry.path().string().find("being-written"), std::string::npos) << entry.path();
    }
  }
}

TEST(TrainingFolder, IsForOneProgramAtATime) {
  const Scratch scratch;
  {
    const TrainingFolder first = TrainingFolder::for_new(scratch.path());
    EXPECT_THAT(refusal(scratch.path()), HasSubstr("another program"));
  }
  EXPECT_EQ(refusal(scratch.path()), "");
}

TEST(TrainingFolder, GoesOnOnlyWithWhatIsNotFinished) {
  const Scratch scratch;
  const auto resume = [&] { TrainingFolder::for_resumed(scratch.path()).read(); };
  EXPECT_THAT(reason_of(resume), HasSubstr("has no training.safetensors"));
  const auto resume_too_long = [] { TrainingFolder::for_resumed(std::string(300, 'x')); };
  EXPECT_THAT(reason_of(resume_too_long), HasSubstr("has no training.safetensors"));
  put(scratch.path() / "training.safetensors", trained_for(text_recipe(2), 1));
  EXPECT_EQ(reason_of(resume), "");
  put(scratch.path() / "training.safetensors", trained_for(text_recipe(2), 2));
  EXPECT_THAT(reason_of(resume), AllOf(HasSubstr("finished, after 2 steps"), HasSubstr("./learn generate --model")));
  EXPECT_THAT(reason_of(resume), HasSubstr("./learn train --resume " + scratch.path().string() + " --steps N"));
  put(scratch.path() / "training.safetensors", "{}");
  EXPECT_THAT(reason_of(resume), HasSubstr("training.safetensors: file has 2 bytes"));
}

/// With more steps, a finished training goes on with the learning rate that a training of all these steps has there.
TEST(TrainingFolder, GoesOnWithMoreSteps) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "training.safetensors";
  const auto resumed = [&](arma::uword steps) { return TrainingFolder::for_resumed(scratch.path()).read(steps); };
  for (const Recipe& recipe : {task_recipe(3), text_recipe(3)}) {
    Training expected = new_run(recipe);
    make_steps(expected, 3);
    expected.recipe.steps = 7;
    make_steps(expected, 4);
    put(file, trained_for(recipe, 3));
    Training training = resumed(7);
    make_steps(training, 2);
    put(file, saved_training(training));  // stopped once more: it still ends after 7
    training = TrainingFolder::for_resumed(scratch.path()).read();
    make_steps(training, 2);
    EXPECT_TRUE(saved_training(training) == saved_training(expected)) << recipe.task;
    EXPECT_TRUE(training.is_finished());
    put(file, trained_for(recipe, 3));
    for (const arma::uword steps : {arma::uword{1}, arma::uword{3}}) {
      EXPECT_THAT(reason_of([&] { resumed(steps); }),
                  AllOf(HasSubstr("--steps " + std::to_string(steps)), HasSubstr("3 are made")));
    }
  }
}

TEST(TrainingFolder, IsNamedAfterItsTextOrTask) {
  const auto name_of = [](const std::string& path) {
    Recipe recipe = text_recipe(1);
    recipe.text = path;
    return usual_folder(recipe).string();
  };
  EXPECT_EQ(usual_folder(task_recipe(1)), "models/trained/reverse");
  EXPECT_EQ(name_of("/a/pride.txt"), "models/trained/pride");
  EXPECT_EQ(name_of("/a/my 'own' text.utf8.txt"), "models/trained/my--own--text.utf8");
  EXPECT_EQ(name_of("/a/紅樓夢.txt"), "models/trained/紅樓夢");
  EXPECT_EQ(name_of("/a/copy.txt"), "models/trained/copy-text");
  EXPECT_EQ(name_of("/a/.txt"), "models/trained/text.txt");
}

/// A program that saves after each step is killed 200 times, mostly while it saves. Each time the file is whole, and
/// what goes on with it arrives where it would have been without.
TEST(TrainingFolder, SurvivesKills) {
  const Scratch scratch;
  const Recipe recipe = text_recipe(1'000'000);
  Training whole = new_run(recipe);
  const auto begin = std::chrono::steady_clock::now();
  make_steps(whole, 1);
  TrainingFolder::for_new(scratch.path()).write(whole, nullptr);
  RandomKills kills(3 * (std::chrono::steady_clock::now() - begin));
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    ASSERT_TRUE(kills.kill_one([&](const auto& begun) {
      const TrainingFolder folder = TrainingFolder::for_resumed(scratch.path());
      Training training = folder.read();
      begun();
      for (;;) {
        make_steps(training, 1);
        folder.write(training, nullptr);
      }
      return false;
    })) << "it ended before it was killed";
    Training training = TrainingFolder::for_resumed(scratch.path()).read();
    ASSERT_GE(training.losses.size(), whole.losses.size());
    kills.count(training.losses.size() > whole.losses.size());
    make_steps(whole, training.losses.size() - whole.losses.size());
    ASSERT_TRUE(saved_training(training) == saved_training(whole)) << "after kill " << kill_number;
  }
  EXPECT_GT(whole.losses.size(), 50u) << "there was something to save";
}

}  // namespace
}  // namespace attn::training
