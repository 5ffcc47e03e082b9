#pragma once

#include <chrono>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "gate/judge.hpp"
#include "lesson/lesson.hpp"

namespace attn::gate {

/// Everything that the course promises, in one go: configures and builds it, judges every lesson, runs the tests of
/// the tools, and prints a table of the lessons and CTest's own closing lines. What nothing has changed for is not judged
/// again (remembered.hpp).
///
/// @return 0 when every promise holds, 1 when one is broken, 2 when the course could not be built at all.
int verify(const std::filesystem::path& root);

/// What verify() does, for these lessons alone, and what is derived from them.
int verify_lessons(const std::vector<lesson::Lesson>& lessons);

/// Builds the mutants of these lessons, runs the checks on each, and writes down what they give (judge.hpp, record()).
/// @return 0 when that is done, 1 when not everything could be built, 2 when the course could not be configured.
int record_mistakes(const std::filesystem::path& root, const std::vector<lesson::Lesson>& lessons);

/// Judges a lesson, or recalls the judgement where nothing that it depends on has changed.
/// @param build the folder with its programs; what is judged is remembered there
Judgement judge_lesson(const lesson::Lesson& lesson, const std::filesystem::path& build);

/// Runs a test of the course, or recalls that it passed where nothing that it depends on has changed.
///
/// @param name       of the test, for what is remembered below `build`
/// @param command    a program and its arguments
/// @param repository whether it may read the repository and the programs in `build`, or nothing but itself
/// @return the exit code
int run_test(const std::filesystem::path& root, const std::filesystem::path& build, const std::string& name,
             const std::vector<std::string>& command, bool repository);

/// Prints the problems of all lessons, and a table.
/// @return whether there was something to judge in every column, and all of it is as it should be.
bool print_judgements(const std::vector<lesson::Lesson>& lessons, const std::map<std::string, Judgement>& judgements,
                      std::ostream& out);

/// "building: 120 of 480, about 2 min left".
std::string progress_text(const std::string& what, int done, int all, std::chrono::duration<double> passed);

}  // namespace attn::gate
