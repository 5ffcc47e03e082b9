#include "gate/verify.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <thread>

#include "gate/answers.hpp"
#include "gate/progress.hpp"
#include "gate/remembered.hpp"
#include "run/process.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;
using nlohmann::json;

namespace {

constexpr const char* preset = "authoring";
constexpr const char* digest_variable = "ATTN_REPOSITORY_DIGEST";
constexpr const char* fresh_variable = "ATTN_JUDGE_AGAIN";  ///< set: nothing is recalled

/// Learners' and authors' builds share it.
fs::path build_folder(const fs::path& root) { return root / "build" / "dev"; }

bool recalls() { return std::getenv(fresh_variable) == nullptr; }

// ---------------------------------------------------------------------------------------------------- building

/// What Ninja and CTest print as they go on: "[12/340] ..." and " 12/340 Test ...".
struct Step {
  int done = 0;
  int all = 0;
};

Step last_step(const fs::path& log) {
  static const std::regex form(R"((?:^|\n)\[? *(\d+)/(\d+)(?:\] | Test ))");
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  constexpr std::streamoff enough = 4000;
  in.seekg(std::max<std::streamoff>(0, size - enough));
  const std::string end((std::istreambuf_iterator<char>(in)), {});
  Step last;
  for (std::sregex_iterator match(end.begin(), end.end(), form), none; match != none; ++match) {
    last = {std::stoi((*match)[1]), std::stoi((*match)[2])};
  }
  return last;
}

/// Runs a program into a log, and shows how far it is. @return its exit code
int run_with_progress(const std::string& what, const std::vector<std::string>& command, const fs::path& root,
                      const fs::path& log) {
  Progress progress(what);
  judge::Process process(command, root, log);
  while (!process.ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (const Step step = last_step(log); step.all > 0) progress.show(step.done, step.all);
  }
  return process.exit_code();
}

enum class Built { all, not_all, not_configured };

/// Configures and builds a preset; prints what went wrong.
Built build(const fs::path& root, const std::vector<std::string>& targets) {
  const fs::path folder = build_folder(root);
  const fs::path log = folder / "verify.log";
  fs::create_directories(folder);
  if (judge::run({"cmake", "--preset", preset}, root, log) != 0) {
    std::cout << read_file(log) << "\nthe course could not be configured\n";
    return Built::not_configured;
  }
  std::vector<std::string> command = {"ninja", "-C", folder.string(), "-k", "0"};
  command.insert(command.end(), targets.begin(), targets.end());
  if (run_with_progress("building", command, root, log) == 0) return Built::all;
  std::istringstream in(read_file(log));
  for (std::string row; std::getline(in, row);) {
    if (row.rfind("[", 0) != 0) std::cout << row << "\n";
  }
  std::cout << "\nnot everything could be built\n\n";
  return Built::not_all;
}

// ----------------------------------------------------------------------------------------------------- lessons

/// All that the judgement of a lesson's programs depends on.
std::string digest_of(const Lesson& lesson, const fs::path& build) {
  Inputs inputs;
  inputs.add("/proc/self/exe");
  for (const auto& program : {lesson.program(), lesson.solution_program(), "mutants_" + lesson.number()}) {
    inputs.add_program(build / program);
  }
  inputs.add(lesson.test_folder());
  inputs.add(lesson.folder());
  inputs.add(lesson.solution_folder());
  inputs.add(lesson.root / "include");  // notes on unfinished expressions read the declarations
  return inputs.digest();
}

/// Several lessons at a time, each on a processor of its own.
std::map<std::string, Judgement> judge_all(const std::vector<Lesson>& lessons, const fs::path& build) {
  Progress progress("judging lessons");
  std::map<std::string, Judgement> judgements;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < lessons.size(); i = next++) {
      auto judgement = judge_lesson(lessons[i], build);
      const std::lock_guard<std::mutex> lock(mutex);
      judgements[lessons[i].name] = std::move(judgement);
      progress.show(static_cast<int>(judgements.size()), static_cast<int>(lessons.size()));
    }
  };
  std::vector<std::thread> workers(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& worker : workers) worker = std::thread(work);
  for (auto& worker : workers) worker.join();
  return judgements;
}

bool is_lesson(const Lesson& lesson) {
  const bool is_one = fs::exists(lesson.checks_file()) && fs::exists(lesson.solution_folder()) &&
                      !fs::is_empty(lesson.solution_folder());
  if (!is_one) {
    std::cout << "lessons/" << lesson.name << " is not a lesson yet: it needs tests/" << lesson.name
              << "/checks.cpp and a solution in solutions/" << lesson.name << "/\n";
  }
  return is_one;
}

std::string cell(const Judgement& judgement, const char* column) {
  const auto found = judgement.counts.find(column);
  if (found == judgement.counts.end()) return "none";
  const auto& [passed, total] = found->second;
  return (passed == total ? "ok " : "FAILED ") + std::to_string(passed) + "/" + std::to_string(total);
}

// ------------------------------------------------------------------------------------------- tests of the tools

/// Prints what failed, and CTest's closing lines.
void print_tests(const std::string& output, std::ostream& out) {
  static const std::regex passed(R"(.*\d+/\d+ Test +#\d+: .* Passed .*)");
  std::istringstream in(output);
  bool closing = false;
  for (std::string row; std::getline(in, row);) {
    closing = closing || row.find("% tests passed") != std::string::npos;
    const bool dull = row.find("  Start ") != std::string::npos || row.rfind("Test project ", 0) == 0 || row.empty();
    if (closing || (!dull && !std::regex_match(row, passed))) out << row << "\n";
  }
  if (!closing) out << "CTest did not come to its end\n";
}

bool run_tests(const fs::path& root) {
  const fs::path folder = build_folder(root);
  const fs::path log = folder / "verify.log";
  setenv(digest_variable, digest_of_repository(root, folder).c_str(), 1);
  const bool passed = run_with_progress("testing the tools", {"ctest", "--preset", preset, "-E", "^(lesson|judged)\\."},
                                        root, log) == 0;
  print_tests(read_file(log), std::cout);
  return passed;
}

int conclude(bool holds) {
  std::cout << (holds ? "\nverify: every promise holds\n" : "\nverify: a promise is broken (above: which)\n");
  return holds ? 0 : 1;
}

}  // namespace

Judgement judge_lesson(const Lesson& lesson, const fs::path& build) {
  const fs::path file = build / "remembered" / (lesson.name + ".json");
  const std::string digest = digest_of(lesson, build);
  Judgement judgement;
  if (const auto kept = recalls() ? recall(file, digest) : std::nullopt) {
    judgement = kept->get<Judgement>();
  } else {
    try {
      judgement = judge_programs(lesson, build);
      remember(file, digest, judgement);
    } catch (const std::exception& error) {  // killed, say: not a verdict to keep
      judgement.counts[columns::solution] = {0, 1};
      judgement.problems = {error.what()};
    }
  }
  const Judgement files = judge_files(lesson);  // links lead anywhere, and are looked at in no time
  judgement.counts.insert(files.counts.begin(), files.counts.end());
  judgement.problems.insert(judgement.problems.end(), files.problems.begin(), files.problems.end());
  return judgement;
}

int run_test(const fs::path& root, const fs::path& build, const std::string& name,
             const std::vector<std::string>& command, bool repository) {
  Inputs inputs;
  inputs.add_program(command.at(0));
  for (const auto& argument : command) inputs.add_text(argument);
  if (repository) {
    const char* digest = std::getenv(digest_variable);
    inputs.add_text(digest != nullptr ? digest : digest_of_repository(root, build));
  }
  const fs::path file = build / "remembered" / (name + ".json");
  if (recalls() && recall(file, inputs.digest())) {
    std::cout << "it passed, and nothing that it depends on has changed since\n";
    return 0;
  }
  const int exit_code = judge::run(command, build);
  if (exit_code == 0) remember(file, inputs.digest(), "passed");
  return exit_code;
}

bool print_judgements(const std::vector<Lesson>& lessons, const std::map<std::string, Judgement>& judgements,
                      std::ostream& out) {
  const std::vector<const char*> shown = {columns::solution, columns::stub,   columns::mistakes,
                                          columns::answers,  columns::golden, columns::chapter};
  bool all_ok = true;
  for (const auto& lesson : lessons) {
    for (const auto& problem : judgements.at(lesson.name).problems)
      out << "✗ " << lesson.number() << " " << problem << "\n";
  }
  out << std::left << std::setw(34) << "lesson";
  for (const char* column : shown) out << std::setw(14) << column;
  out << "\n";
  for (const auto& lesson : lessons) {
    const auto& judgement = judgements.at(lesson.name);
    out << std::setw(34) << lesson.title();
    for (const char* column : shown) {
      out << std::setw(14) << cell(judgement, column);
      const auto found = judgement.counts.find(column);
      all_ok = all_ok && found != judgement.counts.end() && found->second.ok();
    }
    out << "\n";
  }
  Count all;
  for (const auto& lesson : lessons) {
    for (const auto& [column, count] : judgements.at(lesson.name).counts) {
      all.passed += count.passed;
      all.total += count.total;
    }
  }
  out << "\n" << all.passed << " passed, " << all.total - all.passed << " failed\n";
  return all_ok;
}

int verify_lessons(const std::vector<Lesson>& lessons) {
  std::vector<std::string> targets;
  for (const auto& lesson : lessons) {
    if (!is_lesson(lesson)) return 1;
    targets.push_back("verify_" + lesson.number());
  }
  const fs::path root = lessons.at(0).root;
  const Built built = build(root, targets);
  if (built != Built::all) return built == Built::not_configured ? 2 : 1;
  bool holds = print_judgements(lessons, judge_all(lessons, build_folder(root)), std::cout);
  for (const auto& problem : lint_repository(root)) {
    std::cout << "✗ " << problem << "\n";
    holds = false;
  }
  return conclude(holds);
}

int verify(const fs::path& root) {
  const Built built = build(root, {});
  if (built == Built::not_configured) return 2;
  const auto lessons = lesson::find_lessons(root);
  const bool judged = print_judgements(lessons, judge_all(lessons, build_folder(root)), std::cout);
  std::cout << "\n";
  const bool tested = run_tests(root);
  return conclude(built == Built::all && judged && tested);
}

int record_mistakes(const fs::path& root, const std::vector<Lesson>& lessons) {
  std::vector<std::string> targets;
  for (const auto& lesson : lessons) targets.push_back("verify_" + lesson.number());
  if (build(root, targets) != Built::all) return 1;
  for (const auto& lesson : lessons) {
    std::cout << lesson.title() << ": running the checks on every mistake" << std::endl;
    for (const auto& file : record(lesson, build_folder(root))) std::cout << "written: " << file.string() << "\n";
  }
  std::cout << "\n" << summary_of_answers(lessons);
  return 0;
}

}  // namespace attn::gate
