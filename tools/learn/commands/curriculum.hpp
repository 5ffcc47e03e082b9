#pragma once

#include <string>
#include <vector>

#include "learn/machine/verdict.hpp"
#include "learn/memory/state.hpp"
#include "learn/screens/style.hpp"
#include "lesson/lesson.hpp"

/// Where the learner stands among the lessons.
namespace attn::learn {

/// What every command works with.
struct Course {
  std::filesystem::path root;
  Style style;
  Store store;

  /// Prints to standard output, in the course's style.
  void print(const std::string& text) const;
  void print(const Lines& lines) const;
};

/// Where a lesson stands.
enum class Standing {
  untouched,
  begun,
  passed,
  changed,    ///< passed, and the files were changed since: to be checked again
  reset,      ///< passed once, and put back to its stubs
  regressed,  ///< passed once, and failed when it was last checked
};

Standing standing(const State& state, const lesson::Lesson& lesson);

/// In words for the learner ("passed, fails now"), and for programs ("regressed").
std::string text_of(Standing standing);
std::string id_of(Standing standing);

/// Whether it passed once: what was earned stays.
bool has_passed(Standing standing);

/// Whether it passes, as far as is known.
bool is_done(Standing standing);
bool is_done(const Course& course, const lesson::Lesson& lesson);

/// All lessons. A folder without a chapter is none: a learner's files, where a lesson was before it got another name.
/// @throws std::runtime_error when there are none.
std::vector<lesson::Lesson> all_lessons(const std::filesystem::path& root);

/// The lesson the learner is at, or the first that does not pass, or the last.
lesson::Lesson current_lesson(const Course& course);

/// The first lesson after this one that does not pass, or else the first before it; itself when all do.
lesson::Lesson next_to_do(const Course& course, const lesson::Lesson& after);

/// A lesson by its number or name; the current one when that is empty.
lesson::Lesson wanted_lesson(const Course& course, const std::string& name);

/// The lessons in a line each: where they stand, and what they are about.
Lines curriculum_lines(const Course& course);

/// "2 of 14 lessons passed, about 30 hours left", by the minutes that the chapters say.
std::string time_left_text(const Course& course);

/// "2 of 14 lessons passed"; "2 of 14 lessons passed, 1 fails now".
std::string progress_text(const Course& course);

/// A block for each lesson, full where it passed once: "■■□□".
Line strip(const Course& course);

/// The task whose hints help with a verdict's first failing check, or the lesson's number: and those tasks.
std::vector<lesson::Task> tasks_for(const lesson::Lesson& lesson, const std::string& topic);

/// What a verdict says of one task ("01.2"): its checks only. A lesson that was not judged stays as it is.
Verdict verdict_on_task(const Verdict& verdict, const lesson::Lesson& lesson, const std::string& task);

/// A verdict in one line, beside where the lesson stood before: "✓ 01 self_attention_v1: 43 of 43 checks".
Line summary(const lesson::Lesson& lesson, const Verdict& verdict, Standing before);

/// The same for a lesson whose files are its stubs: that needs no verdict.
Line summary_of_stub(const State& state, const lesson::Lesson& lesson);

}  // namespace attn::learn
