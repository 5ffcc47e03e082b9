#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::gate {

/// Everything that the course promises, in one go: configures and builds `preset`, runs its tests, and prints a table
/// of the lessons and CTest's own closing lines.
///
/// @return 0 when every promise holds, 1 when one is broken, 2 when the course could not be built at all.
int verify(const std::filesystem::path& root, const std::string& preset);

/// What verify() does, for these lessons alone: stubs, solutions, mistakes, golden files and chapters, and what is derived.
int verify_lessons(const std::vector<lesson::Lesson>& lessons, const std::string& preset);

/// Builds the mutants of these lessons, runs the checks on each, and writes down what they give (gate.hpp, record()).
/// @return 0 when that is done, 1 when not everything could be built.
int record_mistakes(const std::filesystem::path& root, const std::vector<lesson::Lesson>& lessons,
                    const std::string& preset);

/// Reads CTest's output: prints what failed, a table of these lessons, and the closing lines.
/// @return true when there was something to judge in every column, and all of it passed.
bool summarise(const std::vector<lesson::Lesson>& lessons, const std::string& ctest_output, std::ostream& out);

}  // namespace attn::gate
