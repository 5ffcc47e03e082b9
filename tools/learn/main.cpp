// learn: the course's command line. ./learn makes the machine ready, builds this program and hands over to it.
//
// Exit codes: 0 passed, 1 failed, 2 could not be judged (does not compile, bad usage, missing set-up).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "generate/options.hpp"
#include "learn/commands/commands.hpp"
#include "learn/commands/doctor/doctor.hpp"
#include "learn/commands/own_parts.hpp"
#include "learn/commands/plan.hpp"
#include "learn/commands/usage.hpp"
#include "learn/screens/screens.hpp"
#include "learn/screens/terminal.hpp"
#include "run/process.hpp"
#include "train/options.hpp"

namespace {

namespace fs = std::filesystem;
namespace learn = attn::learn;
using namespace attn::learn;

/// What the commands take from the command line.
struct Arguments {
  bool plain = false;
  bool json = false;
  bool sanitized = false;
  bool in_browser = false;
  std::string lesson;
  std::string backup;
  std::size_t level = 1;
  bool restore = false;
  bool diff = false;
  bool random = false;
  bool all = false;
  bool weak = false;
  bool reference = false;
  std::optional<double> minutes;
  std::string until;
  std::optional<double> hours;
  std::vector<std::string> for_demo;
  bool trained = false;
  std::optional<std::size_t> layer;
  std::optional<std::size_t> head;
  std::string svg;
  attn::generating::GenerateOptions generate;
  attn::training::TrainOptions train;
};

constexpr const char* or_current = "its number, such as 01; without it, the current one";

/// The learner's commands. Each sets `run`, which does the work once all of the command line is understood.
class Commands {
 public:
  /// @param words the command line
  Commands(CLI::App& app, const std::vector<std::string>& words, Arguments& given, std::function<int(Course&)>& run)
      : app_(app), words_(words), given_(given), run_(run) {
    run_ = [this](Course& course) { return watch_or_overview(course); };
    add_lessons();
    add_help();
    add_demonstrations();
    add_practice();
    add_care();
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<int(Course&)> work) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->callback([this, work = std::move(work)] { run_ = work; });
    return command;
  }

  CLI::Option* lesson_of(CLI::App* command, const char* what) {
    return command->add_option("lesson", given_.lesson, what);
  }

  int watch_or_overview(Course& course) const {
    if (!given_.lesson.empty()) {
      const auto wanted = wanted_lesson(course, given_.lesson);
      course.store.update([&](State& state) { state.current = wanted.name; });
    }
    return Terminal::available() ? watch(course) : overview(course);
  }

  void add_lessons() {
    lesson_of(add("watch", "go through the lessons: checks on every save (the same as ./learn alone)", run_),
              "where to begin; ./learn 07 will do");
    add("list", "the lessons, and where you stand", [this](Course& c) {
      return list(c, given_.json);
    })->add_flag("--json", given_.json, "for programs");
    CLI::App* check = add("check", "build a lesson and check it: exit code 0 passed, 1 failed, 2 not judged",
                          [this](Course& c) { return learn::check(c, given_.lesson, given_.json, given_.sanitized); });
    lesson_of(check, "its number, such as 01; a task, such as 01.2; or all; without it, the current one");
    check->add_flag("--json", given_.json, "for programs");
    check->add_flag("--asan", given_.sanitized, "with AddressSanitizer: finds the line of a wrong memory access");
    add("next", "go on to the next lesson", [](Course& c) { return next(c); });
  }

  void add_help() {
    CLI::App* read = add("read", "a lesson's chapter, here in the terminal", [this](Course& c) {
      return given_.in_browser ? open_chapter(c, given_.lesson) : read_chapter(c, given_.lesson);
    });
    lesson_of(read, or_current);
    read->add_flag("--web", given_.in_browser, "in a browser instead, as docs/site has built it");
    CLI::App* hint = add("hint", "a hint for each task of a lesson, or for one task",
                         [this](Course& c) { return learn::hint(c, given_.lesson, given_.level); });
    lesson_of(hint, "a lesson (01) or a task (01.2); without it, the current lesson");
    hint->add_option("--level", given_.level, "1 a question, 2 the idea, 3 almost the line")->check(CLI::Range(1, 3));
    CLI::App* solution =
        add("solution", "the reference", [this](Course& c) { return learn::solution(c, given_.lesson, given_.diff); });
    lesson_of(solution, or_current);
    solution->add_flag("--diff", given_.diff, "beside what you wrote");
  }

  void add_demonstrations() {
    CLI::App* demo =
        add("demo", "show what you wrote at work, in lessons that have a demonstration", [this](Course& c) {
          return given_.trained ? trained_demo(c, given_.lesson, words_for_trained(), given_.reference)
                                : learn::demo(c, given_.lesson, given_.reference, given_.for_demo);
        });
    lesson_of(demo, "its number, such as 10")->required();
    demo->add_flag("--reference", given_.reference, "show the reference at work, before you wrote yours");
    demo->add_option("arguments", given_.for_demo, "handed to the demonstration, after --; with --trained, a sentence");
    CLI::Option* trained = demo->add_flag("--trained", given_.trained, "lesson 10: with weights that were trained");
    demo->add_option("--layer", given_.layer, "with --trained: from 0; without it, what shows most")
        ->check(CLI::Range(0, 9999))
        ->needs(trained);
    demo->add_option("--head", given_.head, "with --trained: from 0")->check(CLI::Range(0, 9999))->needs(trained);
    demo->add_option("--svg", given_.svg, "with --trained: a picture of the layer's heads, into this new file")
        ->needs(trained);

    CLI::App* generate =
        add("generate", "let a language model write a text: its attention is what you wrote",
            [this](Course& c) { return run_model(c, "generate", words_after("generate"), given_.generate.reference); });
    add_generate_options(*generate, given_.generate);
    CLI::App* train =
        add("train", "let a small transformer learn a task or a text, with the gradients that you wrote",
            [this](Course& c) {
              const bool broken = given_.train.broken.has_value();  // with the reference's code; so is fast
              const std::string program = broken ? "train_break" : given_.train.fast ? "train_fast" : "train";
              return run_model(c, program, words_after("train"), program != "train" || given_.train.reference);
            });
    add_train_options(*train, given_.train);
  }

  /// What was typed after a command, for the program that reads it again; without what the tool reads wherever it is.
  std::vector<std::string> words_after(const std::string& command) const {
    std::vector<std::string> rest(std::find(words_.begin(), words_.end(), command) + 1, words_.end());
    const auto options_end = std::find(rest.begin(), rest.end(), "--");
    rest.erase(std::remove(rest.begin(), options_end, "--plain"), options_end);
    return rest;
  }

  std::vector<std::string> words_for_trained() const {
    std::vector<std::string> words;
    if (given_.layer || given_.head) {
      words.push_back("--attention=" + std::to_string(given_.layer.value_or(0)) + "." +
                      std::to_string(given_.head.value_or(0)));
    }
    if (!given_.svg.empty()) words.push_back("--svg=" + given_.svg);
    words.insert(words.end(), given_.for_demo.begin(), given_.for_demo.end());
    return words;
  }

  void add_practice() {
    CLI::App* interview = add("interview", "a lesson on a blank page, against the clock", [this](Course& c) {
      return learn::interview(c, given_.random ? random_lesson(c) : given_.lesson, given_.minutes);
    });
    CLI::Option* named =
        lesson_of(interview, "its number, such as 05; without it, 05, then 12, then the least recent one");
    interview->add_flag("--random", given_.random, "a lesson by chance, of those that you passed")->excludes(named);
    interview->add_option("--minutes", given_.minutes, "how long")->check(CLI::Range(0.05, 600.0));
    add_review();
    CLI::App* plan = add("plan", "what to learn before an interview, day by day, the most asked first",
                         [this](Course& c) { return learn::plan(c, given_.until, given_.hours); });
    plan->add_option("--until", given_.until, "the interview: tomorrow, Thursday, 2026-12-03")->required();
    plan->add_option("--hours", given_.hours, "to learn in all, until then; without it, two per day")
        ->check(CLI::Range(0.25, 400.0));
    add("stats", "passed, attempts, best times, and your most frequent mistakes", [](Course& c) { return stats(c); });
  }

  void add_review() {
    CLI::App* review =
        add("review", "questions to answer aloud and lessons to redo: what is due today, or more", [this](Course& c) {
          return learn::review(c, {given_.lesson, given_.all, given_.weak});
        });
    CLI::Option* all =
        review->add_flag("--all", given_.all, "every question, and the lessons that you passed; due or not");
    CLI::Option* weak = review->add_flag("--weak", given_.weak, "what you failed last or found hard, due or not");
    CLI::Option* lesson = review->add_option("--lesson", given_.lesson, "one lesson, such as 07, due or not");
    all->excludes(weak)->excludes(lesson);
    weak->excludes(lesson);
  }

  void add_care() {
    lesson_of(add("reset", "put a lesson's stubs back; what you wrote is kept in a backup",
                  [this](Course& c) { return reset_lesson(c, given_.lesson); }),
              or_current);
    CLI::App* backups = add("backups", "the copies that were kept before something was replaced", [this](Course& c) {
      return given_.restore ? restore_backup(c, given_.backup) : list_backups(c);
    });
    CLI::App* restore = backups->add_subcommand("restore", "put one back; what it replaces is kept too");
    restore->add_option("name", given_.backup, "as ./learn backups shows it, or its beginning; without it, the newest");
    restore->callback([this] { given_.restore = true; });
    add("update", "fetch the newest course with git; what you wrote stays", [](Course& c) { return update(c); });
    add("doctor", "what on this machine is missing or wrong, and the line that fixes it",
        [](Course& c) { return doctor(c.root, std::cout); });
    add("version", "the version of the course", [](Course& c) { return version(c); });
    add("verify", "for authors: prove every promise of the course",
        [this](Course& c) {
          std::vector<std::string> command = {(c.root / "learn").string(), "verify"};  // ./learn knows how
          const auto options = app_.get_subcommand("verify")->remaining();
          command.insert(command.end(), options.begin(), options.end());
          return attn::judge::run(command, c.root);
        })
        ->fallthrough(false)
        ->prefix_command();
  }

  CLI::App& app_;
  const std::vector<std::string>& words_;
  Arguments& given_;
  std::function<int(Course&)>& run_;
};

/// Prints what CLI11 has to say, such as its help, as wide as the terminal, and what was probably meant.
int explain(const CLI::App& app, const CLI::ParseError& error, std::vector<std::string> words,
            const attn::learn::Style& style) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  std::cout << style(help_lines(out.str())) << (out.str().empty() ? "" : "\n");
  std::cerr << err.str();
  if (code == 0) return attn::learn::exit_passed;
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands(nullptr)) commands.push_back(command->get_name());
  const auto folder = std::find(words.begin(), words.end(), "--root");  // the launcher gives it
  if (words.end() - folder >= 2) words.erase(folder, folder + 2);
  const std::string line = meant(words, commands);
  if (!line.empty()) std::cerr << "Did you mean: ./learn " << line << "\n";
  return attn::learn::exit_not_judged;
}

}  // namespace

int main(int argc, char** argv) {
  fs::path root = ATTN_ROOT;
  Arguments given;
  std::function<int(Course&)> run;

  CLI::App app{"attention-by-hand: learn attention by writing it", "./learn"};
  app.add_option("--root", root, "the course's folder")->group("")->check(CLI::ExistingDirectory);
  app.set_version_flag("--version", "attention-by-hand " ATTN_VERSION);
  app.add_flag("--plain", given.plain, "no colour, no cursor movement, words for symbols");
  constexpr std::size_t names = 22;  // columns
  app.get_formatter()->column_width(names);
  app.require_subcommand(0, 1);
  app.fallthrough();
  std::vector<std::string> words(argv + 1, argv + argc);
  const Commands commands(app, words, given, run);

  try {
    if (words == std::vector<std::string>{"help"}) words = {"--help"};
    if (words.size() == 1 && std::isdigit(static_cast<unsigned char>(words[0][0])) != 0) {  // ./learn 07
      words.insert(words.begin(), "watch");
    }
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last one first
    Course course{fs::absolute(root), attn::learn::Style::of_output(given.plain, root), {root, std::cerr}};
    return run(course);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, words, attn::learn::Style::of_output(given.plain));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return attn::learn::exit_not_judged;
  }
}
