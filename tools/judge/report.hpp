#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "judge/check_result.hpp"
#include "lesson/lesson.hpp"

namespace attn::judge {

/// A failing check in full: what was wrong, where to look, and the command for a hint.
/// @param told_elsewhere the line that names the mistake, when another check found it out
std::string describe(const CheckResult& result, const lesson::Lesson& lesson, const std::string& told_elsewhere = "");

/// Why a check failed, on one line: "threw: out of ideas".
std::string short_reason(const CheckResult& result);

/// The first failing check in full, the others in a line each, and how many passed.
std::string describe_all(const std::vector<CheckResult>& results, const lesson::Lesson& lesson);

/// The same for programs: lesson, passed, total, and for each check its name, state and text.
nlohmann::json to_json(const std::vector<CheckResult>& results, const lesson::Lesson& lesson);

}  // namespace attn::judge
