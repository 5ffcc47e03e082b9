#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/line.hpp"

/// The programs that a screen gives its terminal to: the learner's editor, and a reader of chapters.
namespace attn::learn {

/// The first line of one of these files that a verdict is about: an open TODO, an error of the compiler, or where a
/// check failed.
std::optional<Place> first_place(const Lines& verdict, const std::vector<std::string>& files);

/// The first line with a TODO in the files of a lesson, or else its first line.
Place first_todo(const lesson::Lesson& lesson);

/// The arguments with which an editor opens these files, the one of the place first and at its line, if it is an editor
/// that is known to take one.
/// @param editor its name, or a command line that begins with it
std::vector<std::string> editor_arguments(const std::string& editor, const std::vector<std::string>& files,
                                          const Place& at);

/// The learner's editor on the files of a lesson: $VISUAL, else $EDITOR, with its arguments; else VS Code in its own
/// terminal, else a usual one. Empty when there is none.
/// @param verdict what was said of these files; may be empty: then it begins at the first TODO
std::vector<std::string> editor_command(const lesson::Lesson& lesson, const Lines& verdict);

/// A program that shows a lesson's chapter: VS Code in its own terminal, else a pager, with lowdown's rendering where
/// that is installed.
/// @param columns of the terminal
std::vector<std::string> reader_command(const lesson::Lesson& lesson, int columns);

}  // namespace attn::learn
