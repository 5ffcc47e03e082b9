#include "learn/commands/curriculum.hpp"

#include <algorithm>
#include <stdexcept>

#include "learn/memory/answers.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

Standing standing(const State& state, const Lesson& lesson) {
  const auto known = state.lessons.find(lesson.name);
  const bool ever_passed = known != state.lessons.end() && !known->second.first_passed.empty();
  if (!ever_passed) return edited(lesson) ? Standing::begun : Standing::untouched;
  if (!edited(lesson)) return Standing::begun_again;
  if (!known->second.passing) return Standing::no_longer;
  const std::string& text = known->second.passed_text;
  return text.empty() || text == fingerprint(lesson) ? Standing::passed : Standing::changed;
}

std::string text_of(Standing standing) {
  switch (standing) {
    case Standing::begun: return "begun";
    case Standing::passed: return "passed";
    case Standing::changed: return "passed, changed since";
    case Standing::begun_again: return "passed, begun again";
    case Standing::no_longer: return "no longer passes";
    case Standing::untouched: break;
  }
  return "";
}

std::string id_of(Standing standing) {
  switch (standing) {
    case Standing::begun: return "begun";
    case Standing::passed: return "passed";
    case Standing::changed: return "changed";
    case Standing::begun_again: return "begun_again";
    case Standing::no_longer: return "no_longer";
    case Standing::untouched: break;
  }
  return "untouched";
}

bool counts_as_passed(Standing standing) {
  return standing == Standing::passed || standing == Standing::changed || standing == Standing::begun_again;
}

std::vector<Lesson> all_lessons(const fs::path& root) {
  auto lessons = lesson::find_lessons(root);
  const auto no_lesson = [](const Lesson& lesson) { return !fs::exists(lesson.chapter_file()); };
  lessons.erase(std::remove_if(lessons.begin(), lessons.end(), no_lesson), lessons.end());
  if (lessons.empty()) throw std::runtime_error("no lessons below " + root.string());
  return lessons;
}

namespace {

const Lesson* first_not_passed(const Course& course, const std::vector<Lesson>& lessons) {
  for (const auto& lesson : lessons) {
    if (!counts_as_passed(standing(course.store.state(), lesson))) return &lesson;
  }
  return nullptr;
}

}  // namespace

Lesson current_lesson(const Course& course) {
  const auto lessons = all_lessons(course.root);
  for (const auto& lesson : lessons) {
    if (lesson.name == course.store.state().current) return lesson;
  }
  const Lesson* first = first_not_passed(course, lessons);
  return first == nullptr ? lessons.back() : *first;
}

Lesson next_to_do(const Course& course, const Lesson& after) {
  const auto lessons = all_lessons(course.root);
  for (const auto& lesson : lessons) {
    if (lesson.name > after.name && !counts_as_passed(standing(course.store.state(), lesson))) return lesson;
  }
  const Lesson* first = first_not_passed(course, lessons);
  return first == nullptr ? after : *first;
}

Lesson wanted_lesson(const Course& course, const std::string& name) {
  return name.empty() ? current_lesson(course) : lesson::find_lesson(course.root, name);
}

std::vector<std::string> curriculum_lines(const Course& course) {
  const Lesson current = current_lesson(course);
  const auto lessons = all_lessons(course.root);
  int title_columns = 0;
  int state_columns = columns_of("now");
  for (const auto& lesson : lessons) {
    title_columns = std::max(title_columns, columns_of(lesson.title()));
    state_columns = std::max(state_columns, columns_of(text_of(standing(course.store.state(), lesson))));
  }
  std::vector<std::string> lines;
  for (const auto& lesson : lessons) {
    const Standing where = standing(course.store.state(), lesson);
    const bool here = lesson.name == current.name;
    std::string state = text_of(where);
    if (here && (where == Standing::untouched || where == Standing::begun)) state = "now";
    std::string line =
        (here ? "> " : "  ") + padded(state, state_columns) + "  " + padded(lesson.title(), title_columns);
    const std::string full = line + "  " + lesson.subject();
    const bool fits = course.style.columns == 0 || columns_of(full) <= course.style.columns;
    const bool worth_cutting = course.style.columns - columns_of(line) > 15;
    lines.push_back(fits ? full : worth_cutting ? padded(full, course.style.columns - 3) + "..." : line);
  }
  return lines;
}

std::string progress_text(const Course& course) {
  int passed = 0;
  const auto lessons = all_lessons(course.root);
  for (const auto& lesson : lessons) passed += counts_as_passed(standing(course.store.state(), lesson)) ? 1 : 0;
  return std::to_string(passed) + " of " + counted(static_cast<int>(lessons.size()), "lesson") + " passed";
}

std::vector<lesson::Task> tasks_for(const Lesson& lesson, const std::string& topic) {
  auto tasks = lesson.tasks();
  const auto wanted =
      std::find_if(tasks.begin(), tasks.end(), [&](const lesson::Task& task) { return task.id == topic; });
  return wanted == tasks.end() ? tasks : std::vector<lesson::Task>{*wanted};
}

std::vector<std::string> beside_the_reference(const Lesson& lesson, int columns) {
  std::vector<std::string> lines;
  const int half = (columns - 3) / 2;
  for (const auto& file : given_files(lesson)) {
    const fs::path reference = lesson.solution_folder() / fs::path(file).filename();
    if (!lines.empty()) lines.emplace_back();
    lines.push_back(padded("yours: " + fs::path(file).filename().string(), half) + "   the reference");
    const auto rows = side_by_side(read_answer(lesson, file), lesson::read_file(reference), columns);
    lines.insert(lines.end(), rows.begin(), rows.end());
  }
  return lines;
}

}  // namespace attn::learn
