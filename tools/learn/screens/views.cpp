#include "learn/screens/views.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

std::string result_sentence(const InterviewRecord& interview) {
  std::ostringstream line;
  const bool late = interview.minutes > interview.limit;
  line << (!interview.passed ? "Not passed: "
           : late            ? "Passed, late: "
                             : "Passed: ")
       << minutes_text(interview.minutes) << " of " << interview.limit << ", " << counted(interview.checks, "check")
       << " used";
  return line.str();
}

/// The answer to a question, and what an interviewer would hear beyond it.
Lines answer_lines(const lesson::Question& question) {
  Lines lines = paragraphs_of(question.answer);
  if (question.senior.empty()) return lines;
  append(lines, {"", "A senior interviewer expects:"});
  append(lines, paragraphs_of(question.senior));
  return lines;
}

std::string best_sentence(const InterviewRecord& interview, const Tries& before) {
  const std::string tried = counted(before.attempts + 1, "attempt") + " so far";
  const bool better = before.passed == 0 || interview.minutes < before.best_minutes;
  if (interview.passed && better) return "A personal best. " + tried + ".";
  if (before.passed == 0) return tried + "; none passed yet.";
  return "Your best: " + minutes_text(before.best_minutes) + ", on " + before.best_on + ". " + tried + ".";
}

}  // namespace

Lines header_lines(const std::string& title, const std::string& below, const std::string& beside) {
  return {Line({{title, Role::important}, {beside}}), Line(below, Role::label), ""};
}

std::string doing_line(const std::string& doing, bool plain, bool first_build) {
  if (plain) return doing.substr(0, doing.find(',')) + " ...";
  return doing + " ..." + (first_build ? "   (a minute or two, once)" : "");
}

Lines key_lines(const Keys& keys, int columns) {
  Lines lines;
  int used = columns;
  for (const auto& [key, what] : keys) {
    const int more = columns_of("  " + key + " " + what);
    if (used + more > columns) {
      lines.emplace_back();
      used = -2;  // no space before the first
    } else {
      lines.back().spans.push_back({"  "});
    }
    used += more;
    lines.back().spans.push_back({key, Role::important});
    lines.back().spans.push_back({" " + what});
  }
  return lines;
}

Lines verdict_lines(const Verdict& verdict, const std::vector<std::string>& goals, const Line& speed,
                    const Lines& next_steps) {
  Lines lines = verdict.lines;
  for (auto& line : lines) {
    for (auto& span : line.spans) {
      if (span.role == Role::hint) span.text = "press h";
    }
  }
  if (!verdict.warnings.empty()) lines.emplace_back();
  append(lines, verdict.warnings);
  if (verdict.kind != Verdict::Kind::passed) return lines;
  append(lines, {"", Line("Well done. You can now:", Role::passed)});
  for (const auto& goal : goals) lines.emplace_back("- " + goal);
  append(lines, {"", speed, ""});
  append(lines, next_steps);
  lines.emplace_back("s shows the reference beside yours, n goes on.");
  return lines;
}

Lines welcome_lines(const Place& first, const std::string& doing) {
  Lines lines = {Line("Welcome! Learn attention by writing it. This is how:", Role::important),  // all of it in 60 x 20
                 "",
                 "1. Read the chapter: press o, or open the file below.",
                 "2. Write what the TODOs ask for: press e, or open " + first.text() + ".",
                 "3. Save. Each save is checked, and mistakes are named.",
                 "4. Stuck? Press h for a hint. Nothing you write is lost."};
  if (!doing.empty()) append(lines, {"", doing});
  return lines;
}

Lines hint_lines(const std::vector<lesson::Task>& tasks, int level) {
  Lines lines;
  for (const auto& task : tasks) {
    lines.push_back(with_code(task.id + " " + task.title, Role::important));
    for (int shown = 1; shown <= level; ++shown) {
      append(lines, {"", "hint " + std::to_string(shown) + " of " + std::to_string(deepest_hint)});
      append(lines, paragraphs_of(task.levels.at(static_cast<std::size_t>(shown) - 1)));
    }
    lines.emplace_back();
  }
  lines.push_back(level < deepest_hint ? "h shows more, Esc goes back." : "Esc goes back; s shows the solution.");
  return lines;
}

Lines list_lines(Lines curriculum, std::size_t selected, const std::string& at) {
  for (std::size_t i = 0; i < curriculum.size(); ++i) {
    curriculum[i].spans.front().text.replace(0, 1, i == selected ? ">" : " ");
    if (i == selected) curriculum[i] = Line(curriculum[i].text(), Role::selected);
  }
  append(curriculum, {"", "arrows move, Enter goes there, Esc goes back."});
  if (!at.empty()) curriculum.push_back("at: " + at);
  return curriculum;
}

Lines all_lines(const Lines& done, const Lines& not_started, const std::string& running, const Line& progress) {
  // In a small terminal the first lines are seen: what runs, then results, then the lessons without one.
  Lines lines = running.empty() ? Lines{} : Lines{running, "Ctrl-C stops.", ""};
  append(lines, done);
  append(lines, not_started);
  if (running.empty()) append(lines, {"", progress, "Esc goes back."});
  return lines;
}

Lines watch_status(const lesson::Lesson& lesson, const std::vector<std::string>& files,
                   const std::optional<Verdict>& verdict, int columns) {
  Lines lines;
  if (verdict && verdict->total() > 0) {
    lines.push_back(bar(verdict->passed(), verdict->total(), std::min(40, columns - 25)));
    lines.back().spans.push_back(
        {" " + std::to_string(verdict->passed()) + " of " + counted(verdict->total(), "check")});
  }
  lines.push_back(labelled("read   ", "lessons/" + lesson.name + "/README.md"));
  for (const auto& file : files) lines.push_back(labelled("write  ", file));
  return lines;
}

std::string clock_text(double minutes_left) {
  const int seconds = static_cast<int>(std::abs(minutes_left) * 60);
  char text[32];
  std::snprintf(text, sizeof text, "%d:%02d", seconds / 60, seconds % 60);
  return std::string(text) + (minutes_left < 0 ? " over" : " left");
}

Lines result_lines(const InterviewRecord& interview, const Tries& before, const std::vector<std::string>& mistakes) {
  Lines lines = {result_sentence(interview), best_sentence(interview, before)};
  for (const auto& mistake : mistakes) lines.emplace_back("mistake  " + mistake, Role::important);
  return lines;
}

Lines follow_up_lines(const std::vector<lesson::Question>& questions, std::size_t asked, bool answered) {
  if (questions.empty()) return {};
  Lines lines = {"",
                 "Follow-up question " + std::to_string(asked + 1) + " of " + std::to_string(questions.size()) +
                     ". Say your answer aloud.",
                 "", with_code(questions[asked].text)};
  if (!answered) return lines;
  lines.emplace_back();
  append(lines, answer_lines(questions[asked]));
  return lines;
}

Lines review_lines(const std::string& lesson, const lesson::Question& question, bool answered) {
  Lines lines = {lesson + ", " + word_of(question.asked) + " asked", "", with_code(question.text), ""};
  if (!answered) {
    lines.emplace_back("Say your answer aloud.");
    return lines;
  }
  append(lines, answer_lines(question));
  append(lines, {"", "How was yours?", "5 perfect   4 right, after some thought   3 right, with great effort",
                 "2 wrong, but I knew it when I saw it   1 wrong, it rang a bell   0 no idea"});
  return lines;
}

}  // namespace attn::learn
