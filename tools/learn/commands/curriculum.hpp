#pragma once

#include <string>
#include <vector>

#include "learn/memory/state.hpp"
#include "learn/screens/terminal.hpp"
#include "lesson/lesson.hpp"

/// Where the learner stands among the lessons.
namespace attn::learn {

/// What every command works with.
struct Course {
  std::filesystem::path root;
  Style style;
  Store store;
};

/// Where a lesson stands.
enum class Standing {
  untouched,
  begun,
  passed,
  changed,      ///< passed, and the files are others since: to be checked again
  begun_again,  ///< passed once, and reset to its stubs
  no_longer,    ///< passed once, and failed when it was checked last
};

Standing standing(const State& state, const lesson::Lesson& lesson);

/// In words for the learner ("no longer passes"), and for programs ("no_longer").
std::string text_of(Standing standing);
std::string id_of(Standing standing);

/// Whether it passes, as far as is known.
bool counts_as_passed(Standing standing);

/// All lessons. A folder without a chapter is none: a learner's files, where a lesson was before it got another name.
/// @throws std::runtime_error when there are none.
std::vector<lesson::Lesson> all_lessons(const std::filesystem::path& root);

/// The lesson the learner is at, or the first that is not passed, or the last.
lesson::Lesson current_lesson(const Course& course);

/// The first lesson after this one that is not passed, or else the first before it; itself when all are passed.
lesson::Lesson next_to_do(const Course& course, const lesson::Lesson& after);

/// A lesson by its number or name; the current one when that is empty.
lesson::Lesson wanted_lesson(const Course& course, const std::string& name);

/// The lessons in a line each: where they stand, and what they are about.
std::vector<std::string> curriculum_lines(const Course& course);

/// "2 of 14 lessons passed".
std::string progress_text(const Course& course);

/// The task whose hints help with a verdict's first failing check, or the lesson's number: and those tasks.
std::vector<lesson::Task> tasks_for(const lesson::Lesson& lesson, const std::string& topic);

/// What the learner wrote beside the reference, file by file.
std::vector<std::string> beside_the_reference(const lesson::Lesson& lesson, int columns);

}  // namespace attn::learn
