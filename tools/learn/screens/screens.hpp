#pragma once

#include <optional>
#include <string>

#include "learn/commands/curriculum.hpp"
#include "learn/memory/deck.hpp"

/// What takes the whole terminal, in the course's style.
namespace attn::learn {

/// Going through the lessons: builds and checks on every save, and listens to keys. Returns when the learner quits.
int watch(Course& course);

/// An interview: a lesson's stub on a blank page in a scratch folder, a clock, and checks only when they are asked for.
/// What was in the scratch folder before is kept in a backup; the lesson's own files are never touched.
///
/// @param name a lesson; empty for the one that is due: a blank-page lesson not passed in an interview yet, or else the
///   one that was interviewed on least recently
/// @param minutes to be given, parts of one too; without it, what the lesson's interview.md says
/// @return the exit code: passed, failed (given up or not whole), or not judged (no terminal)
int interview(Course& course, const std::string& name, std::optional<double> minutes);

/// The name of a lesson for an interview, by chance: one that passed; while fewer than three did, also one of those
/// that are asked most often. Not the one of the last interview, where there is another.
std::string random_lesson(const Course& course);

/// Interview questions to answer aloud and grade, and lessons to write from blank: what is due today by spaced
/// repetition (schedule.hpp), or what is chosen. Without a terminal it lists them.
int review(Course& course, const Choice& choice);

}  // namespace attn::learn
