// learn: the course's command line. ./learn makes the machine ready, builds this program and hands over to it.
//
// Exit codes: 0 passed, 1 failed, 2 could not be judged (does not compile, bad usage, missing set-up).
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <csignal>
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
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "shared/option_checks.hpp"
#include "train/options.hpp"
#include "train/saved_trainings.hpp"
#include "train_break/breaks.hpp"

namespace {

namespace fs = std::filesystem;
namespace learn = attn::learn;
using namespace attn::learn;

constexpr const char* or_current = "its number, such as 01; without it, the current one";

/// The learner's command line. Each command sets `work_`, which is done once all of the line is understood.
class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> words) : words_(std::move(words)) {
    app_.add_option("--root", root_, "the course's folder")->group("")->check(CLI::ExistingDirectory);
    app_.set_version_flag("--version", "attention-by-hand " ATTN_VERSION);
    app_.add_flag("--plain", plain_, "no colour, no cursor movement, words for symbols");
    constexpr std::size_t names = 22;  // columns
    app_.get_formatter()->column_width(names);
    app_.failure_message([this](const CLI::App*, const CLI::Error& error) {
      const auto typed = app_.get_subcommands();
      const bool extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);  // CLI11 reverses them
      const auto what = extra ? "not expected: " + attn::joined(app_.remaining(true), " ") : std::string(error.what());
      return attn::harmless_text(what) + "\n./learn " + (typed.empty() ? "" : typed.front()->get_name() + " ") +
             "--help shows what there is.\n";
    });
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    add_lessons();
    add_help();
    add_practice();
    add_demonstrations();
    add_care();
  }

  int run() {
    try {
      if (words_ == std::vector<std::string>{"help"}) words_ = {"--help"};
      if (words_.size() == 1 && std::isdigit(static_cast<unsigned char>(words_[0][0])) != 0) {  // ./learn 07
        words_.insert(words_.begin(), "watch");
      }
      app_.parse(std::vector<std::string>(words_.rbegin(), words_.rend()));  // CLI11 wants the last one first
      Course course{fs::absolute(root_), Style::of_output(plain_, root_), {root_, std::cerr}};
      return work_(course);
    } catch (const CLI::ParseError& error) {
      return explain(error);
    } catch (const std::exception& error) {
      std::cerr << Style::of_output(plain_)(attn::harmless_text(error.what())) << "\n";
      return exit_not_judged;
    }
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<int(Course&)> work) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->callback([this, work = std::move(work)] { work_ = work; });
    command->group(group_);
    return command;
  }

  CLI::Option* add_lesson(CLI::App* command, const char* what) { return command->add_option("lesson", lesson_, what); }

  int watch_or_overview(Course& course) const {
    if (!lesson_.empty()) {
      const auto wanted = wanted_lesson(course, lesson_);
      course.store.update([&](State& state) { state.current = wanted.name; });
    }
    return Terminal::available() ? watch(course) : overview(course);
  }

  void add_lessons() {
    group_ = "Lessons";
    add_lesson(add("watch", "go through the lessons: checks on every save (the same as ./learn alone)", work_),
               "where to begin; ./learn 07 will do");
    add("list", "the lessons, and where you stand", [this](Course& c) {
      return list(c, json_);
    })->add_flag("--json", json_, "for programs");
    CLI::App* check = add("check", "build a lesson and check it: exit code 0 passed, 1 failed, 2 not judged",
                          [this](Course& c) { return learn::check(c, lesson_, json_, sanitized_); });
    add_lesson(check, "its number, such as 01; a task, such as 01.2; or all; without it, the current one");
    check->add_flag("--json", json_, "for programs");
    check->add_flag("--asan", sanitized_, "with AddressSanitizer: finds the line of a wrong memory access");
    add("next", "go on to the next lesson", next);
  }

  void add_help() {
    CLI::App* read = add("read", "a lesson's chapter, here in the terminal", [this](Course& c) {
      return in_browser_ ? open_chapter(c, lesson_) : read_chapter(c, lesson_);
    });
    add_lesson(read, or_current);
    read->add_flag("--web", in_browser_, "in a browser instead, as docs/site has built it");
    CLI::App* hint = add("hint", "a hint for each task of a lesson, or for one task",
                         [this](Course& c) { return learn::hint(c, lesson_, level_); });
    add_lesson(hint, "a lesson (01) or a task (01.2); without it, the current lesson");
    hint->add_option("--level", level_, "1 a question, 2 the idea, 3 almost the line")->check(CLI::Range(1, 3));
    CLI::App* solution =
        add("solution", "the reference", [this](Course& c) { return learn::solution(c, lesson_, diff_); });
    add_lesson(solution, or_current);
    solution->add_flag("--diff", diff_, "beside what you wrote");
  }

  void add_demonstrations() {
    group_ = "Models, and your code at work";
    CLI::App* demo =
        add("demo", "show what you wrote at work, in lessons that have a demonstration",
            [this](Course& c) { return trained_ ? trained_demo(c) : learn::demo(c, lesson_, reference_, for_demo_); });
    add_lesson(demo, "its number, such as 10")->required();
    demo->add_flag("--reference", reference_, "show the reference at work, before you wrote yours");
    demo->add_option("arguments", for_demo_, "handed to the demonstration, after --; with --trained, a sentence");
    CLI::Option* trained = demo->add_flag("--trained", trained_, "lesson 10: with weights that were trained");
    demo->add_option("--layer", layer_, "with --trained: from 0; without it, what shows most")
        ->check(CLI::Range(0, 9999))
        ->needs(trained);
    demo->add_option("--head", head_, "with --trained: from 0")->check(CLI::Range(0, 9999))->needs(trained);
    demo->add_option("--svg", svg_, "with --trained: a picture of the layer's heads, into this new file")
        ->needs(trained);

    CLI::App* generate =
        add("generate", "let a language model write a text: its attention is what you wrote", [this](Course& c) {
          const auto words = words_after("generate");
          return generate_.reference ? run_reference(c, "generate_solution", words) : run_model(c, "generate", words);
        });
    add_generate_options(*generate, generate_);
    CLI::App* train = add("train", "let a small transformer learn a task or a text, with the gradients that you wrote",
                          [this](Course& c) { return learn_with(c); });
    add_train_options(*train, train_);
    for (CLI::App* program : {generate, train}) {
      program->footer([this, name = program->get_name()] {
        const auto numbers = lessons_of_program(root_, name);
        return "Its parts are lessons " + attn::joined(numbers, ", ") + ": of those that pass, your files run.";
      });
    }
  }

  int learn_with(Course& course) const {
    const auto words = words_after("train");
    if (train_.resume) {
      attn::training::require_training(train_.resume->empty() ? attn::training::newest_training()
                                                              : fs::path(*train_.resume));
    }
    if (train_.fast) {
      return run_reference(course, "train_fast_solution", words,
                           "The fast kernels make the steps; all else is the reference's.");
    }
    if (!train_.broken) {
      return train_.reference ? run_reference(course, "train_solution", words) : run_model(course, "train", words);
    }
    if (train_.broken->empty()) {
      course.print(attn::training::list_of_breaks());
      return exit_passed;
    }
    const auto broken = attn::training::break_named(*train_.broken, course.root);
    if (broken.is_mine()) return run_own_backward_pass(course, words);
    return run_reference(course, "train_break_solution", words,
                         "Both trainings run the reference's code, one of them with the mistake in it.");
  }

  /// What was typed after a command, for the program that reads it again; without what the tool reads wherever it is.
  std::vector<std::string> words_after(const std::string& command) const {
    std::vector<std::string> rest(std::find(words_.begin(), words_.end(), command) + 1, words_.end());
    const auto options_end = std::find(rest.begin(), rest.end(), "--");
    rest.erase(std::remove(rest.begin(), options_end, "--plain"), options_end);
    return rest;
  }

  /// The map of one head of models/small, by the program of ./learn generate.
  int trained_demo(Course& course) const {
    const auto lesson = wanted_lesson(course, lesson_);
    if (lesson.number() != "10") {
      throw std::invalid_argument("lesson " + lesson.title() + " has no trained demonstration; lesson 10 has one");
    }
    std::vector<std::string> words = {"--trained"};
    if (reference_) words.push_back("--reference");
    if (layer_ || head_) {
      words.push_back("--attention=" + std::to_string(layer_.value_or(0)) + "." + std::to_string(head_.value_or(0)));
    }
    if (!svg_.empty()) words.push_back("--svg=" + svg_);
    words.insert(words.end(), for_demo_.begin(), for_demo_.end());
    return reference_ ? run_reference(course, "generate_solution", words) : run_model(course, "generate", words);
  }

  void add_practice() {
    group_ = "Interviews";
    CLI::App* interview = add("interview", "a lesson on a blank page, against the clock", [this](Course& c) {
      return learn::interview(c, random_ ? random_lesson(c) : lesson_, minutes_);
    });
    CLI::Option* named =
        add_lesson(interview, "its number, such as 05; without it, 05, then 12, then the least recent one");
    interview->add_flag("--random", random_, "a random lesson, of those that you passed")->excludes(named);
    interview->add_option("--minutes", minutes_, "how long")
        ->check(attn::number_that([](double x) { return x >= 0.05 && x <= 600; }, "from 0.05 to 600, such as 45"));
    interview->footer(
        "The stricter try of lessons 05 and 12: #include \"attn/strict.hpp\" instead of attn/masking.hpp. The compiler "
        "then "
        "refuses the functions that mask and normalise.");
    CLI::App* review =
        add("review", "questions to answer aloud and lessons to redo: what is due today, or more", [this](Course& c) {
          return learn::review(c, {lesson_, all_, weak_, fresh_, questions_});
        });
    CLI::Option* all = review->add_flag("--all", all_, "every question, and the lessons that you passed; due or not");
    CLI::Option* weak = review->add_flag("--weak", weak_, "what you failed last or found hard, due or not");
    CLI::Option* lesson = review->add_option("--lesson", lesson_, "one lesson, such as 07, due or not");
    CLI::Option* fresh = review->add_flag("--new", fresh_, "new questions, of lessons that you have not passed");
    review->add_option("--questions", questions_, "only questions, and no more than so many: the most asked ones")
        ->check(CLI::Range(1, 9999));
    all->excludes(weak)->excludes(lesson)->excludes(fresh);
    weak->excludes(lesson)->excludes(fresh);
    lesson->excludes(fresh);
    CLI::App* plan = add("plan", "what to learn before an interview, day by day, the most asked first",
                         [this](Course& c) { return learn::plan(c, until_, hours_); });
    plan->add_option("--until", until_, "the interview: tomorrow, Thursday, 2026-12-03");
    plan->add_option("--hours", hours_, "to learn in all, until then; without it, two per day")
        ->check(attn::number_that([](double x) { return x >= 0.25 && x <= 400; }, "from 0.25 to 400, such as 1.5"));
    add("stats", "passed, attempts, best times, and your most frequent mistakes", stats);
  }

  void add_care() {
    group_ = "The course, and repairs";
    add_lesson(add("reset", "put a lesson's stubs back; what you wrote is kept in a backup",
                   [this](Course& c) { return reset_lesson(c, lesson_); }),
               or_current);
    CLI::App* backups = add("backups", "the copies that were kept before something was replaced",
                            [this](Course& c) { return restore_ ? restore_backup(c, backup_) : list_backups(c); });
    CLI::App* restore = backups->add_subcommand("restore", "put one back; what it replaces is kept too");
    restore->add_option("name", backup_, "as ./learn backups shows it, or its beginning; without it, the newest");
    restore->callback([this] { restore_ = true; });
    add("update", "fetch the newest course with git; what you wrote stays", update);
    add("doctor", "what on this machine is missing or wrong, and the line that fixes it",
        [](Course& c) { return doctor(c.root, std::cout); });
    add("version", "the version of the course", version);
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

  /// Prints what CLI11 has to say, such as its help, as wide as the terminal, and what was probably meant.
  int explain(const CLI::ParseError& error) const {
    std::ostringstream out;
    std::ostringstream complaint;
    const int code = app_.exit(error, out, complaint);
    const Style style = Style::of_output(plain_);
    std::cout << style(help_lines(out.str())) << (out.str().empty() ? "" : "\n");
    if (code == 0) return exit_passed;
    std::cerr << style(attn::shown_lines(complaint.str()));
    std::vector<std::string> commands;
    for (const auto* command : app_.get_subcommands(nullptr)) commands.push_back(command->get_name());
    std::vector<std::string> options;
    std::vector<const CLI::App*> read = {&app_};  // those that were typed, and what all of them have
    for (const CLI::App* command : app_.get_subcommands()) read.push_back(command);
    for (const CLI::App* command : read) {
      for (const auto* option : command->get_options()) {
        for (const auto& name : option->get_lnames()) options.push_back("--" + name);
      }
    }
    std::vector<std::string> typed = words_;
    const auto folder = std::find(typed.begin(), typed.end(), "--root");  // the launcher gives it
    if (typed.end() - folder >= 2) typed.erase(folder, folder + 2);
    const std::string line = meant(typed, commands, options);
    if (!line.empty()) std::cerr << attn::shown_lines("Did you mean: ./learn " + line);
    return exit_not_judged;
  }

  CLI::App app_{"attention-by-hand: learn attention by writing it\n./learn alone starts, and goes on where you were.",
                "./learn"};
  std::vector<std::string> words_;
  std::string group_;  ///< of the commands that are added
  std::function<int(Course&)> work_ = [this](Course& course) { return watch_or_overview(course); };

  fs::path root_ = ATTN_ROOT;
  bool plain_ = false;
  bool json_ = false;
  bool sanitized_ = false;
  bool in_browser_ = false;
  std::string lesson_;
  std::string backup_;
  std::size_t level_ = 1;
  bool restore_ = false;
  bool diff_ = false;
  bool random_ = false;
  bool all_ = false;
  bool weak_ = false;
  bool fresh_ = false;
  std::optional<std::size_t> questions_;
  bool reference_ = false;
  std::optional<double> minutes_;
  std::string until_;
  std::optional<double> hours_;
  std::vector<std::string> for_demo_;
  bool trained_ = false;
  std::optional<std::size_t> layer_;
  std::optional<std::size_t> head_;
  std::string svg_;
  attn::generating::GenerateOptions generate_;
  attn::training::TrainOptions train_;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, [](int) {});  // what is written beyond `ulimit -f` fails; programs that are started end by it
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);  // closed: else a file of ours takes its place
  }
  const int code = CommandLine({argv + 1, argv + argc}).run();
  if (std::cout.flush()) return code;
  std::cerr << "The output could not be written.\n";
  return exit_not_judged;
}
