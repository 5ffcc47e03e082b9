#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::tests {

/// The folder of a built copy of the course, for tests that play a learner: its files are put back to what they are in
/// the course, and there is no progress. Every such test begins with this; CMake's on_copy() lets one run at a time.
/// @throws std::runtime_error when the copy cannot be put back.
std::filesystem::path fresh_course_copy();

/// The command line that runs the tool on the copy: `tool_on_copy({"check", "01"})`.
std::vector<std::string> tool_on_copy(const std::vector<std::string>& arguments);

/// The solution's file with one of the lesson's catalogued mistakes in it.
/// @throws std::invalid_argument when there is no such mistake.
std::string with_mistake(const lesson::Lesson& lesson, const std::string& id);

}  // namespace attn::tests
