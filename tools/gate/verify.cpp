#include "gate/verify.hpp"

#include <iomanip>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

#include "gate/answers.hpp"
#include "gate/gate.hpp"
#include "lesson/lesson.hpp"
#include "run/process.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;

namespace {

struct Count {
  int passed = 0;
  int total = 0;
  std::string text() const {
    if (total == 0) return "none";
    return (passed == total ? "ok " : "FAILED ") + std::to_string(passed) + "/" + std::to_string(total);
  }
  bool ok() const { return total > 0 && passed == total; }
};

const std::vector<std::string> columns = {"solution", "stub", "mistake", "golden", "chapter"};

/// Test names are column.NN_name, or column.NN_name.more; all others belong to the course as a whole.
using Counts = std::map<std::string, std::map<std::string, Count>>;

bool print_table(const std::vector<Lesson>& lessons, const Counts& counts, std::ostream& out) {
  bool all_ok = true;
  out << std::left << std::setw(34) << "lesson";
  for (const auto& column : columns) out << std::setw(14) << (column == "mistake" ? "mistakes" : column);
  out << "\n";
  for (const auto& lesson : lessons) {
    out << std::setw(34) << lesson.title();
    const auto row = counts.find(lesson.name);
    for (const auto& column : columns) {
      Count count;
      if (row != counts.end() && row->second.count(column)) count = row->second.at(column);
      out << std::setw(14) << count.text();
      all_ok = all_ok && count.ok();
    }
    out << "\n";
  }
  Count course;
  if (counts.count("")) course = counts.at("").at("");
  out << std::setw(34) << "the course itself" << course.text() << "\n\n";
  return all_ok && course.ok();
}

struct Built {
  bool configured = false;
  bool complete = false;
};

/// Configures and builds a preset; prints what went wrong.
Built build(const fs::path& root, const std::string& preset, const std::vector<std::string>& targets) {
  const fs::path folder = root / "build" / preset;
  fs::create_directories(folder);
  const fs::path log = folder / "verify.log";
  std::cout << "configuring and building in " << folder.string() << " (the first time takes minutes)" << std::endl;
  if (judge::run({"cmake", "--preset", preset}, root, log) != 0) {
    std::cout << lesson::read_file(log) << "\nthe course could not be configured\n";
    return {};
  }
  std::vector<std::string> command = {"ninja", "--quiet", "-C", folder.string(), "-k", "0"};
  command.insert(command.end(), targets.begin(), targets.end());
  const bool complete = judge::run(command, root, log) == 0;
  if (!complete) std::cout << lesson::read_file(log) << "\nnot everything could be built\n\n";
  return {true, complete};
}

/// Builds a preset, runs its tests, and sums up.
int run(const fs::path& root, const std::string& preset, const std::vector<Lesson>& lessons,
        const std::vector<std::string>& targets, const std::vector<std::string>& tests) {
  const Built built = build(root, preset, targets);
  if (!built.configured) return 2;
  if (!built.complete && !targets.empty()) return 1;  // of the one lesson that was asked for

  std::cout << "running the tests" << std::endl;
  const fs::path log = root / "build" / preset / "verify.log";
  std::vector<std::string> test = {"ctest", "--preset", preset};
  test.insert(test.end(), tests.begin(), tests.end());
  const int tested = judge::run(test, root, log);
  const bool ok = summarise(lessons, lesson::read_file(log), std::cout);
  if (!built.complete || tested != 0 || !ok) {
    std::cout << "\nverify: a promise is broken (above: which; " << log.string() << ": all of it)\n";
    return 1;
  }
  std::cout << "\nverify: every promise holds\n";
  return 0;
}

}  // namespace

bool summarise(const std::vector<Lesson>& lessons, const std::string& ctest_output, std::ostream& out) {
  const std::regex result_row(R"(^ *[0-9]+/[0-9]+ Test +#[0-9]+: (\S+) \.*(.*?) +[0-9.]+ sec.*)");
  const std::regex lesson_test("^(solution|stub|mistake|golden|chapter)\\.([0-9]{2}_[a-z0-9_]+).*");
  std::istringstream in(ctest_output);
  Counts counts;
  std::string closing;
  std::string failures;
  bool at_end = false;
  for (std::string row; std::getline(in, row);) {
    std::smatch match;
    at_end = at_end || row.find("% tests passed") != std::string::npos;
    if (at_end) {
      closing += row + "\n";
    } else if (std::regex_match(row, match, result_row)) {
      const std::string name = match[1];
      const bool passed = match[2].str().find("Passed") != std::string::npos;
      if (!passed) failures += row + "\n";
      std::smatch parts;
      const bool of_lesson = std::regex_match(name, parts, lesson_test);
      Count& count = of_lesson ? counts[parts[2]][parts[1]] : counts[""][""];
      ++count.total;
      count.passed += passed ? 1 : 0;
    } else if (row.find("  Start ") == std::string::npos && row.rfind("Test project ", 0) != 0 && !row.empty()) {
      failures += row + "\n";
    }
  }
  if (!failures.empty()) out << failures << "\n";
  const bool all_ok = print_table(lessons, counts, out);
  out << (closing.empty() ? "CTest did not come to its end\n" : closing);
  return all_ok && closing.find("100% tests passed") != std::string::npos;
}

int verify(const fs::path& root, const std::string& preset) {
  return run(root, preset, lesson::find_lessons(root), {}, {});
}

int verify_lessons(const std::vector<Lesson>& lessons, const std::string& preset) {
  std::vector<std::string> targets;
  std::string names;
  for (const auto& lesson : lessons) {
    if (!fs::exists(lesson.checks_file()) || !fs::exists(lesson.solution_folder()) ||
        fs::is_empty(lesson.solution_folder())) {
      std::cout << "lessons/" << lesson.name << " is no lesson yet: it needs tests/" << lesson.name
                << "/checks.cpp and a solution in solutions/" << lesson.name << "/\n";
      return 1;
    }
    targets.push_back("verify_" + lesson.number());
    names += (names.empty() ? "" : "|") + lesson.name;
  }
  const std::string tests =
      "^(solution|stub|mistake|golden|chapter|course\\.answers)\\.(" + names + ")(\\.|$)|^course\\.repository$";
  return run(lessons.at(0).root, preset, lessons, targets, {"-R", tests});
}

int record_mistakes(const fs::path& root, const std::vector<Lesson>& lessons, const std::string& preset) {
  std::vector<std::string> targets;
  for (const auto& lesson : lessons) targets.push_back("verify_" + lesson.number());
  if (!build(root, preset, targets).complete) return 1;
  for (const auto& lesson : lessons) {
    std::cout << lesson.title() << ": running the checks on every mistake" << std::endl;
    if (record(lesson, root / "build" / preset)) std::cout << "written: " << lesson.recordings_file().string() << "\n";
    if (record_answers(lesson, root / "build" / preset)) {
      std::cout << "written: " << lesson.answers_file().string() << "\n";
    }
  }
  std::cout << "\n" << summary_of_answers(lessons);
  return 0;
}

}  // namespace attn::gate
