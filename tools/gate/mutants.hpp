#pragma once

#include <map>
#include <set>
#include <string>

#include "lesson/lesson.hpp"

/// Solutions with catalogued mistakes in them, as texts to compile.
namespace attn::gate {

/// A file of the solution with all its mistakes in it. A region that is edited is there once for each of its mistakes,
/// and the environment variable `ATTN_MISTAKE=id` chooses. Without it, nothing is wrong. So all mistakes are compiled and
/// linked in the time of one. A program that defines `bool mistake_region_reached[]` learns there which regions have run.
///
/// An edit may change any number of functions' bodies, member initialisers (the same members in the same order) and
/// included headers, and elsewhere one expression, such as a default argument.
///
/// @throws std::runtime_error when an edit's `find` does not occur exactly once, or it changes something else.
std::string mutate_all(const lesson::Lesson& lesson, const std::string& file);

/// The regions that each edit of a lesson changes, by its id. A region is a function's body, a list of member
/// initialisers, or what is between two of these; they are counted through all files of the solution, in order.
/// @throws std::runtime_error as mutate_all() does.
std::map<std::string, std::set<int>> regions_of(const lesson::Lesson& lesson);

}  // namespace attn::gate
