#pragma once

#include "attn/language_model.hpp"
#include "attn/tensor_files.hpp"

namespace attn {

/// Sets all weights of a model from the tensors of GPT-2. With E, F, V and P of model.config():
///
///   wte.weight           V x E       the token embedding, which is the head, too
///   wpe.weight           P x E       the position embedding
///   h.0.ln_1             E           .weight and .bias: the norm before attention
///   h.0.attn.c_attn      E x 3E      .weight and .bias (3E): queries, keys, values side by side
///   h.0.attn.c_proj      E x E       .weight and .bias (E)
///   h.0.ln_2             E           the norm before the feed-forward network
///   h.0.mlp.c_fc         E x F       .weight and .bias (F)
///   h.0.mlp.c_proj       F x E       .weight and .bias (E)
///   ln_f                 E           .weight and .bias: the last norm
///
/// h.1, h.2, ... are the next blocks. All names may begin with "transformer.". The weights of GPT-2's Conv1D are
/// (in x out). An untied model has lm_head.weight (V x E), which is never prefixed.
///
/// @param model   of Architecture::gpt2
/// @throws std::invalid_argument naming a tensor, as TensorFiles.
void load_gpt2(LanguageModel& model, TensorFiles& tensors);

/// Sets all weights of a model from the tensors of Llama, Mistral, Qwen 2, Qwen 3 or SmolLM. With E, F, V, H, G and D:
///
///   model.embed_tokens.weight                           V x E
///   model.layers.0.input_layernorm.weight               E
///   model.layers.0.self_attn.q_proj.weight              H·D x E    and .bias (H·D), with attention.bias
///   model.layers.0.self_attn.k_proj.weight, v_proj      G·D x E    likewise
///   model.layers.0.self_attn.o_proj.weight              E x H·D    likewise; zeros where the file has none: Qwen 2
///   model.layers.0.self_attn.q_norm.weight, k_norm      D          with qk_norm
///   model.layers.0.post_attention_layernorm.weight      E          the norm before the feed-forward network
///   model.layers.0.mlp.gate_proj.weight, up_proj        F x E
///   model.layers.0.mlp.down_proj.weight                 E x F
///   model.norm.weight                                   E          the last norm
///   lm_head.weight                                      V x E      when the head is not tied
///
/// All weights are nn.Linear's, (out x in).
///
/// @param model   of Architecture::llama
/// @throws std::invalid_argument naming a tensor, as TensorFiles.
void load_llama(LanguageModel& model, TensorFiles& tensors);

}  // namespace attn
