#pragma once

#include <string>

#include "recipe.hpp"

namespace attn::training {

/// The model's config.json, as Hugging Face's transformers has it: mistral, which is Llama with a window, or gpt2. No
/// token ends a text.
std::string config_json(const LanguageModelConfig& config);

/// All weights as model.safetensors, in single precision, with Hugging Face's names and orientation: those that
/// load_weights reads.
std::string exported_weights(const LanguageModel& model);

}  // namespace attn::training
