#pragma once

#include <armadillo>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/byte_level_bpe.hpp"
#include "attn/load_weights.hpp"
#include "attn/model_config.hpp"
#include "attn/model_folder.hpp"
#include "attn/model_tensors.hpp"

/// A model that others trained, from a folder to text. Given: it calls what the tasks of lesson 23 ask for.
///
///   const CheckpointFiles files = open_checkpoint("models/small");     // reads no weights
///   if (bytes_in_memory(files.config) > available) ...
///   Checkpoint checkpoint = load_checkpoint(files);                    // or load_language_model("models/small")
///   generate(checkpoint.model, prompt_ids(checkpoint.tokenizer, "It is"), {..., checkpoint.stop_tokens});
namespace attn {

/// All of a model but its weights, and where these are.
struct CheckpointFiles {
  ConfigFields fields;
  LanguageModelConfig config;
  TokenizerData tokenizer;
  std::vector<arma::uword> stop_tokens;  ///< ids that end a text; may be empty
  std::vector<std::filesystem::path> weights;
};

/// A model that is ready to run.
struct Checkpoint {
  LanguageModel model;
  ByteLevelBPE tokenizer;
  std::vector<arma::uword> stop_tokens;
};

/// Reads the small files of a folder, in milliseconds up to a second: config.json, generation_config.json, the tokenizer,
/// which files have weights, and what their headers say.
///
/// @throws std::invalid_argument naming the folder, the file, the field or the tensor that is missing, wrong or not
///         supported.
inline CheckpointFiles open_checkpoint(const std::filesystem::path& folder) {
  CheckpointFiles files;
  files.fields = read_config(folder);
  try {
    files.config = model_config(files.fields);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("file " + (folder / "config.json").string() + ": " + error.what());
  }
  files.tokenizer = read_tokenizer(folder);
  files.stop_tokens = read_stop_tokens(folder);
  files.weights = weight_files(folder);
  const TensorFiles tensors(files.weights);
  try {
    require_tensors(files.config, tensors);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("folder " + folder.string() +
                                ": its weights do not fit its config.json: " + error.what());
  }
  return files;
}

/// How many numbers a model has: its parameters. A tied head counts once.
///
/// @throws std::invalid_argument naming config, when there are 2^53 or more.
inline arma::uword number_of_parameters(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const bool gpt2 = config.architecture == Architecture::gpt2;
  const auto real = [](arma::uword size) {
    return static_cast<double>(size);
  };  // exact below 2^53, and does not wrap around
  const double E = real(attention.embed_dim), F = real(config.hidden_dim), V = real(config.vocab_size);
  const double D = attention.head_dim == 0 ? real(attention.embed_dim / attention.num_heads) : real(attention.head_dim);
  const double queries = real(attention.num_heads) * D, keys = real(attention.num_kv_heads) * D;
  const double biases = attention.bias ? queries + 2 * keys + E : 0;
  const double norms = (gpt2 ? 4 * E : 2 * E) + (attention.qk_norm ? 2 * D : 0);
  const double feed_forward = gpt2 ? 2 * E * F + F + E : 3 * E * F;
  const double block = 2 * E * queries + 2 * E * keys + biases + norms + feed_forward;
  const double all = V * E * (config.tied_head ? 1 : 2) + real(config.max_position) * E +
                     real(config.num_layers) * block + (gpt2 ? 2 * E : E);
  if (all < 9007199254740992.0) return static_cast<arma::uword>(all);
  throw std::invalid_argument("config has " + std::to_string(all) + " parameters, expected fewer than 2^53");
}

/// How many bytes a model takes in memory: 8 for each parameter. While it is loaded, its largest matrix is there twice.
inline arma::uword bytes_in_memory(const LanguageModelConfig& config) { return 8 * number_of_parameters(config); }

/// How many bytes of cache each token takes: keys and values of all layers.
inline arma::uword cache_bytes_per_token(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const arma::uword D = attention.head_dim == 0 ? attention.embed_dim / attention.num_heads : attention.head_dim;
  return product_of(
      {{"16", 16}, {"num_layers", config.num_layers}, {"num_kv_heads", attention.num_kv_heads}, {"head_dim", D}});
}

/// Sets all weights of a model, and ensures that no tensor is left over: it would be a part that the model lacks.
///
/// @throws std::invalid_argument naming a tensor that is missing, of another shape or type, or left over.
inline void load_weights(LanguageModel& model, TensorFiles& tensors) {
  if (model.config().architecture == Architecture::gpt2) {
    load_gpt2(model, tensors);
  } else {
    load_llama(model, tensors);
  }
  for (const std::string& name : tensors.unused()) {
    if (!may_stay_unused(name, model.config())) {
      throw std::invalid_argument(name + " is in the file, but the model has no such part");
    }
  }
}

/// Makes the model and reads its weights: seconds for each billion of parameters.
///
/// @throws std::invalid_argument naming the file or the tensor that is missing, wrong or left over.
inline Checkpoint load_checkpoint(const CheckpointFiles& files) {
  TensorFiles tensors(files.weights);
  LanguageModel model(files.config);
  load_weights(model, tensors);
  return {std::move(model), ByteLevelBPE(files.tokenizer), files.stop_tokens};
}

/// open_checkpoint and load_checkpoint.
inline Checkpoint load_language_model(const std::filesystem::path& folder) {
  return load_checkpoint(open_checkpoint(folder));
}

/// The ids of a prompt: what every text begins with, and the text.
inline std::vector<arma::uword> prompt_ids(const ByteLevelBPE& tokenizer, const std::string& text,
                                           Specials specials = Specials::recognized) {
  std::vector<arma::uword> ids = tokenizer.data().begin_tokens;
  const std::vector<arma::uword> rest = tokenizer.encode(text, specials);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

}  // namespace attn
