#pragma once

#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/check_result.hpp"

namespace attn::judge {

/// Adds the place to checks that failed with a call stack: the innermost call in one of the learner's files that led to an
/// exception, a crash or an endless loop. None is added without debug information or addr2line.
/// The frames of all failures are taken out: they are addresses in this program.
void find_calls(std::vector<CheckResult>& checks, const lesson::Lesson& lesson);

}  // namespace attn::judge
