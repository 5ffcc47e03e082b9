#pragma once

#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::learn {

/// The learner's editor ($VISUAL, else $EDITOR, with its arguments, else a usual one) on the files of a lesson; empty
/// when there is none.
std::vector<std::string> editor_command(const lesson::Lesson& lesson);

}  // namespace attn::learn
