// learn: the course's command line. ./learn makes the machine ready, builds this program and hands over to it.
//
// Exit codes: 0 passed, 1 failed, 2 could not be judged (does not compile, bad usage, missing set-up).
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>

#include "learn/build.hpp"
#include "learn/doctor.hpp"
#include "learn/gate.hpp"
#include "learn/lesson.hpp"
#include "learn/process.hpp"
#include "learn/progress.hpp"
#include "learn/verify.hpp"

namespace {

namespace fs = std::filesystem;
using attn::course::Lesson;
using attn::learn::Progress;

constexpr int passed = 0;
constexpr int failed = 1;
constexpr int not_judged = 2;

/// The first lesson that is not passed yet, or the last one.
Lesson current_lesson(const fs::path& root, const Progress& progress) {
  const auto lessons = attn::course::find_lessons(root);
  if (lessons.empty()) throw std::runtime_error("no lessons below " + root.string());
  for (const auto& lesson : lessons) {
    if (!progress.passed(lesson.name)) return lesson;
  }
  return lessons.back();
}

/// The first lesson after this one that is not passed yet, or else the first before it.
Lesson next_lesson(const fs::path& root, const Progress& progress, const Lesson& passed_one) {
  for (const auto& lesson : attn::course::find_lessons(root)) {
    if (lesson.name > passed_one.name && !progress.passed(lesson.name)) return lesson;
  }
  return current_lesson(root, progress);
}

Lesson wanted_lesson(const fs::path& root, const std::string& name) {
  return name.empty() ? current_lesson(root, Progress(root)) : attn::course::find_lesson(root, name);
}

void print_next_steps(const Lesson& lesson) {
  std::cout << "  read   lessons/" << lesson.name << "/README.md\n";
  for (const auto& file : lesson.stub_files()) std::cout << "  write  " << file << "\n";
  std::cout << "  check  ./learn check " << lesson.number() << "\n"
            << "  hint   ./learn hint " << lesson.number() << "\n";
}

void print_curriculum(const fs::path& root, const Progress& progress) {
  const Lesson current = current_lesson(root, progress);
  for (const auto& lesson : attn::course::find_lessons(root)) {
    const bool done = progress.passed(lesson.name);
    const char* state = done ? "✓ passed" : lesson.name == current.name ? "▸ now" : "";
    // the symbols take three bytes but one column
    std::cout << "  " << std::left << std::setw(*state ? 12 : 10) << state << std::setw(26) << lesson.title()
              << lesson.subject() << "\n";
  }
}

int list(const fs::path& root) {
  print_curriculum(root, Progress(root));
  return passed;
}

/// `learn` alone: where the learner stands, with the current lesson built so that its first check is quick.
int start(const fs::path& root) {
  const Progress progress(root);
  const Lesson lesson = current_lesson(root, progress);
  std::cout << "attention-by-hand: learn attention by writing it\n\n";
  print_curriculum(root, progress);
  std::cout << "\n"
            << (progress.passed(lesson.name) ? "All lessons are passed. The last one:" : lesson.title()) << "\n";
  print_next_steps(lesson);
  if (!fs::exists(root / "build" / "dev" / ("lesson_" + lesson.number()))) {
    std::cout << "\nbuilding lesson " << lesson.number() << " once, so that checking it is quick ..." << std::endl;
    const auto built = attn::learn::build(root, "dev", "lesson_" + lesson.number());
    std::cout << (built.ok ? "ready\n" : built.compiler_says);
  }
  return passed;
}

int check(const fs::path& root, const std::string& name) {
  const Lesson lesson = wanted_lesson(root, name);
  const std::string target = "lesson_" + lesson.number();
  const auto built = attn::learn::build(root, "dev", target);
  if (!built.ok) {
    std::cout << built.compiler_says << "\n"
              << lesson.title() << " does not compile yet: begin with the first error above\n";
    return not_judged;
  }
  if (!built.compiler_says.empty()) std::cout << built.compiler_says << "\n";  // warnings

  const int result = attn::learn::run({(root / "build" / "dev" / target).string()}, root);
  Progress progress(root);
  if (result == passed) {
    progress.set_passed(lesson.name, true);
    const Lesson next = next_lesson(root, progress, lesson);
    if (progress.passed(next.name)) {
      std::cout << "\nThat was the last lesson: all are passed.\n";
    } else {
      std::cout << "\nNext: " << next.title() << "\n";
      print_next_steps(next);
    }
    return passed;
  }
  if (result == failed) progress.set_passed(lesson.name, false);
  if (result > 128) {
    std::cout << "✗ " << lesson.title() << ": the program crashed before its first check (signal " << result - 128
              << "): is something global or static set up in your file?\n";
    return failed;
  }
  return result == failed ? failed : not_judged;
}

int hint(const fs::path& root, const std::string& name, std::size_t level) {
  const auto dot = name.find('.');
  const Lesson lesson = wanted_lesson(root, name.substr(0, dot));
  std::string wanted_task = dot == std::string::npos ? "" : lesson.number() + name.substr(dot);
  bool found = false;
  std::cout << "Hints for " << lesson.title() << ", level " << level << " of 3\n";
  for (const auto& task : lesson.tasks()) {
    if (!wanted_task.empty() && task.id != wanted_task) continue;
    found = true;
    std::cout << "\n" << task.id << " " << task.title << "\n" << task.levels.at(level - 1) << "\n";
  }
  if (!found) throw std::invalid_argument("lesson " + lesson.title() + " has no task " + wanted_task);
  if (level < 3) {
    const std::string task = wanted_task.empty() ? lesson.number() + ".1" : wanted_task;
    std::cout << "\nMore, for one task: ./learn hint " << task << " --level " << level + 1 << "\n";
  }
  return passed;
}

/// Builds the lesson's demonstration with the learner's files, and runs it.
int demo(const fs::path& root, const std::string& name, const std::vector<std::string>& arguments) {
  const Lesson lesson = wanted_lesson(root, name);
  const std::string target = "demo_" + lesson.number();
  if (!fs::exists(root / "demos" / (lesson.name + ".cpp"))) {
    throw std::invalid_argument("lesson " + lesson.title() + " has no demonstration; see demos/");
  }
  const auto built = attn::learn::build(root, "dev", target);
  if (!built.compiler_says.empty()) std::cout << built.compiler_says << "\n";
  if (!built.ok) {
    std::cout << lesson.title() << " does not compile yet: begin with the first error above\n";
    return not_judged;
  }
  std::vector<std::string> command = {(root / "build" / "dev" / target).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return attn::learn::run(command, fs::current_path());
}

int report(const attn::learn::gate::Problems& problems) {
  for (const auto& problem : problems) std::cout << "✗ " << problem << "\n";
  return problems.empty() ? passed : failed;
}

/// The gate's judgements one by one, as CTest calls them.
void add_gate(CLI::App& app, const fs::path& root, int& result) {
  namespace gate = attn::learn::gate;
  static std::string name;
  static std::string id;
  static std::string file;
  CLI::App& command = *app.add_subcommand("gate", "for CTest: one promise of the course at a time")->group("");
  command.require_subcommand(1);
  const auto add = [&](const char* what, bool with_id, const char* with_file, auto judge) {
    CLI::App& one = *command.add_subcommand(what);
    one.add_option("lesson", name)->required();
    if (with_id) one.add_option("id", id)->required();
    if (with_file != nullptr) one.add_option(with_file, file)->required();
    one.callback([&root, &result, judge] { result = report(judge(attn::course::find_lesson(root, name))); });
  };
  add("stub", false, "--program", [](const Lesson& lesson) { return gate::judge_stub(lesson, fs::absolute(file)); });
  add("mistake", true, "--program",
      [](const Lesson& lesson) { return gate::judge_mistake(lesson, id, fs::absolute(file)); });
  add("golden", false, nullptr, [](const Lesson& lesson) { return gate::judge_golden(lesson); });
  add("chapter", false, nullptr, [](const Lesson& lesson) { return gate::judge_chapter(lesson); });
  add("mutate", true, "--output", [](const Lesson& lesson) {
    const std::string text = gate::mutate(lesson, id);
    fs::create_directories(fs::path(file).parent_path());
    // An unchanged mutant keeps its time, so that it is not compiled again.
    if (!fs::exists(file) || attn::course::read_file(file) != text) std::ofstream(file) << text;
    return gate::Problems{};
  });
  command.add_subcommand("house")->callback([&root, &result] { result = report(gate::judge_house(root)); });
}

}  // namespace

int main(int argc, char** argv) {
  fs::path root = ATTN_ROOT;
  std::string name;
  std::string preset = "authoring";
  std::size_t level = 1;
  std::vector<std::string> arguments;
  int result = passed;

  CLI::App app{"attention-by-hand: learn attention by writing it", "./learn"};
  app.add_option("--root", root, "the course's folder")->group("")->check(CLI::ExistingDirectory);
  app.require_subcommand(0, 1);
  app.add_subcommand("list", "the lessons, and which of them you have passed")->callback([&] { result = list(root); });
  auto* check_command =
      app.add_subcommand("check", "build a lesson and check it: exit code 0 passed, 1 failed, 2 not judged");
  check_command->add_option("lesson", name, "its number, such as 01; without it, the first that is not passed");
  check_command->callback([&] { result = check(root, name); });
  auto* hint_command = app.add_subcommand("hint", "a hint for each task of a lesson, or for one task");
  hint_command->add_option("lesson", name,
                           "a lesson (01) or a task (01.2); without it, the first lesson that is not passed");
  hint_command->add_option("--level", level, "1 a question, 2 the idea, 3 almost the line")->check(CLI::Range(1, 3));
  hint_command->callback([&] { result = hint(root, name, level); });
  auto* demo_command = app.add_subcommand("demo", "show what you wrote at work, in lessons that have a demonstration");
  demo_command->add_option("lesson", name, "its number, such as 10")->required();
  demo_command->add_option("arguments", arguments, "handed to the demonstration, after --");
  demo_command->callback([&] { result = demo(root, name, arguments); });
  auto* verify_command = app.add_subcommand("verify", "for authors: prove every promise of the course");
  verify_command->add_option("--preset", preset, "the configure preset to build and test");
  verify_command->callback([&] { result = attn::learn::verify(root, preset); });
  auto* doctor_command = app.add_subcommand("doctor", "what on this machine is missing or wrong, and what mends it");
  doctor_command->callback([&] { result = attn::learn::doctor(root, std::cout); });
  add_gate(app, root, result);

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) result = start(root);
    return result;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? passed : not_judged;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return not_judged;
  }
}
