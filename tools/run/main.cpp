// The main of every lesson's checks. It runs them under supervision and reports to the learner.
//
//   --gtest_filter=...   some checks only (GoogleTest's own)
//   --report=FILE        writes the results as JSON as well, into a new file
//   --work-folder=FOLDER where the learner's files are, when not below lessons/ (in an interview)
//   --edits=FILE --reports=FILE   for a solution with mistakes to choose from: a run for each (run/edits.hpp)
//   --in-process         GoogleTest alone, without supervision: for a debugger
//   --speed              times the code that ATTN_SPEED registered, instead of the checks; prints one line of JSON:
//                        {"what":"forward, ...","milliseconds":1.31} or {"what":"forward, ...","error":"..."}
//
// Exit code: 0 all passed (or timed), 1 some failed, 2 nothing could be judged (or timed).
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks/speed.hpp"
#include "lesson/text.hpp"
#include "run/edits.hpp"
#include "run/supervisor.hpp"
#include "run/trace.hpp"
#include "verdict/report.hpp"
#include "verdict/words.hpp"

namespace {

using attn::begins_with;
using attn::judge::Outcome;
using attn::judge::Report;
using nlohmann::ordered_json;

struct Options {
  std::string filter;
  std::string report_file;
  std::string edits_file;
  std::string reports_file;
  std::string work_folder = "lessons";
  bool in_process = false;
  bool speed = false;
};

/// @throws std::invalid_argument naming an argument that is not known, or a report that is there already
Options options_from(const std::vector<std::string>& arguments) {
  Options options;
  const std::pair<const char*, std::string*> values[] = {{"--report=", &options.report_file},
                                                         {"--edits=", &options.edits_file},
                                                         {"--reports=", &options.reports_file},
                                                         {"--work-folder=", &options.work_folder}};
  for (const auto& argument : arguments) {
    const auto* const value = std::find_if(std::begin(values), std::end(values),
                                           [&](const auto& one) { return begins_with(argument, one.first); });
    if (value != std::end(values)) {
      *value->second = argument.substr(argument.find('=') + 1);
    } else if (argument == "--in-process" || argument == "--gtest_list_tests" || argument == "--help") {
      options.in_process = true;
    } else if (argument == "--speed") {
      options.speed = true;
    } else if (begins_with(argument, "--gtest_filter=")) {
      options.filter = argument;
    } else if (!begins_with(argument, "--gtest_") && !begins_with(argument, "--gmock_")) {
      throw std::invalid_argument(
          "unknown argument " + argument +
          ", expected --report=FILE, --work-folder=FOLDER, --in-process, --speed or --gtest_...");
    }
  }
  if (std::filesystem::is_regular_file(options.report_file)) {
    throw std::invalid_argument(options.report_file +
                                " exists already and is left as it is: give --report another name");
  }
  return options;
}

/// The line of JSON that says how long the code takes. Returns the exit code.
int print_speed(const Outcome& outcome) {
  ordered_json line;
  if (outcome.results.empty()) {
    line["error"] = outcome.problem.empty() ? "these checks have no ATTN_SPEED" : outcome.problem;
  } else {
    const auto& measuring = outcome.results.front();
    line["what"] = measuring.name;
    if (measuring.passed()) {
      line["milliseconds"] = std::round(measuring.milliseconds * 1e4) / 1e4;
    } else {
      line["error"] = attn::judge::short_reason(measuring);
    }
  }
  std::cout << line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  return line.contains("error") ? 2 : 0;
}

void write_report(const std::string& file, const nlohmann::json& report) {
  if (file.empty()) return;  // what a learner's program prints may not be valid UTF-8
  std::ofstream(file) << report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

/// What became of the checks, in words and in the report file. Returns the exit code.
int print_results(const Outcome& outcome, const Options& options) {
  auto results = outcome.results;
  if (!outcome.problem.empty()) {
    const std::string text = "the program " + outcome.problem + "\n" + outcome.printed;
    Report report;
    report.problem = text;
    write_report(options.report_file, report);
    std::cout << "✗ " << text << "\n";
    return 1;
  }
  if (results.empty()) {
    std::cerr << (options.filter.empty() ? "this program has no checks" : "no check matches " + options.filter) << "\n";
    return 2;
  }
  auto lesson = attn::lesson::lesson_of(outcome.source);
  lesson.work_folder = options.work_folder;
  attn::judge::find_calls(results, lesson);
  const Report report = attn::judge::make_report(results, lesson);
  write_report(options.report_file, report);
  std::cout << attn::text_of(results.size() == 1 ? attn::judge::lines_about(report.checks.front(), lesson)
                                                 : attn::judge::lines_about(report, lesson));
  return std::all_of(results.begin(), results.end(), [](const auto& r) { return r.passed(); }) ? 0 : 1;
}

/// What GoogleTest reads from the environment would choose, repeat or skip checks: all but the command line is left
/// out.
void ignore_environment() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = std::string(*variable).substr(0, std::string(*variable).find('='));
    for (const char* prefix : {"GTEST_", "TESTBRIDGE_TEST_", "TEST_", "XML_OUTPUT_FILE"}) {
      if (begins_with(name, prefix)) names.push_back(name);
    }
  }
  for (const auto& name : names) unsetenv(name.c_str());
}

/// Supervises before any static object of this program is constructed (101 is the first priority that a program may
/// use). So the learner's code runs in the child process only, from its first global to its last, and cannot change the
/// verdict, or keep it back, in this one. Nothing that this calls may use a static object that has to be constructed.
__attribute__((constructor(101), used)) void begin(int argc, char** argv) {
  const std::ios_base::Init streams;
  ignore_environment();
  int exit_code = 2;
  try {
    const Options options = options_from({argv + 1, argv + argc});
    if (options.in_process) return;
    if (!options.edits_file.empty()) {
      if (!attn::judge::run_edits(options.edits_file, options.reports_file)) return;
      _exit(0);
    }
    const auto outcome = attn::judge::supervise();
    if (!outcome) return;
    exit_code = options.speed ? print_speed(*outcome) : print_results(*outcome, options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  std::cout.flush();
  _exit(exit_code);
}

}  // namespace

/// What is wrong, below what GoogleTest itself prints: for a debugger's terminal.
class InWords : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (const auto failure = attn::judge::decode(part.message())) std::cout << attn::judge::describe(*failure) << "\n";
  }
};

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (!attn::judge::is_supervised()) {
    ::testing::UnitTest::GetInstance()->listeners().Append(new InWords);
    return RUN_ALL_TESTS();
  }
  const bool speed =
      std::any_of(argv, argv + argc, [](const char* argument) { return argument == std::string("--speed"); });
  if (speed) attn::judge::measure_speed_instead();
  attn::judge::run_assigned_checks();
}
