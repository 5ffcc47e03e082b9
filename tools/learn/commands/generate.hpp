#pragma once

#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"

namespace attn::learn {

/// The map of ./learn demo 10 --trained: of one head of models/small, by the program of ./learn generate.
/// @param words at most a sentence, and options of ./learn generate
/// @throws std::invalid_argument when the lesson is another one
int trained_demo(Course& course, const std::string& name, const std::vector<std::string>& words, bool reference);

}  // namespace attn::learn
