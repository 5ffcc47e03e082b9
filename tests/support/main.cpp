// The main of every lesson's checks. It runs them under supervision and tells the learner what came of it.
//
//   --gtest_filter=...   some checks only (GoogleTest's own)
//   --report=FILE        writes the results as JSON as well
//   --in-process         GoogleTest alone, without supervision: for a debugger
//
// Exit code: 0 all passed, 1 some failed, 2 nothing could be judged.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/report.hpp"
#include "support/supervisor.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::string report_file;
  bool in_process = GTEST_FLAG_GET(list_tests);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--report=", 0) == 0) {
      report_file = argument.substr(std::strlen("--report="));
    } else if (argument == "--in-process") {
      in_process = true;
    } else {
      std::cerr << "unknown argument " << argument << ", expected --report=FILE, --in-process or --gtest_...\n";
      return 2;
    }
  }
  if (in_process) return RUN_ALL_TESTS();

  const auto& unit_test = *::testing::UnitTest::GetInstance();
  if (unit_test.total_test_count() == 0) {
    std::cerr << "this program holds no checks\n";
    return 2;
  }
  const auto lesson = attn::course::lesson_of(unit_test.GetTestSuite(0)->GetTestInfo(0)->file());
  try {
    const auto results = attn::testing::run_supervised();
    if (results.empty()) {
      std::cerr << "no check matches --gtest_filter=" << GTEST_FLAG_GET(filter) << "\n";
      return 2;
    }
    if (!report_file.empty()) std::ofstream(report_file) << attn::testing::to_json(results, lesson).dump(1) << "\n";
    std::cout << (results.size() == 1 ? attn::testing::describe(results.front(), lesson)
                                      : attn::testing::describe_all(results, lesson));
    return std::all_of(results.begin(), results.end(), [](const auto& r) { return r.passed(); }) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << lesson.title() << " could not be judged: " << error.what() << "\n";
    return 2;
  }
}
