// gate: what authors run, as `./learn verify`, and CTest.
//
// Exit codes: 0 every promise holds, 1 one is broken, 2 it could not be judged.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

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

/// The judgements one by one, as CTest calls them.
class Gate {
 public:
  Gate(CLI::App& app, const fs::path& root, int& result) : app_(app), root_(root), result_(result) {
    add("stub", "its stubs fail, and pass no check", nullptr, "--program",
        [this](const Lesson& lesson) { return gate::judge_stub(lesson, fs::absolute(file_)); });
    add("mistake", "a mistake is rejected and named", "id", "--program",
        [this](const Lesson& lesson) { return gate::judge_mistake(lesson, name_, fs::absolute(file_)); });
    add("golden", "its golden values are whole, and what its mistakes give is recorded", nullptr, nullptr,
        [](const Lesson& lesson) {
          auto problems = gate::judge_golden(lesson);
          for (auto& problem : gate::judge_recordings(lesson)) problems.push_back(std::move(problem));
          return problems;
        });
    add("record", "writes down what its mistakes give", nullptr, "--programs", [this](const Lesson& lesson) {
      gate::record(lesson, fs::absolute(file_));
      return gate::Problems{};
    });
    add("chapter", "its chapter, hints, interview, sizes and links", nullptr, nullptr, gate::judge_chapter);
    add("mutate", "writes the solution's file with one mistake made", "id", "--output",
        [this](const Lesson& lesson) { return write(gate::mutate(lesson, name_)); });
    add("mutate-all", "writes a file of the solution with its mistakes to choose from", "solution", "--output",
        [this](const Lesson& lesson) { return write(gate::mutate_all(lesson, name_)); });
    app.add_subcommand("repository", "what is derived is fresh, and links lead somewhere")->callback([this] {
      result_ = report(gate::lint_repository(root_));
    });
  }

 private:
  template <typename Judge>
  void add(const char* what, const char* promise, const char* with_name, const char* with_file, Judge judge) {
    CLI::App& one = *app_.add_subcommand(what, promise);
    one.add_option("lesson", lesson_)->required();
    if (with_name != nullptr) one.add_option(with_name, name_)->required();
    if (with_file != nullptr) one.add_option(with_file, file_)->required();
    one.callback([this, judge] { result_ = report(judge(attn::lesson::find_lesson(root_, lesson_))); });
  }

  gate::Problems write(const std::string& text) const {
    fs::create_directories(fs::path(file_).parent_path());
    // An unchanged mutant keeps its time, so that it is not compiled again.
    if (!fs::exists(file_) || attn::lesson::read_file(file_) != text) std::ofstream(file_) << text;
    return {};
  }

  CLI::App& app_;
  const fs::path& root_;
  int& result_;
  std::string lesson_;
  std::string name_;
  std::string file_;
};

/// `./learn verify`
class Verify {
 public:
  Verify(CLI::App& app, const fs::path& root, int& result) {
    CLI::App* verify = app.add_subcommand("verify", "proves every promise of the course: configures, builds and tests");
    verify->add_option("--lesson", lesson_, "only this one, in seconds: what an author runs for each commit");
    verify->add_flag("--write", write_, "write what is derived from the lessons; with --lesson, before it is judged");
    verify->add_option("--preset", preset_, "the configure preset")->capture_default_str();
    verify->callback([this, &root, &result] { result = run(root); });
  }

 private:
  int run(const fs::path& root) const {
    if (write_) {
      const auto written = gate::write_derived(root);
      for (const auto& file : written) std::cout << "written: " << file.string() << "\n";
      if (written.empty()) std::cout << "all that is derived is fresh\n";
      if (lesson_.empty()) return 0;
    }
    return lesson_.empty() ? gate::verify(root, preset_)
                           : gate::verify_lesson(attn::lesson::find_lesson(root, lesson_), preset_);
  }

  std::string preset_ = "authoring";
  std::string lesson_;
  bool write_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  fs::path root = ATTN_ROOT;
  int result = 0;
  const bool by_launcher = argc > 1 && std::string(argv[1]) == "verify";

  CLI::App app{"attention-by-hand, for authors: the promises of the course", by_launcher ? "./learn" : "gate"};
  app.add_option("--root", root, "the course's folder")->check(CLI::ExistingDirectory);
  app.require_subcommand(1);
  const Verify verify(app, root, result);
  const Gate judgements(app, root, result);

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
