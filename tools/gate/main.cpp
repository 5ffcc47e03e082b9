// gate: the judge of the judge, for authors. `./learn verify` and CTest call it.
//
// Exit codes: 0 every promise holds, 1 one is broken, 2 it could not be judged.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

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
    app.add_subcommand("house", "what holds of the course as a whole")->callback([this] {
      result_ = report(gate::judge_house(root_));
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

}  // namespace

int main(int argc, char** argv) {
  fs::path root = ATTN_ROOT;
  std::string preset = "authoring";
  int result = 0;

  CLI::App app{"attention-by-hand, for authors: the promises of the course", "gate"};
  app.add_option("--root", root, "the course's folder")->check(CLI::ExistingDirectory);
  app.require_subcommand(1);
  CLI::App* verify = app.add_subcommand("verify", "all of them: configures, builds and tests a preset");
  verify->add_option("--preset", preset, "the configure preset");
  verify->callback([&] { result = attn::gate::verify(root, preset); });
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
