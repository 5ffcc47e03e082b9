#pragma once

#include <string>

#include "lesson/line.hpp"

namespace attn::learn {

/// A linker's errors, at most three, each with what to do about it. Empty when the output has none.
Lines link_errors_explained(const std::string& output);

/// What to do about a name that the linker found twice, or not at all; empty when it complains about neither.
std::string advice_on_linking(const std::string& output);

}  // namespace attn::learn
