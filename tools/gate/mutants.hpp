#pragma once

#include <string>

#include "lesson/lesson.hpp"

/// Solutions with catalogued mistakes in them, as texts to compile.
namespace attn::gate {

/// The environment variable that tells a program with many mistakes which of them to make.
inline constexpr char chosen_mistake[] = "ATTN_MISTAKE";

/// The solution with one mistake made, as the text of its file.
/// @throws std::runtime_error when there is no such mistake, or `find` does not occur exactly once.
std::string mutate(const lesson::Lesson& lesson, const std::string& id);

/// A file of the solution with all its mistakes in it, but those that stand `alone`: a function that is edited gets one
/// body for each of its mistakes, and `ATTN_MISTAKE=id` chooses. Without it, nothing is wrong. So many mistakes are
/// compiled and linked in the time of one.
/// @throws std::runtime_error as mutate() does, and when an edit is not within the body of one function.
std::string mutate_all(const lesson::Lesson& lesson, const std::string& file);

}  // namespace attn::gate
