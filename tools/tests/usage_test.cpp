// What a misspelled command line probably meant, and what one task of a verdict is.
#include "learn/commands/usage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "learn/commands/curriculum.hpp"

namespace attn::learn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> commands = {"check", "hint", "list", "next", "read", "reset", "review"};

TEST(Meant, IsTheNearestCommandInFront) {
  EXPECT_EQ(meant({"chek", "01"}, commands), "check 01");
  EXPECT_EQ(meant({"01", "chek"}, commands), "check 01");
  EXPECT_EQ(meant({"07", "hint", "--level", "2"}, commands), "hint 07 --level 2");
  EXPECT_EQ(meant({"reviw"}, commands), "review");
  EXPECT_EQ(meant({"hnit"}, commands), "hint") << "two letters changed";
}

TEST(Meant, IsNothingWhereTheCommandIsRight) {
  EXPECT_EQ(meant({"check", "01", "--huh"}, commands), "");
  EXPECT_EQ(meant({"01", "check"}, commands), "check 01");
}

TEST(Meant, IsTheNearestOptionOfACommandThatIsRight) {
  const std::vector<std::string> options = {"--level", "--help", "--plain"};
  EXPECT_EQ(meant({"hint", "07", "--levl", "2"}, commands, options), "hint 07 --level 2");
  EXPECT_EQ(meant({"hint", "--levle=2", "--plain"}, commands, options), "hint --level=2 --plain");
  EXPECT_EQ(meant({"hint", "--level", "9"}, commands, options), "") << "the option is right";
  EXPECT_EQ(meant({"hint", "--no-such-option", "--levl"}, commands, options), "") << "one is far from all";
}

TEST(Meant, IsNothingForWordsThatAreFar) {
  EXPECT_EQ(meant({"no-such-command"}, commands), "");
  EXPECT_EQ(meant({"01", "07"}, commands), "");
  EXPECT_EQ(meant({}, commands), "");
}

// ------------------------------------------------------------------------------------------------- one task

/// Lesson 01 with all checks passed but those of these names.
Verdict verdict_without(const lesson::Lesson& lesson, const std::set<std::string>& failing) {
  Verdict verdict;
  for (const auto& [check, task] : lesson.tasks_of_checks()) {
    const bool fails = failing.count(check) != 0;
    const auto dot = check.find('.');
    judge::CheckResult result;
    result.suite = check.substr(0, dot);
    result.name = check.substr(dot + 1);
    result.state = fails ? judge::CheckResult::State::failed : judge::CheckResult::State::passed;
    result.task = task;
    verdict.report.checks.push_back(result);
  }
  verdict.kind = failing.empty() ? Verdict::Kind::passed : Verdict::Kind::failed;
  verdict.lines = {"all of it"};
  return verdict;
}

TEST(VerdictOnTask, CountsTheChecksOfThatTaskAlone) {
  const auto lesson = lesson::find_lesson(ATTN_ROOT, "01");
  const auto tasks = lesson.tasks_of_checks();
  const auto of_first =
      std::find_if(tasks.begin(), tasks.end(), [](const auto& check) { return check.second == "01.1"; });
  ASSERT_NE(of_first, tasks.end());
  const Verdict verdict = verdict_without(lesson, {of_first->first});

  const Verdict first = verdict_on_task(verdict, lesson, "01.1");
  EXPECT_EQ(first.kind, Verdict::Kind::failed);
  EXPECT_THAT(text_of(first.lines), HasSubstr("✗ 01 self_attention_v1 · " + of_first->first));
  const Verdict second = verdict_on_task(verdict, lesson, "01.2");
  EXPECT_EQ(second.kind, Verdict::Kind::passed);
  EXPECT_THAT(text_of(second.lines), HasSubstr("✓ 01.2: "));
  EXPECT_LT(first.total() + second.total(), verdict.total());
}

TEST(VerdictOnTask, LeavesALessonThatDoesNotCompile) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::not_compiled;
  verdict.lines = {"error"};
  EXPECT_EQ(text_of(verdict_on_task(verdict, lesson::find_lesson(ATTN_ROOT, "01"), "01.2").lines), "error\n");
}

TEST(HelpLines, HaveTheNamesOfCommandsBold) {
  const Lines lines =
      help_lines("SUBCOMMANDS:\n  check                 build a lesson\n  --plain               no colour\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].spans.front().text, "  check");
  EXPECT_EQ(lines[1].spans.front().role, Role::important);
  EXPECT_EQ(lines[1].text(), "  check                 build a lesson");
  EXPECT_EQ(lines[2].spans.front().role, Role::plain);
}

TEST(Summary, OfAStubNeedsNoVerdict) {
  State state;
  const auto lesson = lesson::find_lesson(ATTN_ROOT, "01");
  EXPECT_EQ(summary_of_stub(state, lesson).text(), "  01 self_attention_v1: not started");
  state.lessons[lesson.name].first_passed = "2026-11-21";
  EXPECT_EQ(summary_of_stub(state, lesson).text(), "  01 self_attention_v1: reset since it passed");
}

}  // namespace
}  // namespace attn::learn
