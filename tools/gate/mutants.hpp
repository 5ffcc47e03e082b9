#pragma once

#include <map>
#include <set>
#include <string>

#include "lesson/lesson.hpp"

/// Solutions with catalogued mistakes in them, as texts to compile.
namespace attn::gate {

/// The environment variable that tells a program with many mistakes which of them to make.
inline constexpr char chosen_mistake[] = "ATTN_MISTAKE";

/// The regions that each edit of a lesson changes, by its id. A region is a function's body, a list of member
/// initialisers, or what is between two of these; they are counted through all files of the solution, in order.
using Regions = std::map<std::string, std::set<int>>;

/// A file of the solution with all its mistakes in it. A region that is edited is there once for each of its mistakes,
/// and `ATTN_MISTAKE=id` chooses. Without it, nothing is wrong. So all mistakes are compiled and linked in the time of
/// one. A program that defines `bool mistake_region_reached[]` learns there which regions have run.
///
/// An edit may change any number of functions' bodies, member initialisers (the same members in the same order) and
/// included headers, and elsewhere one expression, such as a default argument.
///
/// @param regions where not null, the regions of this file's edits are added
/// @throws std::runtime_error when an edit's `find` does not occur exactly once, or it changes something else.
std::string mutate_all(const lesson::Lesson& lesson, const std::string& file, Regions* regions = nullptr);

/// The regions of all edits of a lesson.
/// @throws std::runtime_error as mutate_all() does.
Regions regions_of(const lesson::Lesson& lesson);

}  // namespace attn::gate
