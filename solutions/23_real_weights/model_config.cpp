#include "attn/model_config.hpp"

#include <stdexcept>

namespace attn {

namespace {

DecoderAttentionConfig attention_config(const ConfigFields& fields) {
  const bool gpt2 = fields.model_type == "gpt2", qwen3 = fields.model_type == "qwen3";
  DecoderAttentionConfig attention;
  attention.embed_dim = fields.hidden_size;
  attention.num_heads = fields.num_attention_heads;
  attention.num_kv_heads = fields.num_key_value_heads.value_or(fields.num_attention_heads);
  attention.head_dim = fields.head_dim.value_or(qwen3 ? 128 : fields.hidden_size / fields.num_attention_heads);
  attention.pairing = RopePairing::half_split;
  if (!gpt2) {
    attention.rope_speeds = rope_speeds(attention.head_dim, fields.rope_theta.value_or(10000), fields.rope_scaling);
  }
  attention.window = fields.sliding_window;
  attention.qk_norm = qwen3;
  attention.bias = gpt2 || fields.model_type == "qwen2" || fields.attention_bias.value_or(false);
  return attention;
}

}  // namespace

LanguageModelConfig model_config(const ConfigFields& fields) {
  const bool gpt2 = fields.model_type == "gpt2";
  if (!gpt2 && !fields.intermediate_size) {
    throw std::invalid_argument("intermediate_size is empty, expected a number for " + fields.model_type);
  }
  LanguageModelConfig config;
  config.architecture = gpt2 ? Architecture::gpt2 : Architecture::llama;
  config.vocab_size = fields.vocab_size;
  config.num_layers = fields.num_hidden_layers;
  config.hidden_dim = fields.intermediate_size.value_or(4 * fields.hidden_size);
  config.attention = attention_config(fields);
  config.norm_epsilon = fields.rms_norm_eps.value_or(gpt2 ? 1e-5 : 1e-6);
  config.tied_head = fields.tie_word_embeddings.value_or(gpt2);
  if (gpt2) config.max_position = fields.max_position_embeddings.value_or(1024);
  return config;
}

}  // namespace attn
