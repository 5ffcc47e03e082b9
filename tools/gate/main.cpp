// gate: what authors run, as `./learn verify`, and CTest.
//
// Exit codes: 0 every promise holds, 1 one is broken, 2 it could not be judged.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "gate/derived.hpp"
#include "gate/lint.hpp"
#include "gate/mutants.hpp"
#include "gate/operations.hpp"
#include "gate/verify.hpp"
#include "lesson/lesson.hpp"

namespace {

namespace fs = std::filesystem;
namespace gate = attn::gate;
using attn::lesson::Lesson;

/// What the command line says.
struct Options {
  fs::path root = ATTN_ROOT;
  std::string lesson;
  std::string name;  ///< of a test, or of a file of the solution
  fs::path file;     ///< the build folder, or an output
  std::vector<std::string> command;
  bool reads_repository = false;
  bool write = false;
  bool lessons = false;

  std::vector<Lesson> lessons_meant() const {
    if (lesson.empty()) return attn::lesson::find_lessons(root);
    return {attn::lesson::find_lesson(root, lesson)};
  }
};

int verify(const Options& options) {
  if (options.write) {
    const auto written = gate::write_derived(options.root);
    for (const auto& file : written) std::cout << "written: " << file.string() << "\n";
    if (written.empty()) std::cout << "all that is derived is fresh\n";
    const int recorded = gate::record_mistakes(options.root, options.lessons_meant());
    if (recorded != 0 || options.lesson.empty()) return recorded;
  }
  const bool lessons_alone = options.lessons || !options.lesson.empty();
  return lessons_alone ? gate::verify_lessons(options.lessons_meant()) : gate::verify(options.root);
}

/// What CMake and CTest call.
void add_steps(CLI::App& app, Options& o, int& result) {
  CLI::App* judge =
      app.add_subcommand("judge", "judges a lesson, if something that the verdict depends on has changed");
  judge->add_option("lesson", o.lesson)->required();
  judge->add_option("--programs", o.file, "the build folder")->required();
  judge->callback([&] {
    const Lesson lesson = attn::lesson::find_lesson(o.root, o.lesson);
    const auto judgement = gate::judge_lesson(lesson, fs::absolute(o.file));
    result = gate::print_judgements({lesson}, {{lesson.name, judgement}}, std::cout) ? 0 : 1;
  });

  CLI::App* test =
      app.add_subcommand("test", "runs a test, if something that it depends on has changed since it passed");
  test->add_option("name", o.name)->required();
  test->add_option("--build", o.file, "the build folder")->required();
  test->add_flag("--reads-repository", o.reads_repository, "it depends on the repository and on what is built");
  test->add_option("command", o.command, "after --")->required();
  test->callback([&] { result = gate::run_test(o.root, fs::absolute(o.file), o.name, o.command, o.reads_repository); });

  CLI::App* mutate = app.add_subcommand("mutate-all", "writes a file of the solution with its mistakes to choose from");
  mutate->add_option("lesson", o.lesson)->required();
  mutate->add_option("solution", o.name, "the file's name")->required();
  mutate->add_option("--output", o.file)->required();
  mutate->callback(
      [&] { gate::write_if_changed(o.file, gate::mutate_all(attn::lesson::find_lesson(o.root, o.lesson), o.name)); });

  CLI::App* operations = app.add_subcommand("record-operations", "what operations.py calls");
  operations->add_option("lesson", o.lesson)->required();
  operations->add_option("--made", o.file, "the folder where it made edits, and a program of them")->required();
  operations->callback(
      [&] { gate::record_operations(attn::lesson::find_lesson(o.root, o.lesson), fs::absolute(o.file), std::cout); });

  app.add_subcommand("repository", "what is derived is fresh, and links lead somewhere")->callback([&] {
    for (const auto& problem : gate::lint_repository(o.root)) {
      std::cout << "✗ " << problem << "\n";
      result = 1;
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int result = 0;
  const bool by_launcher = argc > 1 && std::string(argv[1]) == "verify";

  CLI::App app{"attention-by-hand, for authors: the promises of the course", by_launcher ? "./learn" : "gate"};
  const auto make_absolute = [](std::string& path) {  // programs run in other folders
    path = fs::absolute(path).string();
    return std::string();
  };
  app.add_option("--root", options.root, "the course's folder")
      ->check(CLI::ExistingDirectory)
      ->transform(CLI::Validator(make_absolute, ""));
  app.require_subcommand(1);
  CLI::App* all = app.add_subcommand("verify", "Proves every promise of the course: configures, builds and tests it.");
  auto* one =
      all->add_option("--lesson", options.lesson, "only this one, in seconds: what an author runs for each commit");
  all->add_flag("--lessons", options.lessons, "the lessons alone, without the tests of the tools")->excludes(one);
  all->add_flag("--write", options.write, "write what is derived from the lessons; judge only with --lesson");
  all->callback([&] { result = verify(options); });
  add_steps(app, options, result);

  try {
    app.parse(argc, argv);
    return result;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
