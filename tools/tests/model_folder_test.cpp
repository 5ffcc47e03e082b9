// Folders with models that users download: what is not supported, missing or damaged is refused, by name, before any weight
// is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "attn/checkpoint.hpp"
#include "attn/generation.hpp"
#include "scratch.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
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

  /// The folder, as it is now, is refused with a message that names all of these.
  void expect_refused(const std::string& what, const std::string& also = "") const {
    EXPECT_THAT([this] { load_language_model(folder_); },
                ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr(what), HasSubstr(also))));
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
      {{{"layer_types", {"full_attention", "sliding_attention"}}}, "layer_types is"}};
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
      {{{"model", {{"vocab", {{"a", -1}}}}}}, "vocab has -1"},
      {{{"normalizer", {{"type", "Lowercase"}}}}, "normalizer is Lowercase"},
      {{{"pre_tokenizer", {{"type", "Metaspace"}, {"pretokenizers", nullptr}}}}, "pre_tokenizer is Metaspace"}};
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

TEST_F(ModelFolder, NamesAWeightThatDoesNotFit) {
  copy("smollm");
  change("config.json", {{"num_hidden_layers", 13}});
  expect_refused("model.layers.12.", "is not in the file");
  change("config.json", {{"num_hidden_layers", 11}});
  expect_refused("model.layers.11.", "the model has no such part");
  change("config.json", {{"num_hidden_layers", 12}, {"vocab_size", 7}});
  expect_refused("model.embed_tokens.weight is", "expected 7 x");
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
