// The main of every lesson's checks. It runs them under supervision and tells the learner what came of it.
//
//   --gtest_filter=...   some checks only (GoogleTest's own)
//   --report=FILE        writes the results as JSON as well
//   --room=FOLDER        where the learner's files are, when not below lessons/ (in an interview)
//   --in-process         GoogleTest alone, without supervision: for a debugger
//   --speed              times the code that ATTN_SPEED registered, in place of the checks; prints one line of JSON:
//                        {"what":"forward, ...","milliseconds":1.31} or {"what":"forward, ...","error":"..."}
//
// Exit code: 0 all passed (or timed), 1 some failed, 2 nothing could be judged (or timed).
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/report.hpp"
#include "support/speed.hpp"
#include "support/supervisor.hpp"

namespace {

/// Measures, and prints the line of JSON. Returns the exit code.
int print_speed() {
  nlohmann::ordered_json line;
  try {
    const auto speed = attn::testing::measure_speed();
    line["what"] = speed.what;
    if (!speed.error.empty()) throw std::runtime_error(speed.error);
    line["milliseconds"] = std::round(speed.milliseconds * 1e4) / 1e4;
  } catch (const std::exception& error) {
    line["error"] = error.what();
  }
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return line.contains("error") ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::string report_file;
  std::string room = "lessons";
  bool in_process = GTEST_FLAG_GET(list_tests);
  bool speed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--report=", 0) == 0) {
      report_file = argument.substr(std::strlen("--report="));
    } else if (argument.rfind("--room=", 0) == 0) {
      room = argument.substr(std::strlen("--room="));
    } else if (argument == "--in-process") {
      in_process = true;
    } else if (argument == "--speed") {
      speed = true;
    } else {
      std::cerr << "unknown argument " << argument
                << ", expected --report=FILE, --room=FOLDER, --in-process, --speed or --gtest_...\n";
      return 2;
    }
  }
  if (in_process) return RUN_ALL_TESTS();
  if (speed) return print_speed();

  const auto& unit_test = *::testing::UnitTest::GetInstance();
  if (unit_test.total_test_count() == 0) {
    std::cerr << "this program holds no checks\n";
    return 2;
  }
  auto lesson = attn::course::lesson_of(unit_test.GetTestSuite(0)->GetTestInfo(0)->file());
  lesson.room = room;
  try {
    const auto results = attn::testing::run_supervised();
    if (results.empty()) {
      std::cerr << "no check matches --gtest_filter=" << GTEST_FLAG_GET(filter) << "\n";
      return 2;
    }
    if (!report_file.empty()) {  // what a learner's program prints may be no UTF-8
      std::ofstream(report_file)
          << attn::testing::to_json(results, lesson).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
          << "\n";
    }
    std::cout << (results.size() == 1 ? attn::testing::describe(results.front(), lesson)
                                      : attn::testing::describe_all(results, lesson));
    return std::all_of(results.begin(), results.end(), [](const auto& r) { return r.passed(); }) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << lesson.title() << " could not be judged: " << error.what() << "\n";
    return 2;
  }
}
