#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"

/// The commands that say one thing and end, for scripts and for terminals without a watch mode. Each returns the exit
/// code.
namespace attn::learn {

constexpr int exit_passed = 0;
constexpr int exit_failed = 1;
constexpr int exit_not_judged = 2;

/// Judges a lesson and notes it down; the lesson that the learner is at stays.
Verdict judge_beside(Course& course, const lesson::Lesson& lesson);

int overview(Course& course);
int list(const Course& course, bool as_json);

/// @param name a lesson, a task ("01.2"), empty for the current lesson, or "all"
/// @param sanitized with AddressSanitizer; not noted down
int check(Course& course, const std::string& name, bool as_json, bool sanitized);

/// @param topic a lesson ("01"), a task ("01.2"), or empty for the current lesson
int hint(Course& course, const std::string& topic, std::size_t level);

/// Shows a lesson's chapter: in a pager on a terminal, else as it is.
int read_chapter(const Course& course, const std::string& name);

/// Opens a lesson's chapter in a browser, as docs/site has built it, and serves it until Ctrl-C.
/// @throws std::runtime_error when it is not built
int open_chapter(const Course& course, const std::string& name);

/// @param with_reference shows the reference at work instead of the learner's files
int demo(const Course& course, const std::string& name, bool with_reference, const std::vector<std::string>& arguments);
int reset_lesson(const Course& course, const std::string& name);
int solution(const Course& course, const std::string& name, bool beside_the_learners);
int next(Course& course);

int list_backups(const Course& course);
int restore_backup(const Course& course, const std::string& name);

/// Brings the course up to date with git, keeping what the learner wrote.
int update(const Course& course);

int stats(const Course& course);
int version(const Course& course);

}  // namespace attn::learn
