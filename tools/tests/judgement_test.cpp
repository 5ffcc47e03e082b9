// What the tool makes of a program of checks: of what it reports, and of how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

const std::string passed = R"({"suite": "Sums", "name": "Add", "state": "passed"})";
const std::string failed = R"({"suite": "Sums", "name": "Merge", "state": "failed", "task": "42"})";

/// A lesson with two checks. Its program is a script that gets the report's file as $report.
class Judged : public ::testing::Test {
 protected:
  Judged() {
    put(lesson.folder() / "sums.cpp", "int sum();\n");
    put(lesson.stub_of("sums.cpp"), "int sum();\n");
    put(lesson.checks_file(), "TEST(Sums, Add) {}\n\n  TEST( is not one\nTEST(Sums, Merge) {}\n");
    put(lesson.mistakes_file(), R"({"mistakes": []})");
    put(programs / "build.ninja", "build lesson_42: phony\nbuild solution_42_test: phony\n");
    put(programs / "CMakeCache.txt", "\nCMAKE_HOME_DIRECTORY:INTERNAL=.\n");
  }

  void write_program(const std::string& name, const std::string& script) const {
    put(programs / name, "#!/bin/sh\nreport=${1#--report=}\n" + script + "\n");
    fs::permissions(programs / name, fs::perms::owner_all);
  }

  Verdict verdict_on(const std::string& script) const {
    write_program("lesson_42", script);
    Judgement judgement(lesson);
    judgement.wait({});
    return judgement.verdict();
  }

  static std::string report(const std::string& checks) { return "echo '{\"checks\": [" + checks + "]}' >$report; "; }

  Scratch scratch;
  const lesson::Lesson lesson{scratch.path(), "42_sums"};
  const fs::path programs = scratch.path() / "build" / "dev";
};

TEST_F(Judged, PassesWhenAllChecksOfTheLessonPassedAndElseFailsWhateverTheExitCode) {
  EXPECT_EQ(verdict_on(report(passed + "," + passed) + "exit 0").word(), "passed");
  for (const std::string code : {"1", "0"}) {
    EXPECT_EQ(verdict_on(report(passed + "," + failed) + "exit " + code).word(), "failed");
  }
}

TEST_F(Judged, DoesNotPassWhenFewerChecksRanThanTheLessonHas) {
  const Verdict verdict = verdict_on(report(passed) + "exit 0");
  EXPECT_EQ(verdict.word(), "could not be judged");
  EXPECT_THAT(text_of(verdict.lines), HasSubstr("1 of its 2 checks ran"));
}

TEST_F(Judged, DoesNotPassWhenTheAnswerRemovedItself) {
  const std::string file = (lesson.folder() / "sums.cpp").string();
  const Verdict verdict = verdict_on("rm '" + file + "'; " + report(passed + "," + passed) + "exit 0");
  EXPECT_EQ(verdict.word(), "could not be judged");
  EXPECT_THAT(text_of(verdict.lines), HasSubstr("sums.cpp was there when the check began, and not when it ended"));
  EXPECT_THAT(text_of(verdict.lines), HasSubstr("./learn reset 42 puts back what it began as"));
}

TEST_F(Judged, DoesNotPassWithoutAReport) {
  const Verdict verdict = verdict_on("echo hello; exit 0");
  EXPECT_EQ(verdict.word(), "could not be judged");
  EXPECT_THAT(text_of(verdict.lines), HasSubstr("hello"));
  EXPECT_THAT(text_of(verdict.lines), HasSubstr("its checks gave no report (exit code 0): does your file replace"));
  EXPECT_THAT(text_of(verdict_on("kill -KILL $$").lines), HasSubstr("its checks were killed (signal 9)"));
}

TEST_F(Judged, FailsForWhatHappenedBeforeTheFirstCheck) {
  const Verdict verdict = verdict_on("echo '{\"problem\": \"the program crashed\", \"checks\": []}' >$report; exit 1");
  EXPECT_EQ(verdict.word(), "failed");
  EXPECT_EQ(text_of(verdict.lines), "✗ 42 sums: the program crashed\n");
}

TEST_F(Judged, LetsAProgramThatWasSuspendedGoOn) {
  EXPECT_EQ(verdict_on("kill -STOP $$; " + report(passed + "," + passed) + "exit 0").word(), "passed");
}

TEST_F(Judged, LeavesNoFileBehind) {
  verdict_on(report(passed) + "exit 0");
  for (const auto& entry : fs::directory_iterator(programs)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("lesson_42-")));
  }
}

TEST_F(Judged, HasNoSpeedWhereItsProgramPrintsSomethingElse) {
  write_program("solution_42_test", "echo '{\"what\": \"sum\", \"milliseconds\": 2}'");
  const auto line_when = [&](const std::string& script) {
    write_program("lesson_42", script);
    SpeedTest speed(lesson);
    speed.wait({});
    return speed.line().text();
  };
  EXPECT_THAT(line_when("echo '{\"what\": \"sum\", \"milliseconds\": 1}'"), HasSubstr("you 1 ms, the reference 2 ms"));
  EXPECT_EQ(line_when("echo a word; echo '{\"what\": \"sum\", \"milliseconds\": 1}'"), "");
  EXPECT_EQ(line_when("true"), "");
}

TEST_F(Judged, ShowsTheCompilersWordsAloneWhateverTheEnvironment) {
  put(programs / "build.ninja", "rule fail\n  command = echo x.cpp:1:1: error: no; false\nbuild lesson_42: fail\n");
  const std::map<std::string, std::string> environment = {
      {"CLICOLOR_FORCE", "1"}, {"NINJA_STATUS", "at %f "}, {"LD_PRELOAD", "/no/such/library.so"}};
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
    EXPECT_EQ(text_of(verdict_on("").lines),
              "x.cpp:1:1: error: no\n\n42 sums does not compile yet: begin with the first error above\n")
        << name;
    unsetenv(name.c_str());
  }
}

TEST(BuildNoise, IsTakenAwayAndTheCompilersWordsStay) {
  const std::string output =
      "[1/2] Building CXX object lesson.o\n"
      "FAILED: lesson.o \n"
      "/usr/bin/c++ -O0 -c lesson.cpp\n"
      "lesson.cpp:3:5: error: 'x' was not declared in this scope\n"
      "    3 |     x = 1;\n"
      "[not progress] stays\n"
      "ninja: build stopped: subcommand failed.\n";
  EXPECT_EQ(without_build_noise(output),
            "lesson.cpp:3:5: error: 'x' was not declared in this scope\n    3 |     x = 1;\n[not progress] stays\n");
}

}  // namespace
}  // namespace attn::learn
