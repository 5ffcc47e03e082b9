#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "lesson/lesson.hpp"

/// Mistakes that the catalogue lacks: one operation each on the solution, such as a factor left out. tools/gate/operations.py makes
/// the edits and compiles them. What they give is recorded here, in tests/NN_name/operations.json. Where no catalogued mistake
/// explains what a learner's file gives, it is looked up there (judge::name_operations).
namespace attn::gate {

/// Runs the checks with each edit and records those that are rejected and not given the name of a catalogued mistake.
/// Operations that give the same are recorded as one, with what all of them say.
/// @param made a course's folder with tests/NN_name/mistakes.json, the edits, and mutants_NN; survivors.txt is written there:
///             the edits that no check rejects
/// @param out  gets a line with how many there are of what
/// @throws std::runtime_error when the program cannot be run
void record_operations(const lesson::Lesson& lesson, const std::filesystem::path& made, std::ostream& out);

/// A digest of what the recordings depend on: solution, checks and golden values, without comments.
std::string stamp_of_operations(const lesson::Lesson& lesson);

}  // namespace attn::gate
