#pragma once

#include <optional>
#include <string>

#include "learn/commands/curriculum.hpp"

namespace attn::learn {

/// An interview: a lesson's stub on a blank page in a scratch folder, a clock, and checks only when they are asked for.
/// What stood in the scratch folder before is kept in a backup; the lesson's own files are never touched.
///
/// @param name a lesson; empty for the one that is due: a blank-page lesson not passed in an interview yet, else the
/// one
///             whose last interview is longest ago
/// @param minutes to be given, parts of one too; without it, what the lesson's interview.md says
/// @return the exit code: passed, failed (given up or not whole), or not judged (no terminal)
int interview(Course& course, const std::string& name, std::optional<double> minutes, bool plain);

}  // namespace attn::learn
