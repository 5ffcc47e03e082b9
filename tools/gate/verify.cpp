#include "gate/verify.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "gate/answers.hpp"
#include "gate/remembered.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

// What is remembered of a lesson (remembered.hpp).
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Count, passed, total)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Judgement, counts, problems)

namespace {

constexpr const char* preset = "authoring";
constexpr const char* digest_variable = "ATTN_REPOSITORY_DIGEST";

/// Learners' and authors' builds share it.
fs::path build_folder(const fs::path& root) { return root / "build" / "dev"; }

// ---------------------------------------------------------------------------------------------------- progress

/// A line that says what is being done, how much of it is done, and how long the rest will take at this pace. In a terminal
/// it is written again in place; elsewhere every half minute.
class Progress {
 public:
  explicit Progress(std::string what) : what_(std::move(what)) {
    if (!in_terminal_) std::cout << what_ << std::endl;
  }
  ~Progress() {
    if (in_terminal_) std::cout << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(int done, int all) {
    const auto now = Clock::now();
    if (now - shown_ < (in_terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(30))) return;
    shown_ = now;
    const std::string text = progress_text(what_, done, all, now - begin_);
    std::cout << (in_terminal_ ? "\r\033[K" + text : "  " + text + "\n") << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool in_terminal_ = isatty(STDOUT_FILENO) != 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

/// Shows the last of the steps that Ninja and CTest print as they go on: "[12/340] ..." and " 12/340 Test ...".
void show_last_step(const fs::path& log, Progress& progress) {
  static const std::regex form(R"((?:^|\n)\[? *(\d+)/(\d+)(?:\] | Test ))");
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  constexpr std::streamoff enough = 4000;
  in.seekg(std::max<std::streamoff>(0, size - enough));
  const std::string end((std::istreambuf_iterator<char>(in)), {});
  std::smatch last;
  for (std::sregex_iterator match(end.begin(), end.end(), form), none; match != none; ++match) last = *match;
  if (!last.empty()) progress.show(std::stoi(last[1]), std::stoi(last[2]));
}

/// Runs a program into a log, and shows how far it is. @return its exit code
int run_with_progress(const std::string& what, const std::vector<std::string>& command, const fs::path& root,
                      const fs::path& log) {
  Progress progress(what);
  judge::Process process(command, root, log);
  while (!process.ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    show_last_step(log, progress);
  }
  return process.exit_code();
}

// ---------------------------------------------------------------------------------------------------- building

/// Configures and builds what `verify` judges of these lessons, or everything; prints what went wrong.
/// @return 0, 1 when not everything could be built, 2 when the course could not be configured
int build(const fs::path& root, const std::vector<Lesson>& lessons) {
  const fs::path folder = build_folder(root);
  const fs::path log = folder / "verify.log";
  fs::create_directories(folder);
  if (judge::run({"cmake", "--preset", preset}, root, log) != 0) {
    std::cout << read_file(log) << "\nthe course could not be configured\n";
    return 2;
  }
  std::vector<std::string> command = {"ninja", "-C", folder, "-k", "0"};
  for (const auto& lesson : lessons) command.push_back("verify_" + lesson.number());
  if (run_with_progress("building", command, root, log) == 0) return 0;
  for (const auto& row : lines_of(read_file(log))) {
    if (!begins_with(row, "[")) std::cout << row << "\n";
  }
  std::cout << "\nnot everything could be built\n\n";
  return 1;
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

/// Several lessons at a time, each on a processor of its own; those with much to judge first, so that no processor waits
/// for them in the end.
std::map<std::string, Judgement> judge_all(std::vector<Lesson> lessons, const fs::path& build) {
  const auto work_for = [](const Lesson& lesson) {
    std::error_code none;
    const auto size = fs::file_size(lesson.recordings_file(), none);
    return none ? 0 : size;
  };
  std::sort(lessons.begin(), lessons.end(),
            [&](const Lesson& a, const Lesson& b) { return work_for(a) > work_for(b); });
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

// ------------------------------------------------------------------------------------------- tests of the tools

/// Prints what failed, and CTest's closing lines.
void print_tests(const std::string& output) {
  static const std::regex dull(R"(|.*  Start .*|Test project .*|.*\d+/\d+ Test +#\d+: .* Passed .*)");
  bool closing = false;
  for (const auto& row : lines_of(output)) {
    closing = closing || row.find("% tests passed") != std::string::npos;
    if (closing || !std::regex_match(row, dull)) std::cout << row << "\n";
  }
  if (!closing) std::cout << "CTest did not come to its end\n";
}

bool run_tests(const fs::path& root) {
  const fs::path folder = build_folder(root);
  const fs::path log = folder / "verify.log";
  setenv(digest_variable, digest_of_repository(root, folder).c_str(), 1);
  const bool passed = run_with_progress("testing the tools, the longest first",
                                        {"ctest", "--preset", preset, "-E", "^(lesson|judged)\\."}, root, log) == 0;
  print_tests(read_file(log));
  return passed;
}

int conclude(bool holds) {
  std::cout << (holds ? "\nverify: every promise holds\n" : "\nverify: a promise is broken (above: which)\n");
  return holds ? 0 : 1;
}

}  // namespace

Judgement judge_lesson(const Lesson& lesson, const fs::path& build) {
  const std::string digest = digest_of(lesson, build);
  Judgement judgement;
  if (const auto kept = recall(build, lesson.name, digest)) {
    judgement = kept->get<Judgement>();
  } else {
    try {
      judgement = judge_programs(lesson, build);
      remember(build, lesson.name, digest, judgement);
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
  if (recall(build, name, inputs.digest())) {
    std::cout << "it passed, and nothing that it depends on has changed since\n";
    return 0;
  }
  const int exit_code = judge::run(command, build);
  if (exit_code == 0) remember(build, name, inputs.digest(), "passed");
  return exit_code;
}

bool print_judgements(const std::vector<Lesson>& lessons, const std::map<std::string, Judgement>& judgements,
                      std::ostream& out) {
  const std::vector<std::string> shown = {columns::solution, columns::stub,   columns::mistakes,
                                          columns::answers,  columns::golden, columns::chapter};
  for (const auto& lesson : lessons) {
    for (const auto& problem : judgements.at(lesson.name).problems) {
      out << "✗ " << lesson.number() << " " << problem << "\n";
    }
  }
  bool all_ok = true;
  Count all;
  out << std::left << std::setw(34) << "lesson";
  for (const auto& column : shown) out << std::setw(14) << column;
  out << "\n";
  for (const auto& lesson : lessons) {
    out << std::setw(34) << lesson.title();
    auto counts = judgements.at(lesson.name).counts;
    for (const auto& column : shown) {
      const auto [passed, total] = counts[column];
      const bool ok = passed == total;
      const std::string cell = (ok ? "ok " : "FAILED ") + std::to_string(passed) + "/" + std::to_string(total);
      out << std::setw(14) << (total == 0 ? "none" : cell);
      all_ok = all_ok && ok && total > 0;
      all.passed += passed;
      all.total += total;
    }
    out << "\n";
  }
  out << "\n" << all.passed << " passed, " << all.total - all.passed << " failed\n";
  return all_ok;
}

std::string progress_text(const std::string& what, int done, int all, std::chrono::duration<double> passed) {
  std::string text = what + ": " + std::to_string(done) + " of " + std::to_string(all);
  if (10 * done < all || done == all || passed.count() < 2) return text;  // the first ones say little of the rest
  const double left = passed.count() * (all - done) / done;
  if (left < 50) return text + ", about " + std::to_string(10 * std::lround(std::ceil(left / 10))) + " s left";
  return text + ", about " + std::to_string(std::lround(left / 60)) + " min left";
}

int verify_lessons(const std::vector<Lesson>& lessons) {
  if (!std::all_of(lessons.begin(), lessons.end(), is_lesson)) return 1;
  const fs::path root = lessons.at(0).root;
  if (const int failed = build(root, lessons); failed != 0) return failed;
  bool holds = print_judgements(lessons, judge_all(lessons, build_folder(root)), std::cout);
  for (const auto& problem : lint_repository(root)) {
    std::cout << "✗ " << problem << "\n";
    holds = false;
  }
  return conclude(holds);
}

int verify(const fs::path& root) {
  const int failed = build(root, {});
  if (failed == 2) return failed;
  const auto lessons = lesson::find_lessons(root);
  const bool judged = print_judgements(lessons, judge_all(lessons, build_folder(root)), std::cout);
  std::cout << "\n";
  const bool tested = run_tests(root);
  return conclude(failed == 0 && judged && tested);
}

int record_mistakes(const fs::path& root, const std::vector<Lesson>& lessons) {
  if (const int failed = build(root, lessons); failed != 0) return failed;
  for (const auto& lesson : lessons) {
    std::cout << lesson.title() << ": running the checks on every mistake" << std::endl;
    for (const auto& file : record(lesson, build_folder(root))) std::cout << "written: " << file.string() << "\n";
  }
  std::cout << "\n" << summary_of_answers(lessons);
  return 0;
}

}  // namespace attn::gate
