// Lessons 13 and 29: the broken files run, and no message gives a bug away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lesson/lesson.hpp"
#include "run/process.hpp"
#include "scratch.hpp"
#include "verdict/words.hpp"

namespace attn::tests {
namespace {

using judge::CheckResult;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What the checks say to a lesson's broken files as a learner gets them.
judge::Report report_on_stubs(const lesson::Lesson& bug_hunt) {
  const Scratch scratch;
  const auto report = scratch.path() / "report.json";
  const std::string program = ATTN_PROGRAMS "/lesson_" + bug_hunt.number();
  judge::run({program, "--report=" + report.string()}, scratch.path(), scratch.path() / "output");
  return lesson::read_json(report).get<judge::Report>();
}

class BugHunt : public ::testing::TestWithParam<const char*> {
 protected:
  const lesson::Lesson bug_hunt = lesson::find_lesson(ATTN_ROOT, GetParam());
  const judge::Report report = report_on_stubs(bug_hunt);
};

INSTANTIATE_TEST_SUITE_P(Lessons, BugHunt, ::testing::Values("13", "29"));

TEST_P(BugHunt, FailsEveryCheckByItsOwnJudgement) {
  std::set<std::string> files;
  for (const auto& check : report.checks) {
    SCOPED_TRACE(check.full_name());
    ASSERT_EQ(check.state, CheckResult::State::failed);
    files.insert(check.place.file);
    for (const auto& failure : check.failures) {
      EXPECT_NE(failure.kind, judge::Failure::Kind::exception);
      EXPECT_NE(failure.kind, judge::Failure::Kind::shape);
      const bool shows_a_value = failure.worst || std::any_of(failure.statements.begin(), failure.statements.end(),
                                                              [](const auto& one) { return one.label == "value"; });
      EXPECT_TRUE(shows_a_value);
    }
  }
  const auto stubs = bug_hunt.stub_files();
  EXPECT_EQ(files, std::set<std::string>(stubs.begin(), stubs.end()));
}

TEST_P(BugHunt, NamesNoBug) {
  EXPECT_THAT(report.named(), IsEmpty());
  std::string text = text_of(lines_about(report, bug_hunt));
  for (const auto& check : report.checks) text += describe(check, bug_hunt);
  int bugs = 0;
  for (const auto& mistake : bug_hunt.mistakes()) {
    if (mistake.named) continue;
    ++bugs;
    EXPECT_THAT(text, Not(HasSubstr(mistake.says)));
  }
  EXPECT_GE(bugs, 6);
}

}  // namespace
}  // namespace attn::tests
