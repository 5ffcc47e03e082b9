// learn: the course's command line. ./learn makes the machine ready, builds this program and hands over to it.
//
// Exit codes: 0 passed, 1 failed, 2 could not be judged (does not compile, bad usage, missing set-up).
#include <CLI/CLI.hpp>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>

#include "judge/process.hpp"
#include "learn/commands/commands.hpp"
#include "learn/commands/doctor/doctor.hpp"
#include "learn/screens/interview.hpp"
#include "learn/screens/review.hpp"
#include "learn/screens/watch.hpp"

namespace {

namespace fs = std::filesystem;
using attn::learn::Course;

/// What the commands take from the command line.
struct Arguments {
  bool plain = false;
  bool json = false;
  bool sanitized = false;
  std::string lesson;
  std::string backup;
  std::size_t level = 1;
  bool restore = false;
  bool diff = false;
  std::optional<double> minutes;
  std::vector<std::string> for_demo;
};

/// The learner's commands. Each sets `run`, which does the work once all of the command line is understood.
void add_commands(CLI::App& app, Arguments& given, std::function<int(Course&)>& run) {
  using namespace attn::learn;
  const auto add = [&](const char* name, const char* what, std::function<int(Course&)> work) {
    CLI::App* command = app.add_subcommand(name, what);
    command->callback([&run, work = std::move(work)] { run = work; });
    return command;
  };
  const auto lesson_of = [&](CLI::App* command, const char* what) {
    command->add_option("lesson", given.lesson, what);
  };
  const char* const or_current = "its number, such as 01; without it, the current one";
  const auto watch_or_tell = [&](Course& course) {
    if (!given.lesson.empty()) {
      const auto wanted = wanted_lesson(course, given.lesson);
      course.store.update([&](State& state) { state.current = wanted.name; });
    }
    return Terminal::available() ? watch(course, given.plain) : overview(course);
  };
  run = watch_or_tell;

  lesson_of(add("watch", "go through the lessons: checks on every save (the same as ./learn alone)", watch_or_tell),
            "where to begin; ./learn 07 will do");
  CLI::App* command = add("list", "the lessons, and where you stand", [&](Course& c) { return list(c, given.json); });
  command->add_flag("--json", given.json, "for programs");
  command = add("check", "build a lesson and check it: exit code 0 passed, 1 failed, 2 not judged",
                [&](Course& c) { return check(c, given.lesson, given.json, given.sanitized); });
  lesson_of(command, "its number, such as 01, or all; without it, the current one");
  command->add_flag("--json", given.json, "for programs");
  command->add_flag("--asan", given.sanitized, "with AddressSanitizer: finds the line of a wrong memory access");
  command = add("hint", "a hint for each task of a lesson, or for one task",
                [&](Course& c) { return hint(c, given.lesson, given.level); });
  lesson_of(command, "a lesson (01) or a task (01.2); without it, the current lesson");
  command->add_option("--level", given.level, "1 a question, 2 the idea, 3 almost the line")->check(CLI::Range(1, 3));
  lesson_of(add("reset", "put a lesson's stubs back; what you wrote is kept in a backup",
                [&](Course& c) { return reset_lesson(c, given.lesson); }),
            or_current);
  command = add("solution", "the reference", [&](Course& c) { return solution(c, given.lesson, given.diff); });
  lesson_of(command, or_current);
  command->add_flag("--diff", given.diff, "beside what you wrote");
  add("next", "go on to the next lesson", [](Course& c) { return next(c); });
  command = add("demo", "show what you wrote at work, in lessons that have a demonstration",
                [&](Course& c) { return demo(c, given.lesson, given.for_demo); });
  command->add_option("lesson", given.lesson, "its number, such as 10")->required();
  command->add_option("arguments", given.for_demo, "handed to the demonstration, after --");

  command = add("interview", "a lesson on a blank page, against the clock",
                [&](Course& c) { return interview(c, given.lesson, given.minutes, given.plain); });
  lesson_of(command, "its number, such as 05; without it, 05, then 12, then the one of longest ago");
  command->add_option("--minutes", given.minutes, "how long")->check(CLI::Range(0.05, 600.0));
  add("review", "what is due today: questions to answer aloud, lessons to redo",
      [&](Course& c) { return review(c, given.plain); });
  add("stats", "passed, attempts, best times, and your most frequent mistakes", [](Course& c) { return stats(c); });

  command = add("backups", "the copies that were kept before something was replaced",
                [&](Course& c) { return given.restore ? restore_backup(c, given.backup) : list_backups(c); });
  CLI::App* restore = command->add_subcommand("restore", "put one back; what it replaces is kept too");
  restore->add_option("name", given.backup, "as ./learn backups shows it, or its beginning; without it, the newest");
  restore->callback([&given] { given.restore = true; });
  add("update", "fetch the newest course with git; what you wrote stays", [](Course& c) { return update(c); });
  add("doctor", "what on this machine is missing or wrong, and the line that mends it",
      [](Course& c) { return doctor(c.root, std::cout); });
  add("version", "the version of the course", [](Course& c) { return version(c); });
  add("verify", "for authors: prove every promise of the course", [](Course& c) {
    return attn::judge::run({(c.root / "learn").string(), "verify"}, c.root);
  });  // it knows how
}

}  // namespace

int main(int argc, char** argv) {
  fs::path root = ATTN_ROOT;
  Arguments given;
  std::function<int(Course&)> run;

  CLI::App app{"attention-by-hand: learn attention by writing it", "./learn"};
  app.add_option("--root", root, "the course's folder")->group("")->check(CLI::ExistingDirectory);
  app.set_version_flag("--version", "attention-by-hand " ATTN_VERSION);
  app.add_flag("--plain", given.plain, "no colour, no cursor movement (so does NO_COLOR)");
  app.require_subcommand(0, 1);
  app.fallthrough();
  add_commands(app, given, run);

  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"help"}) words = {"--help"};
    if (words.size() == 1 && std::isdigit(static_cast<unsigned char>(words[0][0])) != 0) {  // ./learn 07
      words.insert(words.begin(), "watch");
    }
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last one first
    Course course{fs::absolute(root), attn::learn::Style::of_output(given.plain), {root, std::cerr}};
    return run(course);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? attn::learn::exit_passed : attn::learn::exit_not_judged;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return attn::learn::exit_not_judged;
  }
}
