#pragma once

#include <armadillo>
#include <filesystem>
#include <optional>
#include <string>

#include "attn/positions.hpp"

/// What the config.json of a model says. Given: no lesson asks for it.
namespace attn {

/// The fields of config.json, with the names that they have in Hugging Face's transformers. GPT-2's own names are already
/// translated: n_embd is hidden_size, n_layer num_hidden_layers, n_head num_attention_heads, n_positions (or n_ctx)
/// max_position_embeddings, n_inner intermediate_size, layer_norm_epsilon rms_norm_eps. Empty: not in the file, or null.
struct ConfigFields {
  std::string model_type;  ///< "gpt2", "llama", "mistral", "qwen2" or "qwen3"
  arma::uword vocab_size = 0;
  arma::uword hidden_size = 0;
  arma::uword num_hidden_layers = 0;
  arma::uword num_attention_heads = 0;
  std::optional<arma::uword> num_key_value_heads;
  std::optional<arma::uword> head_dim;
  std::optional<arma::uword> intermediate_size;
  std::optional<arma::uword> max_position_embeddings;
  std::optional<double> rms_norm_eps;
  std::optional<double> rope_theta;
  std::optional<bool> attention_bias;
  std::optional<bool> tie_word_embeddings;
  arma::uword sliding_window = 0;  ///< 0: none; also where use_sliding_window is false
  RopeScaling rope_scaling;        ///< of rope_scaling or rope_parameters
};

/// @throws std::invalid_argument naming the file or the field, and what is wrong with it or not supported: another
///         model_type, another activation, quantization_config, mlp_bias, rope_type other than default and llama3, layers
///         that differ in their attention.
ConfigFields read_config(const std::filesystem::path& folder);

}  // namespace attn
