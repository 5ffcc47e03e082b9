#include "model_export.hpp"

#include <nlohmann/json.hpp>
#include <variant>

#include "write_tensors.hpp"

namespace attn::training {

namespace {

using Json = nlohmann::ordered_json;
using Tensors = std::vector<WrittenTensor>;

/// A weight of nn.Linear: (out x in).
void add_linear(Tensors& tensors, const std::string& name, const Linear& layer) {
  tensors.push_back(float_matrix(name + ".weight", layer.weight.t()));
}

/// A weight of GPT-2's Conv1D: (in x out).
void add_conv1d(Tensors& tensors, const std::string& name, const arma::mat& weight, const arma::rowvec& bias) {
  tensors.push_back(float_matrix(name + ".weight", weight));
  tensors.push_back(float_row(name + ".bias", bias));
}

void add_layer_norm(Tensors& tensors, const std::string& name, const AnyNorm& norm) {
  tensors.push_back(float_row(name + ".weight", std::get<LayerNorm>(norm).weight));
  tensors.push_back(float_row(name + ".bias", std::get<LayerNorm>(norm).bias));
}

void add_rms_norm(Tensors& tensors, const std::string& name, const AnyNorm& norm) {
  tensors.push_back(float_row(name + ".weight", std::get<RMSNorm>(norm).weight));
}

Tensors gpt2_tensors(const LanguageModel& model) {
  Tensors tensors = {float_matrix("wte.weight", model.token_embedding.weight),
                     float_matrix("wpe.weight", model.position_embedding)};
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const DecoderBlock& block = model.blocks[n];
    const DecoderAttention& attention = block.attention;
    const auto& network = std::get<FeedForward>(block.feed_forward);
    const std::string name = "h." + std::to_string(n) + ".";
    add_layer_norm(tensors, name + "ln_1", block.attention_norm);
    const auto joined = [&](auto part) {
      return arma::join_rows(part(attention.query_proj), part(attention.key_proj), part(attention.value_proj));
    };
    add_conv1d(tensors, name + "attn.c_attn", joined([](const Linear& layer) { return layer.weight; }),
               joined([](const Linear& layer) { return layer.bias; }));
    add_conv1d(tensors, name + "attn.c_proj", attention.output_proj.weight, attention.output_proj.bias);
    add_layer_norm(tensors, name + "ln_2", block.feed_forward_norm);
    add_conv1d(tensors, name + "mlp.c_fc", network.up_proj.weight, network.up_proj.bias);
    add_conv1d(tensors, name + "mlp.c_proj", network.down_proj.weight, network.down_proj.bias);
  }
  add_layer_norm(tensors, "ln_f", model.final_norm);
  return tensors;
}

Tensors llama_tensors(const LanguageModel& model) {
  Tensors tensors = {float_matrix("model.embed_tokens.weight", model.token_embedding.weight)};
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const DecoderBlock& block = model.blocks[n];
    const auto& network = std::get<SwiGLU>(block.feed_forward);
    const std::string name = "model.layers." + std::to_string(n) + ".";
    add_rms_norm(tensors, name + "input_layernorm", block.attention_norm);
    add_linear(tensors, name + "self_attn.q_proj", block.attention.query_proj);
    add_linear(tensors, name + "self_attn.k_proj", block.attention.key_proj);
    add_linear(tensors, name + "self_attn.v_proj", block.attention.value_proj);
    add_linear(tensors, name + "self_attn.o_proj", block.attention.output_proj);
    add_rms_norm(tensors, name + "post_attention_layernorm", block.feed_forward_norm);
    add_linear(tensors, name + "mlp.gate_proj", network.gate_proj);
    add_linear(tensors, name + "mlp.up_proj", network.up_proj);
    add_linear(tensors, name + "mlp.down_proj", network.down_proj);
  }
  add_rms_norm(tensors, "model.norm", model.final_norm);
  return tensors;
}

}  // namespace

std::string config_json(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  Json json;
  if (config.architecture == Architecture::gpt2) {
    json = {{"architectures", {"GPT2LMHeadModel"}}, {"model_type", "gpt2"},
            {"vocab_size", config.vocab_size},      {"n_embd", attention.embed_dim},
            {"n_layer", config.num_layers},         {"n_head", attention.num_heads},
            {"n_inner", config.hidden_dim},         {"n_positions", config.max_position},
            {"activation_function", "gelu_new"},    {"layer_norm_epsilon", config.norm_epsilon}};
  } else {
    json = {{"architectures", {"MistralForCausalLM"}},
            {"model_type", "mistral"},
            {"vocab_size", config.vocab_size},
            {"hidden_size", attention.embed_dim},
            {"intermediate_size", config.hidden_dim},
            {"num_hidden_layers", config.num_layers},
            {"num_attention_heads", attention.num_heads},
            {"num_key_value_heads", attention.num_kv_heads},
            {"head_dim", attention.head_dim},
            {"hidden_act", "silu"},
            {"max_position_embeddings", 32768},
            {"sliding_window", attention.window},
            {"rms_norm_eps", config.norm_epsilon},
            {"rope_theta", 10000.0}};
  }
  json["tie_word_embeddings"] = config.tied_head;
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

std::string exported_weights(const LanguageModel& model) {
  const bool gpt2 = model.config().architecture == Architecture::gpt2;
  return safetensors_file(gpt2 ? gpt2_tensors(model) : llama_tensors(model), {{"format", "pt"}});
}

}  // namespace attn::training
