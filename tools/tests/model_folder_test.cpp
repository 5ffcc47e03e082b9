// Folders with models that users download: what is not supported, missing or damaged is refused, by name, before any weight
// is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "attn/checkpoint.hpp"
#include "attn/generation.hpp"
#include "attn/text_splitter.hpp"
#include "run/sanitizer.hpp"
#include "scratch.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const fs::path models = fs::path(ATTN_ROOT) / "tests/23_real_weights/models";

/// A copy of one of the models, to be damaged.
class ModelFolder : public ::testing::Test {
 protected:
  fs::path copy(const std::string& model) {
    fs::copy(models / model, folder_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    return folder_;
  }

  /// Merges fields into a JSON file of the folder; null removes a field.
  void change(const std::string& file, const json& fields) {
    json object = json::parse(std::ifstream(folder_ / file));
    object.merge_patch(fields);
    put(folder_ / file, object.dump());
  }

  /// The folder, as it is now, is refused at once, with a message that names all of these: one line that can be printed.
  void expect_refused(const std::string& what, const std::string& also = "") const {
    const std::clock_t start = std::clock();  // processor time: the machine may be busy
    EXPECT_THAT(
        [this] { load_language_model(folder_); },
        ThrowsMessage<std::invalid_argument>(
            AllOf(HasSubstr(what), HasSubstr(also), Not(HasSubstr("json.exception")), SizeIs(Lt(400)), Each(Ge(' ')))));
    constexpr int most_seconds = judge::has_sanitizer ? 8 : 2;
    EXPECT_LT(std::clock() - start, most_seconds * CLOCKS_PER_SEC) << what;
  }

  /// Bytes of a file from a place on, or from its end where that is below zero.
  void overwrite(const std::string& file, int place, const std::string& bytes) {
    std::fstream stream(folder_ / file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(place, place < 0 ? std::ios::end : std::ios::beg);
    stream << bytes;
  }

 private:
  Scratch scratch_;

 protected:
  const fs::path folder_ = scratch_.path() / "model";
};

TEST_F(ModelFolder, LoadsAsItIs) {
  for (const std::string model : {"gpt2", "llama", "qwen3", "smollm"}) {
    fs::remove_all(folder_);
    EXPECT_GT(load_language_model(copy(model)).model.blocks.size(), 0) << model;
  }
}

TEST_F(ModelFolder, RefusesConfigurationsThatAreNotSupported) {
  const std::vector<std::pair<json, std::string>> changes = {
      {{{"model_type", "mamba"}}, "model_type is \"mamba\""},
      {{{"model_type", nullptr}}, "model_type is missing"},
      {{{"model_type", 5}}, "model_type is 5"},
      {{{"hidden_act", "gelu"}}, "hidden_act is \"gelu\""},
      {{{"mlp_bias", true}}, "mlp_bias is true"},
      {{{"quantization_config", {{"bits", 4}}}}, "quantization_config"},
      {{{"rope_scaling", {{"rope_type", "yarn"}}}}, "rope_type is \"yarn\""},
      {{{"rope_scaling", {{"rope_type", "llama3"}}}}, "rope_scaling has no factor"},
      {{{"hidden_size", nullptr}}, "hidden_size is missing"},
      {{{"hidden_size", -8}}, "hidden_size is -8"},
      {{{"num_hidden_layers", 0}}, "num_hidden_layers is 0"},
      {{{"vocab_size", "many"}}, "vocab_size is \"many\""},
      {{{"layer_types", {"full_attention", "sliding_attention"}}}, "layer_types is"},
      {{{"model_type", std::string(100'000, 'm')}}, "model_type is \"mmm"},
      {{{"model_type", "\x1B[2J\x7F\u202E"}}, "\\u001b[2J\\u007f\\u202e"},
      {{{"num_hidden_layers", 2305843009213693952}}, "num_hidden_layers is 2305843009213693952, expected at most 1000"},
      {{{"head_dim", 2147483648}}, "head_dim is 2147483648, expected at most"},
      {{{"head_dim", 3}}, "head_dim is 3, expected a multiple of"},
      {{{"vocab_size", 1'000'000}}, "model.embed_tokens.weight is 287 x 6, expected 1000000 x 6"},
      {{{"hidden_size", 600'000}}, "model.embed_tokens.weight is 287 x 6, expected 287 x 600000"},
      {{{"num_key_value_heads", 4}}, "expected a multiple of num_key_value_heads = 4"},
      {{{"rope_theta", 0}}, "base is 0"},
      {{{"rms_norm_eps", -1}}, "rms_norm_eps is -1"},
      {{{"model_type", "qwen2"}, {"use_sliding_window", true}, {"num_hidden_layers", 29}},
       "max_window_layers is 28, as it is missing, expected 0 or at least 29"}};
  for (const auto& [fields, named] : changes) {
    copy("smollm");
    change("config.json", fields);
    expect_refused(named, "config.json");
  }
}

TEST_F(ModelFolder, RefusesTokenizersThatAreNotByteLevel) {
  const std::vector<std::pair<json, std::string>> changes = {
      {{{"model", {{"type", "Unigram"}}}}, "model.type is Unigram"},
      {{{"model", {{"byte_fallback", true}}}}, "byte_fallback is true"},
      {{{"model", {{"merges", {"a b c"}}}}}, "merges has \"a b c\""},
      {{{"model", {{"merges", std::vector<std::string>(500'001, "a b")}}}},
       "merges has 500001 pairs, expected at most"},
      {{{"model", {{"vocab", {{"a", -1}}}}}}, "vocab has -1"},
      {{{"normalizer", {{"type", "Lowercase"}}}}, "normalizer is Lowercase"},
      {{{"pre_tokenizer", {{"type", "Metaspace"}, {"pretokenizers", nullptr}}}}, "pre_tokenizer is Metaspace"},
      {{{"model", {{"vocab", {{"a", 9'999'999}}}}}}, "vocab has 9999999 for a"},
      {{{"model", {{"type", "\x1B[2J" + std::string(100'000, 'U')}}}}, "model.type is \\u001b[2JUUU"},
      {{{"normalizer", {{"type", "Sequence"}, {"normalizers", 5}}}}, "normalizers is missing, or is not a list"}};
  for (const auto& [fields, named] : changes) {
    copy("smollm");
    change("tokenizer.json", fields);
    expect_refused(named, "tokenizer.json");
  }
}

TEST_F(ModelFolder, NamesTheFileThatIsMissing) {
  expect_refused("does not exist", folder_.string());
  for (const std::string file : {"config.json", "tokenizer.json", "model-00002-of-00002.safetensors"}) {
    copy("llama");
    fs::remove(folder_ / file);
    expect_refused(file);
  }
  copy("llama");
  fs::remove(folder_ / "model.safetensors.index.json");
  expect_refused("neither model.safetensors nor model.safetensors.index.json");
}

TEST_F(ModelFolder, NamesTheFileThatIsDamaged) {
  for (const std::string file : {"config.json", "tokenizer.json", "model.safetensors.index.json"}) {
    copy("llama");
    put(folder_ / file, "{\"model_type\": ");
    expect_refused("is not a JSON object", file);
  }
  copy("llama");
  change("model.safetensors.index.json", {{"weight_map", {{"model.norm.weight", "../../etc/passwd"}}}});
  expect_refused("weight_map has \"../../etc/passwd\"");
  copy("smollm");
  fs::resize_file(folder_ / "model.safetensors", fs::file_size(folder_ / "model.safetensors") - 3);
  expect_refused("model.safetensors: file has");
  put(folder_ / "model.safetensors", "short");
  expect_refused("file has 5 bytes, expected at least 8");
}

constexpr const char* small_files[] = {"config.json", "generation_config.json", "tokenizer.json",
                                       "model.safetensors.index.json"};

TEST_F(ModelFolder, RefusesJsonThatWouldTakeAllStackOrMemory) {
  const auto repeated = [](int times, const std::string& text) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"{\"a\": " + std::string(100'000, '['), "too many levels of lists and objects, expected at most 64"},
      {repeated(100'000, "{\"a\": "), "too many levels"},
      {"{\"a\": [" + repeated(4'000'000, "[],") + "0]}", "values, expected at most 2500000"},
      {"{}" + std::string(1, '\0') + "garbage", "is not a JSON object: it has a zero byte"},
      {"{\"a\": \"" + std::string(1, '\xFF') + "\"}", "is not a JSON object"}};
  for (const char* file : small_files) {
    for (const auto& [text, named] : texts) {
      copy("llama");
      put(folder_ / file, text);
      expect_refused(named, file);
    }
    copy("llama");
    fs::resize_file(folder_ / file, 300'000'000);  // a hole
    expect_refused("JSON of 300000000 bytes, expected at most 40000000", file);
  }
  for (const auto& [text, named] : texts) {
    copy("llama");
    const auto size = static_cast<char>(text.size());
    const std::string length = {size, static_cast<char>(text.size() >> 8U), static_cast<char>(text.size() >> 16U),
                                static_cast<char>(text.size() >> 24U)};
    put(folder_ / "model-00001-of-00002.safetensors", length + std::string(4, '\0') + text);
    expect_refused(named, "model-00001-of-00002.safetensors: header");
  }
}

TEST_F(ModelFolder, RefusesWhatIsNoFile) {
  for (const std::string file : {"config.json", "generation_config.json", "tokenizer.json",
                                 "model.safetensors.index.json", "model-00002-of-00002.safetensors"}) {
    copy("llama");
    fs::remove(folder_ / file);
    ASSERT_EQ(mkfifo((folder_ / file).c_str(), 0600), 0);
    expect_refused("is not a regular file", file);
    fs::remove(folder_ / file);
    fs::create_directory(folder_ / file);
    expect_refused("is not a regular file", file);
    fs::remove_all(folder_);
  }
  for (const std::string file : {"config.json", "generation_config.json", "tokenizer.json", "model.safetensors",
                                 "model.safetensors.index.json"}) {
    copy("llama");
    fs::remove(folder_ / file);
    fs::create_symlink(file, folder_ / file);  // to itself
    expect_refused("cannot be read", file);
    fs::remove_all(folder_);
  }
  copy("gpt2");
  fs::remove(folder_ / "merges.txt");
  ASSERT_EQ(mkfifo((folder_ / "merges.txt").c_str(), 0600), 0);
  expect_refused("is not a regular file", "merges.txt");
  fs::remove(folder_ / "merges.txt");
  put(folder_ / "merges.txt", "#version\na b\nc\n");
  expect_refused("merges has \"c\"", "merges.txt");
  fs::resize_file(folder_ / "merges.txt", 300'000'000);  // zero bytes
  expect_refused("it has 300000000 bytes, expected at most 10000000", "merges.txt");
}

TEST_F(ModelFolder, RefusesANameThatCannotBePrinted) {
  const json entry = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}};
  for (const std::string& name : {std::string(100'000, 'w'), std::string("\x1B[2J"), std::string("\xE2\x80\xAE")}) {
    const std::string header = json({{name, entry}}).dump();
    copy("smollm");
    put(folder_ / "model.safetensors",
        std::string({static_cast<char>(header.size()), static_cast<char>(header.size() >> 8U),
                     static_cast<char>(header.size() >> 16U), '\0', '\0', '\0', '\0', '\0'}) +
            header + "abcd");
    expect_refused("header has the name \"", "model.safetensors");
  }
}

TEST_F(ModelFolder, RefusesWeightsThatAreNotFinite) {
  for (const std::string& number :
       {std::string("\xC0\x7F"), std::string("\x80\x7F"), std::string("\x80\xFF")}) {  // BF16
    copy("smollm");
    overwrite("model.safetensors", -2, number);
    expect_refused("has NaN or infinity, expected finite numbers", "model.safetensors: model.");
  }
}

TEST_F(ModelFolder, NamesAWeightThatDoesNotFit) {
  copy("smollm");
  change("config.json", {{"num_hidden_layers", 13}});
  expect_refused("model.layers.12.", "is not in the file");
  change("config.json", {{"num_hidden_layers", 11}});
  expect_refused("model.layers.11.", "the model has no such part");
  change("config.json", {{"num_hidden_layers", 12}, {"vocab_size", 7}});
  expect_refused("model.embed_tokens.weight is", "expected 7 x");
}

TEST(TextSplitter, SaysWhyATextCannotBeCut) {
  const TextSplitter endless({{"(a+)+$"}});  // tries every way to cut the word
  EXPECT_THAT([&] { endless(std::string(3'000, 'a') + "b"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("match limit exceeded")));
}

TEST(SmallModel, PredictsTextThatItDidNotLearnFrom) {
  Checkpoint checkpoint = load_language_model(fs::path(ATTN_ROOT) / "models/small");
  const std::string text =  // the end of Emma
      "The wedding was very much like other weddings, where the parties have no taste for finery or parade; and Mrs. "
      "Elton, from the particulars detailed by her husband, thought it all extremely shabby, and very inferior to her "
      "own.";
  const std::vector<arma::uword> ids = prompt_ids(checkpoint.tokenizer, text);
  EXPECT_EQ(checkpoint.tokenizer.decode(ids), text);
  const std::size_t predicted = text.size() - checkpoint.tokenizer.decode({ids.front()}).size();  // ASCII characters
  const double nats = mean_negative_log_likelihood(checkpoint.model, ids) * static_cast<double>(ids.size() - 1);
  const double trigram = 2.685;  // bits per character of the held-out text: models/small/README.md
  EXPECT_LT(nats / std::log(2.0) / static_cast<double>(predicted), trigram);
}

}  // namespace
}  // namespace attn
