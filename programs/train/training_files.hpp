#pragma once

#include <armadillo>
#include <string>
#include <string_view>

#include "train/training.hpp"

namespace attn::training {

/// The model's config.json, as Hugging Face's transformers has it: mistral, which is Llama with a window, or gpt2. No
/// token ends a text.
std::string config_json(const LanguageModelConfig& config);

/// All weights as model.safetensors, in single precision, with Hugging Face's names and orientation: those that
/// load_weights reads.
std::string exported_weights(const LanguageModel& model);

/// A training as a safetensors file, all numbers as they are in memory:
///
///   model.NAME, m.NAME, v.NAME   F64, each parameter of parameters_of and what AdamW remembers of it, in the order of
///                                the memory: column by column
///   losses                       F64, of each step that was made
///   __metadata__                 format, version, recipe (JSON), examples (the generator's state), and checksum, which
///                                is of all of these and of all numbers
///
/// The same training gives the same bytes.
std::string saved_training(Training& training);

/// The training as it was saved.
///
/// @param file all bytes
/// @throws std::invalid_argument saying why it cannot be resumed: read_header's reasons, another format or
///         version, a checksum that does not fit, tensors that are missing or left over or of another size, numbers
///         that are not finite.
Training read_training(std::string_view file);

}  // namespace attn::training
