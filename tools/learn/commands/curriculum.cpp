#include "learn/commands/curriculum.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>

#include "learn/memory/answers.hpp"
#include "lesson/text.hpp"
#include "verdict/words.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

namespace {

Role role_of(Standing standing) {
  if (standing == Standing::regressed) return Role::warning;
  return has_passed(standing) ? Role::passed : Role::plain;
}

}  // namespace

void Course::print(const std::string& text) const { std::cout << style(text) << std::endl; }

void Course::print(const Lines& lines) const { std::cout << style(lines) << std::endl; }

Standing standing(const State& state, const Lesson& lesson) {
  const LessonRecord record = state.record_of(lesson.name);
  if (record.first_passed.empty()) return edited(lesson) ? Standing::begun : Standing::untouched;
  if (!edited(lesson)) return Standing::reset;
  if (!record.passing) return Standing::regressed;
  return record.passed_text.empty() || record.passed_text == fingerprint(lesson) ? Standing::passed : Standing::changed;
}

std::string text_of(Standing standing) {
  constexpr const char* texts[] = {"", "begun", "passed", "passed, changed", "passed, reset", "passed, fails now"};
  return texts[static_cast<int>(standing)];
}

std::string id_of(Standing standing) {
  constexpr const char* ids[] = {"untouched", "begun", "passed", "changed", "reset", "regressed"};
  return ids[static_cast<int>(standing)];
}

bool has_passed(Standing standing) { return standing != Standing::untouched && standing != Standing::begun; }

bool is_done(Standing standing) { return has_passed(standing) && standing != Standing::regressed; }

bool is_done(const Course& course, const Lesson& lesson) { return is_done(standing(course.store.state(), lesson)); }

std::vector<Lesson> all_lessons(const fs::path& root) {
  auto lessons = lesson::find_lessons(root);
  const auto no_lesson = [](const Lesson& lesson) { return !fs::exists(lesson.chapter_file()); };
  lessons.erase(std::remove_if(lessons.begin(), lessons.end(), no_lesson), lessons.end());
  if (lessons.empty()) throw std::runtime_error("no lessons below " + root.string());
  return lessons;
}

Lesson current_lesson(const Course& course) {
  const auto lessons = all_lessons(course.root);
  for (const auto& lesson : lessons) {
    if (lesson.name == course.store.state().current) return lesson;
  }
  return next_to_do(course, lessons.back());
}

Lesson next_to_do(const Course& course, const Lesson& after) {
  const auto lessons = all_lessons(course.root);
  for (const bool later : {true, false}) {
    for (const auto& lesson : lessons) {
      if ((lesson.name > after.name) == later && !is_done(course, lesson)) return lesson;
    }
  }
  return after;
}

Lesson wanted_lesson(const Course& course, const std::string& name) {
  return name.empty() ? current_lesson(course) : lesson::find_lesson(course.root, name);
}

std::string time_left_text(const Course& course) {
  int minutes = 0;
  for (const auto& lesson : all_lessons(course.root)) {
    if (!has_passed(standing(course.store.state(), lesson))) minutes += lesson.study().minutes;
  }
  return minutes == 0 ? progress_text(course) : progress_text(course) + ", about " + hours_text(minutes) + " left";
}

Lines curriculum_lines(const Course& course) {
  const Lesson current = current_lesson(course);
  const auto lessons = all_lessons(course.root);
  int state_columns = columns_of("now");
  std::map<std::string, Standing> standings;  // each of them reads the lesson's files
  for (const auto& lesson : lessons) {
    const Standing where = standings[lesson.name] = standing(course.store.state(), lesson);
    state_columns = std::max(state_columns, columns_of(text_of(where)));
  }
  const auto fits = [columns = course.style.columns](const std::string& text) {
    return columns == 0 || columns_of(text) <= columns;
  };
  Lines lines;
  for (const auto& lesson : lessons) {
    const Standing where = standings.at(lesson.name);
    const bool here = lesson.name == current.name;
    const bool now = here && (where == Standing::untouched || where == Standing::begun);
    const std::string state = now ? "now" : text_of(where);
    const std::string begin = (here ? "> " : "  ") + state;
    std::string line = (here ? "> " : "  ") + padded(state, state_columns) + "  " + lesson.number();
    const int length = lesson.study().minutes;
    if (length > 0) line += right_aligned(length, 5) + " min";  // as the chapter says
    const std::string full = line + "  " + lesson.subject();
    line = fits(full) ? full : cut(full, course.style.columns);
    lines.push_back(
        Line({{begin.substr(0, 2)}, {state, now ? Role::important : role_of(where)}, {line.substr(begin.size())}}));
  }
  return lines;
}

std::string progress_text(const Course& course) {
  int passed = 0;
  int fail_now = 0;
  const auto lessons = all_lessons(course.root);
  for (const auto& lesson : lessons) {
    const Standing where = standing(course.store.state(), lesson);
    passed += has_passed(where) ? 1 : 0;
    fail_now += where == Standing::regressed ? 1 : 0;
  }
  const std::string text =
      std::to_string(passed) + " of " + counted(static_cast<int>(lessons.size()), "lesson") + " passed";
  return fail_now == 0 ? text
                       : text + (fail_now == 1 ? ", 1 fails now" : ", " + std::to_string(fail_now) + " fail now");
}

Line strip(const Course& course) {
  Line strip;
  for (const auto& lesson : all_lessons(course.root)) {
    const Standing where = standing(course.store.state(), lesson);
    strip.spans.push_back(has_passed(where) ? Span{"■", role_of(where)} : Span{"□", Role::label});
  }
  return strip;
}

std::vector<lesson::Task> tasks_for(const Lesson& lesson, const std::string& topic) {
  auto tasks = lesson.tasks();
  const auto wanted =
      std::find_if(tasks.begin(), tasks.end(), [&](const lesson::Task& task) { return task.id == topic; });
  return wanted == tasks.end() ? tasks : std::vector<lesson::Task>{*wanted};
}

Verdict verdict_on_task(const Verdict& verdict, const Lesson& lesson, const std::string& task) {
  if (verdict.report.checks.empty()) return verdict;
  const auto tasks = lesson.tasks_of_checks();
  Verdict on_task = verdict;
  auto& checks = on_task.report.checks;
  checks.erase(std::remove_if(checks.begin(), checks.end(),
                              [&](const judge::CheckResult& check) {
                                const auto known = tasks.find(check.full_name());
                                return (known == tasks.end() ? check.task : known->second) != task;
                              }),
               checks.end());
  const auto* first = on_task.first_failing();
  const std::string counts =
      task + ": " + std::to_string(on_task.passed()) + " of " + counted(on_task.total(), "check") + " passed";
  on_task.kind = first == nullptr && !checks.empty() ? Verdict::Kind::passed : Verdict::Kind::failed;
  if (checks.empty()) {
    on_task.lines = {Line(task + " has no checks of its own: ./learn check " + lesson.number(), Role::important)};
  } else if (first == nullptr) {
    on_task.lines = {Line("✓ " + counts, Role::passed)};
  } else {
    on_task.lines = judge::lines_about(*first, verdict.report, lesson);
    append(on_task.lines, {"", Line(counts, Role::important)});
  }
  return on_task;
}

Line summary(const Lesson& lesson, const Verdict& verdict, Standing before) {
  const bool passed = verdict.kind == Verdict::Kind::passed;
  const auto& checks = verdict.report.checks;
  const bool to_do = !checks.empty() && std::all_of(checks.begin(), checks.end(), [](const auto& check) {
    return check.passed() || check.state == judge::CheckResult::State::not_written;
  });
  if (to_do && !passed && !has_passed(before)) {  // nothing is wrong yet
    return "  " + lesson.title() + ": " + std::to_string(verdict.passed()) + " of " + std::to_string(verdict.total()) +
           " checks, the others are to do";
  }
  std::string line = (passed ? "✓ " : "✗ ") + lesson.title() + ": ";
  if (verdict.total() > 0) {
    line += std::to_string(verdict.passed()) + " of " + std::to_string(verdict.total()) + " checks";
  } else {
    line += verdict.word();
  }
  if (!passed && has_passed(before)) line += "; it passed before, and fails now";
  return Line(line, passed ? Role::passed : Role::failed);
}

Line summary_of_stub(const State& state, const Lesson& lesson) {
  const bool passed = standing(state, lesson) == Standing::reset;
  return "  " + lesson.title() + ": " + (passed ? "reset since it passed" : "not started");
}

}  // namespace attn::learn
