#pragma once

#include <optional>
#include <string>

#include "learn/commands/curriculum.hpp"

/// What takes the whole terminal. With `plain` it has no colour and moves no cursor.
namespace attn::learn {

/// Going through the lessons: builds and checks on every save, and listens to keys. Returns when the learner quits.
int watch(Course& course, bool plain);

/// An interview: a lesson's stub on a blank page in a scratch folder, a clock, and checks only when they are asked for.
/// What was in the scratch folder before is kept in a backup; the lesson's own files are never touched.
///
/// @param name a lesson; empty for the one that is due: a blank-page lesson not passed in an interview yet, or else the
///   one that was interviewed on least recently
/// @param minutes to be given, parts of one too; without it, what the lesson's interview.md says
/// @return the exit code: passed, failed (given up or not whole), or not judged (no terminal)
int interview(Course& course, const std::string& name, std::optional<double> minutes, bool plain);

/// What is due today by spaced repetition (schedule.hpp): interview questions to answer aloud and grade, and lessons to
/// redo from blank. Without a terminal it lists them.
int review(Course& course, bool plain);

}  // namespace attn::learn
