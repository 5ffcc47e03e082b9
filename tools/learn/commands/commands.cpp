#include "learn/commands/commands.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "learn/coach/diagnostics.hpp"
#include "learn/commands/own_parts.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "learn/machine/machine.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/deck.hpp"
#include "learn/memory/history.hpp"
#include "learn/screens/chapter.hpp"
#include "learn/screens/programs.hpp"
#include "learn/screens/terminal.hpp"
#include "lesson/formula.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "verdict/words.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using nlohmann::json;

namespace {

void print_next_steps(const Course& course, const Lesson& lesson) {
  Lines lines = {labelled("  read   ", "lessons/" + lesson.name + "/README.md")};
  for (const auto& file : lesson.stub_files()) lines.push_back(labelled("  write  ", file));
  lines.push_back(labelled("  check  ", "./learn check " + lesson.number()));
  lines.push_back(labelled("  hint   ", "./learn hint " + lesson.number()));
  course.print(lines);
}

int exit_code_of(const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::passed) return exit_passed;
  return verdict.kind == Verdict::Kind::failed ? exit_failed : exit_not_judged;
}

/// Lines as one text, without a newline at its end.
std::string text_in_json(const Lines& lines) {
  std::string text = text_of(lines);
  if (!text.empty()) text.pop_back();
  return text;
}

json as_json(const Lesson& lesson, const Verdict& verdict) {
  json checks = json::array();
  for (const auto& check : verdict.report.checks) {
    checks.push_back({{"name", check.full_name()},
                      {"state", judge::text_of(check.state)},
                      {"text", check.passed() ? "" : judge::describe(check, lesson)},
                      {"hint", check.passed() ? "" : check.task}});
  }
  return {{"lesson", lesson.name},
          {"verdict", verdict.id()},
          {"passed", verdict.passed()},
          {"total", verdict.total()},
          {"mistakes", verdict.report.named()},
          {"break", judge::break_name(verdict.report, lesson)},
          {"warnings", text_in_json(verdict.warnings)},
          {"text", text_in_json(verdict.lines)},
          {"checks", checks}};
}

/// Bytes that are not valid UTF-8, in what a compiler or a learner's program prints, are replaced: it stays JSON.
void print_json(const json& document) {
  std::cout << document.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
}

Verdict judge(Course& course, const Lesson& lesson, bool sanitized = false) {
  Judgement judgement(lesson, sanitized);
  judgement.wait([&](const std::string& doing) { std::cerr << course.style(lesson.title() + ": " + doing) << "\n"; });
  if (!sanitized) record(course.store, lesson, judgement.verdict());
  return judgement.verdict();
}

void print_success(const Course& course, const Lesson& lesson) {
  SpeedTest speed(lesson);
  speed.wait({});
  Line measured = speed.line();
  if (!measured.spans.empty()) {
    measured.spans.front().text.insert(0, "  ");
    course.print(Lines{measured});
  }
  if (const std::string runs = runs_in_text(lesson); !runs.empty()) course.print("  " + runs);
  const Lesson next = next_to_do(course, lesson);
  if (is_done(course, next)) {
    course.print("\nThat was the last lesson: all are passed.");
  } else {
    course.print("\nNext: " + next.heading());
    print_next_steps(course, next);
  }
}

/// A lesson whose files are its stubs: no compiler is needed to know that it does not pass.
json untouched_as_json(const Lesson& lesson) {
  json as = as_json(lesson, Verdict{});
  as["verdict"] = "not_started";
  as["total"] = lesson.count_checks();
  return as;
}

int check_all(Course& course, bool in_json) {
  int result = exit_passed;
  json all = json::array();
  for (const auto& lesson : all_lessons(course.root)) {
    if (!edited(lesson)) {
      result = std::max(result, exit_failed);
      all.push_back(untouched_as_json(lesson));
      if (!in_json) course.print({summary_of_stub(course.store.state(), lesson)});
      continue;
    }
    const Standing before = standing(course.store.state(), lesson);
    const Verdict verdict = judge_beside(course, lesson);
    result = std::max(result, exit_code_of(verdict));
    all.push_back(as_json(lesson, verdict));
    if (!in_json) course.print({summary(lesson, verdict, before)});
    if (verdict.kind == Verdict::Kind::stopped) break;
  }
  if (in_json) print_json(json{{"lessons", all}});
  if (!in_json) course.print("\n" + progress_text(course));
  return result;
}

/// "01.2" as a topic: its lesson, and the task's id, which is empty for a whole lesson.
/// @throws std::invalid_argument when there is none.
std::pair<Lesson, std::string> lesson_and_task(const Course& course, const std::string& topic) {
  const auto dot = topic.find('.');
  const Lesson lesson = wanted_lesson(course, topic.substr(0, dot));
  const std::string task = dot == std::string::npos ? "" : lesson.number() + topic.substr(dot);
  if (!task.empty() && tasks_for(lesson, task).front().id != task) {
    throw std::invalid_argument("lesson " + lesson.title() + " has no task " + task);
  }
  return {lesson, task};
}

void print_interviews(const Course& course) {
  for (const auto& lesson : all_lessons(course.root)) {
    const auto tried = interviews_of(course.store.state(), lesson.name);
    if (tried.attempts == 0) continue;
    std::string line =
        lesson.title() + ": " + counted(tried.attempts, "attempt") + ", " + std::to_string(tried.passed) + " passed";
    if (tried.passed > 0) line += ", best " + minutes_text(tried.best_minutes);
    course.print({labelled("interview   ", line)});
  }
}

/// The most frequent mistakes.
void print_mistakes(const Course& course) {
  constexpr std::size_t most = 5;
  const State& state = course.store.state();
  std::vector<std::pair<int, std::string>> mistakes;  // how often, and which
  for (const auto& lesson : all_lessons(course.root)) {
    const auto made = state.record_of(lesson.name).mistakes;
    for (const auto& mistake : lesson.mistakes()) {
      const auto times = made.find(mistake.id);
      if (times == made.end()) continue;
      mistakes.emplace_back(times->second, lesson.number() + ": " + mistake.says);
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  mistakes.resize(std::min(most, mistakes.size()));
  for (const auto& [times, what] : mistakes)
    course.print({Line("mistake     " + counted(times, "time") + ", lesson " + what, Role::important)});
}

}  // namespace

Verdict judge_beside(Course& course, const Lesson& lesson) {
  const std::string was = course.store.state().current;
  const Verdict verdict = judge(course, lesson);
  course.store.update([&](State& state) { state.current = was; });
  return verdict;
}

// ----------------------------------------------------------------------------------------------- going through

int overview(Course& course) {
  const Lesson lesson = current_lesson(course);
  const bool done = is_done(course, lesson);
  course.print("attention-by-hand: learn attention by writing it\n");
  course.print(curriculum_lines(course));
  course.print("\n" + lesson.title() + (done ? ": passed; ./learn next goes on" : ""));
  print_next_steps(course, lesson);
  if (fs::exists(build_folder(course.root) / lesson.program())) return exit_passed;
  course.print("\nbuilding lesson " + lesson.number() + " once, so that checking it is quick ...");
  const auto built = build(course.root, usual_preset, lesson.program());
  course.print(built.ok ? Lines{"ready"} : output_lines(built.output));
  return exit_passed;
}

int list(const Course& course, bool in_json) {
  if (!in_json) {
    course.print(curriculum_lines(course));
    course.print("\n" + time_left_text(course));
    return exit_passed;
  }
  json lessons = json::array();
  const Lesson current = current_lesson(course);
  for (const auto& lesson : all_lessons(course.root)) {
    const LessonRecord record = course.store.state().record_of(lesson.name);
    lessons.push_back({{"lesson", lesson.name},
                       {"number", lesson.number()},
                       {"subject", lesson.subject()},
                       {"minutes", lesson.study().minutes},
                       {"state", id_of(standing(course.store.state(), lesson))},
                       {"current", lesson.name == current.name},
                       {"first_passed", record.first_passed},
                       {"checks", record.checks},
                       {"files", lesson.stub_files()}});
  }
  print_json(json{{"lessons", lessons}});
  return exit_passed;
}

int check(Course& course, const std::string& name, bool in_json, bool sanitized) {
  if (name == "all" && sanitized)
    throw std::invalid_argument("--asan is for one lesson, such as ./learn check 01 --asan");
  if (name == "all") return check_all(course, in_json);
  const auto [lesson, task] = lesson_and_task(course, name);
  Verdict verdict = judge(course, lesson, sanitized);
  if (!task.empty()) verdict = verdict_on_task(verdict, lesson, task);
  if (in_json) {
    print_json(as_json(lesson, verdict));
    return exit_code_of(verdict);
  }
  if (!verdict.warnings.empty()) verdict.lines.emplace_back();
  append(verdict.lines, verdict.warnings);
  course.print(verdict.lines);
  if (verdict.kind == Verdict::Kind::passed && !sanitized && task.empty()) print_success(course, lesson);
  return exit_code_of(verdict);
}

int hint(Course& course, const std::string& topic, std::size_t level) {
  const auto [lesson, task] = lesson_and_task(course, topic);
  const auto tasks = tasks_for(lesson, task);
  course.print("Hints for " + lesson.title() + ", level " + std::to_string(level) + " of 3");
  for (const auto& shown : tasks) {
    course.print({"", with_code(shown.id + " " + shown.title, Role::important)});
    const std::string& text = shown.levels.at(level - 1);
    course.print(course.style.columns > 0 ? paragraphs_of(text) : as_lines(lines_of(text)));  // a terminal wraps them
  }
  note_hint(course.store, lesson, static_cast<int>(level));
  if (level == 3) return exit_passed;
  course.print("\nMore, for one task: ./learn hint " + tasks.front().id + " --level " + std::to_string(level + 1));
  return exit_passed;
}

int read_chapter(const Course& course, const std::string& name) {
  const Lesson lesson = wanted_lesson(course, name);
  if (!Terminal::available()) {
    std::cout << without_comments(with_plain_formulas(lesson::read_file(lesson.chapter_file())));
    return exit_passed;
  }
  become(reader_command(lesson, course.style.table_columns()));
}

int open_chapter(const Course& course, const std::string& name) {
  const Lesson lesson = wanted_lesson(course, name);
  const std::string page = "lessons/" + lesson.name + "/";
  const fs::path built = course.root / "build/site/pages" / page / "index.html";
  if (!fs::exists(built)) {
    throw std::runtime_error(
        "The web pages are not built yet; docs/site builds them (it needs npm, and about 160 MB).\n" +
        ("In the terminal: ./learn read " + lesson.number()));
  }
  if (fs::last_write_time(built) < fs::last_write_time(lesson.chapter_file())) {
    course.print("The chapter has changed since docs/site built this page; docs/site builds it again.");
  }
  return judge::run({(course.root / "docs/site").string(), "open", page}, course.root);
}

int demo(const Course& course, const std::string& name, bool with_reference,
         const std::vector<std::string>& arguments) {
  const Lesson lesson = wanted_lesson(course, name);
  if (!fs::exists(course.root / "programs/demo" / (lesson.name + ".cpp"))) {
    throw std::invalid_argument("lesson " + lesson.title() + " has no demonstration; see programs/demo/");
  }
  const std::string program = lesson.demo_program() + (with_reference ? "_solution" : "");
  const auto built = build_program(course, program);
  if (!built.output.empty()) course.print(output_lines(built.output));
  if (!built.ok) {
    if (with_reference) return exit_not_judged;
    course.print(lesson.title() + " does not compile yet: begin with the first error above.\n./learn demo " +
                 lesson.number() + " --reference shows it with the reference.");
    return exit_not_judged;
  }
  std::vector<std::string> command = {(build_folder(course.root) / program).string()};
  if (course.style.plain) command.insert(command.begin(), {"env", "NO_COLOR=1"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return judge::run(command, fs::current_path());
}

int next(Course& course) {
  const auto lessons = all_lessons(course.root);
  const Lesson current = current_lesson(course);
  const auto here =
      std::find_if(lessons.begin(), lessons.end(), [&](const Lesson& l) { return l.name == current.name; });
  if (here + 1 == lessons.end()) {
    course.print(current.title() + " is the last lesson. " + progress_text(course) + ".");
    return exit_passed;
  }
  const Lesson& following = *(here + 1);
  const bool done = is_done(course, current);
  course.store.update([&](State& state) { state.current = following.name; });
  if (!done) course.print(current.title() + " stays open: ./learn " + current.number() + " goes back to it.\n");
  course.print(following.heading());
  print_next_steps(course, following);
  return exit_passed;
}

int solution(const Course& course, const std::string& name, bool beside_the_learners) {
  const Lesson lesson = wanted_lesson(course, name);
  if (beside_the_learners) {
    course.print(beside_the_reference(lesson, course.style.table_columns()));
    return exit_passed;
  }
  for (const auto& file : given_files(lesson)) {
    const fs::path reference = lesson.solution_folder() / fs::path(file).filename();
    Lines lines = {"// " + fs::relative(reference, course.root).string(), ""};
    for (const auto& row : lines_of(lesson::read_file(reference))) lines.emplace_back(row, Role::code);
    lines.emplace_back();
    course.print(lines);
  }
  return exit_passed;
}

// ---------------------------------------------------------------------------------------------- nothing is lost

int reset_lesson(const Course& course, const std::string& name) {
  const Lesson lesson = wanted_lesson(course, name);
  const bool whole = missing_files(lesson).empty();
  const std::string kept = reset(lesson);
  if (kept.empty()) {
    course.print(lesson.title() +
                 " is as it was at the beginning: " + (whole ? "nothing to do" : "what was missing is back"));
    return exit_passed;
  }
  course.print(lesson.title() +
               " is as it was at the beginning.\nWhat you had written is kept; this brings it back:\n" +
               "  ./learn backups restore " + kept);
  return exit_passed;
}

int list_backups(const Course& course) {
  const auto all = backups(course.root);
  if (all.empty()) course.print("There are no backups. One is made before anything that you wrote is replaced.");
  for (const auto& backup : all) {
    course.print(backup.name + "\n  before " + backup.why + ", " + backup.when);
    for (const auto& file : backup.files) course.print("  " + harmless(file));  // a file's name may hold anything
  }
  if (!all.empty()) course.print("\nTo bring one back: ./learn backups restore " + all.front().name);
  return exit_passed;
}

int restore_backup(const Course& course, const std::string& name) {
  const auto all = backups(course.root);
  if (name.empty() && all.empty()) throw std::invalid_argument("there are no backups yet");
  const std::string wanted = name.empty() ? all.front().name : name;
  const std::string kept = restore(course.root, wanted);
  course.print("restored " + wanted);
  if (!kept.empty()) course.print("What it replaced is kept too: ./learn backups restore " + kept);
  return exit_passed;
}

// ---------------------------------------------------------------------------------------------------- the rest

int stats(const Course& course) {
  const State& state = course.store.state();
  int checks = 0;
  for (const auto& lesson : all_lessons(course.root)) checks += state.record_of(lesson.name).checks;
  course.print({labelled("lessons     ", progress_text(course)),
                labelled("checks      ", counted(checks, "time") + " judged"),
                labelled("days        ", counted(days_in_a_row(state.days, today()), "day") + " in a row, " +
                                             counted(static_cast<int>(state.days.size()), "day") + " in all"),
                labelled("review      ", due_text(course))});
  print_interviews(course);
  print_mistakes(course);
  return exit_passed;
}

int version(const Course& course) {
  course.print("attention-by-hand " ATTN_VERSION);
  return exit_passed;
}

}  // namespace attn::learn
