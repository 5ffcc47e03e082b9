#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/language_model.hpp"
#include "attn/tensor_files.hpp"

/// Which tensors the files of a model must have. Given: no lesson asks for it.
namespace attn {

/// Whether a tensor is no weight, or one that is there already: the causal mask and its constant in old files of GPT-2,
/// speeds of RoPE, and a head that is tied.
bool may_stay_unused(const std::string& name, const LanguageModelConfig& config);

/// Checks all tensors of a model by the headers alone, before any number is read: that each is there, with the shape and
/// a type that load_gpt2 and load_llama read, and that none is left over: it would be a part that the model lacks.
///
/// @throws std::invalid_argument naming a tensor that is missing, of another shape or type, or left over.
void require_tensors(const LanguageModelConfig& config, const TensorFiles& tensors);

}  // namespace attn
