// What `learn verify` makes of CTest's output.
#include "gate/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::gate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::vector<lesson::Lesson> lessons = lesson::find_lessons(ATTN_ROOT);

std::string row(const std::string& name, bool passed) {
  return " 1/99 Test  #1: " + name + " ......" + (passed ? "   Passed    0.01 sec\n" : "***Failed    0.01 sec\n");
}

/// CTest's output when all is well, or with one test failing.
std::string ctest_output(const std::string& failing = "") {
  std::string text = "Test project /somewhere\n      Start  1: course.repository\n" +
                     row("course.repository", failing != "course.repository");
  for (const auto& lesson : lessons) {
    for (const std::string& name : std::vector<std::string>{
             "solution." + lesson.name + ".Suite.Check", "stub." + lesson.name, "mistake." + lesson.name + ".some_id",
             "golden." + lesson.name, "chapter." + lesson.name}) {
      text += row(name, name != failing);
      if (name == failing) text += "what the failing test printed\n";
    }
  }
  return text + (failing.empty()
                     ? "\n100% tests passed, 0 tests failed out of 9\n\nTotal Test time (real) =   1.00 sec\n"
                     : "\n89% tests passed, 1 tests failed out of 9\n\nTotal Test time (real) =   1.00 sec\n");
}

TEST(Summarise, PassesWhenAllPasses) {
  std::ostringstream out;
  EXPECT_TRUE(summarise(lessons, ctest_output(), out));
  EXPECT_THAT(out.str(), ContainsRegex("01 self_attention_v1 +ok 1/1 +ok 1/1 +ok 1/1 +ok 1/1 +ok 1/1"));
  EXPECT_THAT(out.str(), HasSubstr("100% tests passed, 0 tests failed out of 9\n\nTotal Test time"));
}

TEST(Summarise, FailsWhenAnyPromiseIsBroken) {
  for (const std::string& failing :
       std::vector<std::string>{"solution.01_self_attention_v1.Suite.Check", "stub.01_self_attention_v1",
                                "mistake.01_self_attention_v1.some_id", "golden.01_self_attention_v1",
                                "chapter.01_self_attention_v1", "course.repository"}) {
    std::ostringstream out;
    EXPECT_FALSE(summarise(lessons, ctest_output(failing), out)) << failing;
    EXPECT_THAT(out.str(), HasSubstr("FAILED 0/1"));
    EXPECT_THAT(out.str(), HasSubstr(failing + " ......***Failed"));
  }
}

TEST(Summarise, FailsWhenAColumnIsMissing) {
  std::string output = ctest_output();
  const std::string missing = row("stub.01_self_attention_v1", true);
  output.erase(output.find(missing), missing.size());
  std::ostringstream out;
  EXPECT_FALSE(summarise(lessons, output, out));
  EXPECT_THAT(out.str(), ContainsRegex("01 self_attention_v1 +ok 1/1 +none"));
}

TEST(Summarise, HasARowForEachLessonThatIsAskedFor) {
  std::ostringstream out;
  EXPECT_TRUE(summarise({lessons.at(3)}, ctest_output(), out));
  EXPECT_THAT(out.str(), ContainsRegex("03 masking +ok 1/1"));
  EXPECT_THAT(out.str(), ::testing::Not(HasSubstr("01 self_attention_v1")));
}

TEST(VerifyLesson, RefusesALessonWithoutChecks) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(verify_lessons({{ATTN_ROOT, "98_half_written"}}, "authoring"), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("it needs tests/98_half_written/checks.cpp"));
}

TEST(Summarise, FailsWhenCTestDidNotEnd) {
  std::string output = ctest_output();
  output.erase(output.find("100%"));
  std::ostringstream out;
  EXPECT_FALSE(summarise(lessons, output, out));
}

}  // namespace
}  // namespace attn::gate
