// gate: what authors run, as `./learn verify`, and CTest.
//
// Exit codes: 0 every promise holds, 1 one is broken, 2 it could not be judged.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "gate/answers.hpp"
#include "gate/derived.hpp"
#include "gate/gate.hpp"
#include "gate/mutants.hpp"
#include "gate/verify.hpp"
#include "lesson/lesson.hpp"

namespace {

namespace fs = std::filesystem;
namespace gate = attn::gate;
using attn::lesson::Lesson;

int report(const gate::Problems& problems) {
  for (const auto& problem : problems) std::cout << "✗ " << problem << "\n";
  return problems.empty() ? 0 : 1;
}

/// What the command line says.
struct Options {
  fs::path root = ATTN_ROOT;
  std::string preset = "authoring";
  std::string lesson;
  std::string name;  ///< of a mistake, or of a file of the solution
  fs::path file;     ///< a program to judge, a folder of them, or an output
  bool write = false;
  bool lessons = false;
};

int verify(const Options& options) {
  if (options.write) {
    const auto written = gate::write_derived(options.root);
    for (const auto& file : written) std::cout << "written: " << file.string() << "\n";
    if (written.empty()) std::cout << "all that is derived is fresh\n";
    std::vector<Lesson> lessons = attn::lesson::find_lessons(options.root);
    if (!options.lesson.empty()) lessons = {attn::lesson::find_lesson(options.root, options.lesson)};
    const int recorded = gate::record_mistakes(options.root, lessons, options.preset);
    if (recorded != 0 || options.lesson.empty()) return recorded;
  }
  if (options.lessons) return gate::verify_lessons(attn::lesson::find_lessons(options.root), options.preset);
  if (options.lesson.empty()) return gate::verify(options.root, options.preset);
  return gate::verify_lessons({attn::lesson::find_lesson(options.root, options.lesson)}, options.preset);
}

/// Writes a mutant. An unchanged one keeps its time, so that it is not compiled again.
gate::Problems write(const std::string& text, const fs::path& file) {
  fs::create_directories(file.parent_path());
  if (!fs::exists(file) || attn::lesson::read_file(file) != text) std::ofstream(file) << text;
  return {};
}

/// The judgements one by one, as CTest calls them.
void add_judgements(CLI::App& app, Options& o, int& result) {
  const auto add = [&](const char* what, const char* promise, const char* name, const char* file, auto judge) {
    CLI::App& one = *app.add_subcommand(what, promise);
    one.add_option("lesson", o.lesson)->required();
    if (name != nullptr) one.add_option(name, o.name)->required();
    if (file != nullptr) one.add_option(file, o.file)->required();
    one.callback([&o, &result, judge] { result = report(judge(attn::lesson::find_lesson(o.root, o.lesson))); });
  };
  add("stub", "its stubs fail, and pass no check", nullptr, "--program",
      [&o](const Lesson& lesson) { return gate::judge_stub(lesson, fs::absolute(o.file)); });
  add("mistake", "a mistake is rejected and named", "id", "--programs", [&o](const Lesson& lesson) {
    for (const auto& mistake : lesson.mistakes()) {
      if (mistake.id != o.name) continue;
      return gate::judge_mistake(lesson, o.name, gate::program_of(lesson, mistake, fs::absolute(o.file)));
    }
    return gate::Problems{lesson.name + " has no mistake " + o.name};
  });
  add("answers", "answers that the catalogue does not know are judged as well as before", nullptr, "--programs",
      [&o](const Lesson& lesson) { return gate::judge_answers(lesson, fs::absolute(o.file)); });
  add("golden", "its golden values are whole, and what its mistakes give is recorded", nullptr, nullptr,
      [](const Lesson& lesson) {
        auto problems = gate::judge_golden(lesson);
        for (auto& problem : gate::judge_recordings(lesson)) problems.push_back(std::move(problem));
        return problems;
      });
  add("chapter", "its chapter, hints, interview, sizes and links", nullptr, nullptr, gate::judge_chapter);
  add("mutate", "writes the solution's file with one mistake made", "id", "--output",
      [&o](const Lesson& lesson) { return write(gate::mutate(lesson, o.name), o.file); });
  add("mutate-all", "writes a file of the solution with its mistakes to choose from", "solution", "--output",
      [&o](const Lesson& lesson) { return write(gate::mutate_all(lesson, o.name), o.file); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int result = 0;
  const bool by_launcher = argc > 1 && std::string(argv[1]) == "verify";

  CLI::App app{"attention-by-hand, for authors: the promises of the course", by_launcher ? "./learn" : "gate"};
  app.add_option("--root", options.root, "the course's folder")->check(CLI::ExistingDirectory);
  app.require_subcommand(1);
  CLI::App* all = app.add_subcommand("verify", "Proves every promise of the course: configures, builds and tests it.");
  auto* one =
      all->add_option("--lesson", options.lesson, "only this one, in seconds: what an author runs for each commit");
  all->add_flag("--lessons", options.lessons, "the lessons alone, without the tests of the tools")->excludes(one);
  all->add_flag("--write", options.write, "write what is derived from the lessons; judge only with --lesson");
  all->add_option("--preset", options.preset, "the configure preset")->capture_default_str();
  all->callback([&] { result = verify(options); });
  app.add_subcommand("repository", "what is derived is fresh, and links lead somewhere")->callback([&] {
    result = report(gate::lint_repository(options.root));
  });
  add_judgements(app, options, result);

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
