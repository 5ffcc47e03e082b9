#pragma once

#include <armadillo>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/byte_level_bpe.hpp"
#include "attn/load_weights.hpp"
#include "attn/model_config.hpp"
#include "attn/model_folder.hpp"

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
/// which files have weights.
///
/// @throws std::invalid_argument naming the folder, the file or the field that is missing, wrong or not supported.
inline CheckpointFiles open_checkpoint(const std::filesystem::path& folder) {
  CheckpointFiles files;
  files.fields = read_config(folder);
  files.config = model_config(files.fields);
  files.tokenizer = read_tokenizer(folder);
  files.stop_tokens = read_stop_tokens(folder);
  files.weights = weight_files(folder);
  return files;
}

/// How many numbers a model has: its parameters. A tied head counts once.
inline arma::uword number_of_parameters(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const bool gpt2 = config.architecture == Architecture::gpt2;
  const arma::uword E = attention.embed_dim, F = config.hidden_dim, V = config.vocab_size;
  const arma::uword D = attention.head_dim == 0 ? E / attention.num_heads : attention.head_dim;
  const arma::uword queries = attention.num_heads * D, keys = attention.num_kv_heads * D;
  const arma::uword biases = attention.bias ? queries + 2 * keys + E : 0;
  const arma::uword norms = (gpt2 ? 4 * E : 2 * E) + (attention.qk_norm ? 2 * D : 0);
  const arma::uword feed_forward = gpt2 ? 2 * E * F + F + E : 3 * E * F;
  const arma::uword block = 2 * E * queries + 2 * E * keys + biases + norms + feed_forward;
  return V * E * (config.tied_head ? 1 : 2) + config.max_position * E + config.num_layers * block + (gpt2 ? 2 * E : E);
}

/// How many bytes a model takes in memory: 8 for each parameter. While it is loaded, its largest matrix is there twice.
inline arma::uword bytes_in_memory(const LanguageModelConfig& config) { return 8 * number_of_parameters(config); }

/// How many bytes of cache each token takes: keys and values of all layers.
inline arma::uword cache_bytes_per_token(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const arma::uword D = attention.head_dim == 0 ? attention.embed_dim / attention.num_heads : attention.head_dim;
  return 8 * 2 * config.num_layers * attention.num_kv_heads * D;
}

/// Whether a tensor is no weight, or one that is there already: the causal mask and its constant in old files of GPT-2, speeds
/// of RoPE, and a head that is tied.
inline bool may_stay_unused(const std::string& name, const LanguageModelConfig& config) {
  const auto ends_with = [&name](const std::string& end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  if (config.architecture == Architecture::gpt2 && (ends_with(".attn.bias") || ends_with(".attn.masked_bias"))) {
    return true;
  }
  return ends_with(".rotary_emb.inv_freq") || (config.tied_head && name == "lm_head.weight");
}

/// Sets all weights of a model, and sees to it that no tensor is left over: it would be a part that the model lacks.
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
