#pragma once

#include <filesystem>

#include "recipe.hpp"

namespace attn::training {

/// What a folder's training is in.
inline constexpr const char* training_file = "training.safetensors";

/// models/trained, in the current folder: where trainings are kept.
std::filesystem::path trainings();

/// models/trained and the task's name, or that of the text without its ending.
std::filesystem::path usual_folder(const Recipe& recipe);

/// The folder in models/trained whose training was saved last.
/// @throws std::invalid_argument when there is none.
std::filesystem::path newest_training();

}  // namespace attn::training
