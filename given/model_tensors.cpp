#include "attn/model_tensors.hpp"

#include <set>
#include <stdexcept>

namespace attn {

namespace {

/// Requires tensors, and notes their names.
class Requirements {
 public:
  explicit Requirements(const TensorFiles& tensors) : tensors_(tensors) {}

  void add(const std::string& name, const std::vector<arma::uword>& shape) {
    tensors_.require(name, shape);
    names_.insert(name);
  }
  void add_if_there(const std::string& name, const std::vector<arma::uword>& shape) {
    if (tensors_.has(name)) add(name, shape);
  }
  bool has(const std::string& name) const { return names_.count(name) != 0; }

 private:
  const TensorFiles& tensors_;
  std::set<std::string> names_;
};

void require_gpt2(const LanguageModelConfig& config, const TensorFiles& tensors, Requirements& required) {
  const arma::uword E = config.attention.embed_dim, F = config.hidden_dim;
  const std::string prefix = tensors.has("transformer.wte.weight") ? "transformer." : "";
  const auto add_layer = [&](const std::string& name, const std::vector<arma::uword>& shape) {
    required.add(prefix + name + ".weight", shape);
    required.add(prefix + name + ".bias", {shape.back()});
  };
  required.add(prefix + "wte.weight", {config.vocab_size, E});
  required.add(prefix + "wpe.weight", {config.max_position, E});
  for (arma::uword n = 0; n < config.num_layers; ++n) {
    const std::string block = "h." + std::to_string(n);
    add_layer(block + ".ln_1", {E});
    add_layer(block + ".attn.c_attn", {E, 3 * E});
    add_layer(block + ".attn.c_proj", {E, E});
    add_layer(block + ".ln_2", {E});
    add_layer(block + ".mlp.c_fc", {E, F});
    add_layer(block + ".mlp.c_proj", {F, E});
  }
  add_layer("ln_f", {E});
}

void require_llama(const LanguageModelConfig& config, Requirements& required) {
  const DecoderAttentionConfig& attention = config.attention;
  const arma::uword E = attention.embed_dim, F = config.hidden_dim;
  const arma::uword D = attention.head_dim == 0 ? E / attention.num_heads : attention.head_dim;
  const arma::uword queries = attention.num_heads * D, keys = attention.num_kv_heads * D;
  required.add("model.embed_tokens.weight", {config.vocab_size, E});
  for (arma::uword n = 0; n < config.num_layers; ++n) {
    const std::string block = "model.layers." + std::to_string(n) + ".";
    const std::string self = block + "self_attn.", mlp = block + "mlp.";
    required.add(block + "input_layernorm.weight", {E});
    required.add(self + "q_proj.weight", {queries, E});
    required.add(self + "k_proj.weight", {keys, E});
    required.add(self + "v_proj.weight", {keys, E});
    required.add(self + "o_proj.weight", {E, queries});
    if (attention.bias) {
      required.add(self + "q_proj.bias", {queries});
      required.add(self + "k_proj.bias", {keys});
      required.add(self + "v_proj.bias", {keys});
      required.add_if_there(self + "o_proj.bias", {E});
    }
    if (attention.qk_norm) {
      required.add(self + "q_norm.weight", {D});
      required.add(self + "k_norm.weight", {D});
    }
    required.add(block + "post_attention_layernorm.weight", {E});
    required.add(mlp + "gate_proj.weight", {F, E});
    required.add(mlp + "up_proj.weight", {F, E});
    required.add(mlp + "down_proj.weight", {E, F});
  }
  required.add("model.norm.weight", {E});
}

}  // namespace

bool may_stay_unused(const std::string& name, const LanguageModelConfig& config) {
  const auto ends_with = [&name](const std::string& end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  if (config.architecture == Architecture::gpt2 && (ends_with(".attn.bias") || ends_with(".attn.masked_bias"))) {
    return true;
  }
  return ends_with(".rotary_emb.inv_freq") || (config.tied_head && name == "lm_head.weight");
}

void require_tensors(const LanguageModelConfig& config, const TensorFiles& tensors) {
  Requirements required(tensors);
  if (config.architecture == Architecture::gpt2) {
    require_gpt2(config, tensors, required);
  } else {
    require_llama(config, required);
  }
  if (!config.tied_head) required.add("lm_head.weight", {config.vocab_size, config.attention.embed_dim});
  for (const std::string& name : tensors.names()) {
    if (required.has(name) || may_stay_unused(name, config)) continue;
    throw std::invalid_argument(name + " is in the file, but the model has no such part");
  }
}

}  // namespace attn
