#pragma once

#include "attn/config_fields.hpp"
#include "attn/language_model.hpp"

namespace attn {

/// The sizes of the model that a config.json describes, with these defaults where a field is empty:
///
///   num_key_value_heads   num_attention_heads: each query head has its own key/value head
///   head_dim              128 for qwen3; otherwise hidden_size / num_attention_heads
///   intermediate_size     4 · hidden_size for gpt2; the others have it
///   rms_norm_eps          1e-5 for gpt2, 1e-6 for the others
///   rope_theta            10000
///   attention_bias        false; but gpt2 and qwen2 always have biases
///   tie_word_embeddings   true for gpt2, false for the others
///
/// qwen3 has QK-norm. rope_speeds are those of rope_theta and rope_scaling; for gpt2 they are empty. Only gpt2 has a
/// max_position; by default it is 1024. In the files RoPE's pairs are half_split.
///
/// @throws std::invalid_argument naming intermediate_size, when it is empty and the model is not gpt2.
LanguageModelConfig model_config(const ConfigFields& fields);

}  // namespace attn
