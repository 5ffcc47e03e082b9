// What the screens show, from data to lines: without a terminal, a build or a file.
#include "learn/screens/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/screens/style.hpp"
#include "lesson/text.hpp"

namespace attn::learn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<std::string> texts(const Lines& lines) { return lines_of(text_of(lines)); }

Verdict verdict_of(Verdict::Kind kind, const Lines& lines) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.lines = lines;
  return verdict;
}

Verdict one_of_two_passed() {
  Verdict verdict = verdict_of(Verdict::Kind::failed, {"✗ 01 sums"});
  verdict.report.checks.resize(2);
  verdict.report.checks[1].state = judge::CheckResult::State::failed;
  return verdict;
}

const lesson::Lesson sums{"/course", "01_sums"};
const std::vector<std::string> sums_files = {"lessons/01_sums/sums.cpp"};

// ------------------------------------------------------------------------------------------------------- watch

TEST(HeaderLines, BeginWithATitleThatStandsOut) {
  const Lines lines = header_lines("01 sums: Sums", "1 of 2 lessons passed");
  EXPECT_EQ(lines[0].spans.front().role, Role::important);
  EXPECT_EQ(lines[1].spans.front().role, Role::label);
}

TEST(DoingLine, ShowsTheStepsOfABuild) {
  EXPECT_EQ(doing_line("building, step 3 of 14", false, false), "building, step 3 of 14 ...");
  EXPECT_EQ(doing_line("building", false, true), "building ...   (a minute or two, once)");
  EXPECT_EQ(doing_line("building, step 3 of 14", true, true), "building ...") << "in plain style";
}

TEST(VerdictLines, ShowAFailureAndThenWarnings) {
  Verdict verdict = verdict_of(Verdict::Kind::failed, {"one", "two"});
  EXPECT_THAT(texts(verdict_lines(verdict, {"add"}, "speed")), ElementsAre("one", "two"));
  verdict.warnings = {"unused variable"};
  EXPECT_THAT(texts(verdict_lines(verdict, {}, "")), ElementsAre("one", "two", "", "unused variable"));
}

TEST(VerdictLines, EndWithGoalsAndSpeedWhenPassed) {
  EXPECT_THAT(texts(verdict_lines(verdict_of(Verdict::Kind::passed, {"✓ 01 sums"}), {"add", "merge"}, "speed   1 ms",
                                  {"■□  1 of 2 lessons passed", "Next: 02"})),
              ElementsAre("✓ 01 sums", "", "Well done. You can now:", "- add", "- merge", "", "speed   1 ms", "",
                          "■□  1 of 2 lessons passed", "Next: 02", HasSubstr("n goes on")));
}

TEST(VerdictLines, OfferTheKeyForHints) {
  EXPECT_THAT(texts(verdict_lines(
                  verdict_of(Verdict::Kind::failed, {"✗ 01", labelled("  hint    ", "./learn hint 01.2", Role::hint)}),
                  {}, "")),
              ElementsAre("✗ 01", "  hint    press h"));
}

TEST(WelcomeLines, SayWhereToBeginAndWhatRuns) {
  const auto lines = texts(welcome_lines({"a.cpp", 11}, "building ..."));
  EXPECT_THAT(lines.front(), HasSubstr("Welcome"));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("a.cpp:11")));
  EXPECT_EQ(lines.back(), "building ...");
}

TEST(WelcomeLines, FitIntoASmallTerminalWithWhatRuns) {
  const std::string doing = doing_line("waiting, as another ./learn builds lesson_00", false, true);
  constexpr std::size_t rows = 20 - 3 - 6;  // without the heading, the files of lesson 00 and the keys
  EXPECT_LE(painted(welcome_lines({"lessons/00_warm_up/softmax.cpp", 10}, doing), 60).size(), rows);
}

TEST(HintLines, ShowTheLevelsUpToTheOneAskedFor) {
  const lesson::Task task{"01.1", "Add", {"Which sum?", "Add the rows.", "sum(X, 1)"}};
  EXPECT_THAT(texts(hint_lines({task}, 2)), ElementsAre("01.1 Add", "", "hint 1 of 3", "Which sum?", "", "hint 2 of 3",
                                                        "Add the rows.", "", HasSubstr("h shows more")));
  EXPECT_THAT(texts(hint_lines({task}, 3)).back(), HasSubstr("s shows the solution"));
}

TEST(HintLines, ShowEveryTaskWithATitleThatStandsOut) {
  const Lines lines = hint_lines({{"01.1", "Add", {"a?"}}, {"01.2", "Merge", {"b?"}}}, 1);
  EXPECT_THAT(texts(lines), ::testing::IsSupersetOf({"01.1 Add", "a?", "01.2 Merge", "b?"}));
  EXPECT_EQ(lines.front().spans.front().role, Role::important);
}

TEST(ListLines, MarkTheSelectedLesson) {
  EXPECT_THAT(texts(list_lines({"> now  00 warm up", "       01 sums"}, 1, "")),
              ElementsAre("  now  00 warm up", ">      01 sums", "", HasSubstr("Enter goes there")));
  EXPECT_EQ(list_lines({"  a", "  b"}, 1, "")[1].spans.front().role, Role::selected);
  EXPECT_EQ(texts(list_lines({"  a", "  b"}, 1, "01 sums")).back(), "at: 01 sums");
}

TEST(AllLines, BeginWithWhatASmallTerminalShouldShowAndEndWithTheProgress) {
  const Lines done = {"✗ 01 b: 0 of 3 checks"}, not_started = {"00 a: not started"};
  EXPECT_THAT(texts(all_lines(done, not_started, "03 d: building ...", "1 of 4 lessons passed")),
              ElementsAre("03 d: building ...", "Ctrl-C stops.", "", "✗ 01 b: 0 of 3 checks", "00 a: not started"));
  EXPECT_THAT(texts(all_lines(done, not_started, "", "1 of 4 lessons passed")),
              ElementsAre("✗ 01 b: 0 of 3 checks", "00 a: not started", "", "1 of 4 lessons passed", "Esc goes back."));
}

TEST(WatchStatus, ShowsABarOnlyOnceThereIsAVerdict) {
  EXPECT_THAT(texts(watch_status(sums, sums_files, {}, 200)),
              ElementsAre("read   lessons/01_sums/README.md", "write  lessons/01_sums/sums.cpp"));
  EXPECT_THAT(texts(watch_status(sums, sums_files, one_of_two_passed(), 65)).front(),
              bar(1, 2, 40).text() + " 1 of 2 checks");
}

TEST(KeyLines, HaveKeysThatStandOutAndAreNotBrokenFromTheirWords) {
  const Keys keys = {{"n", "next"}, {"p", "previous"}, {"h", "hint"}, {"o", "read"}};
  EXPECT_THAT(texts(key_lines(keys, 200)), ElementsAre("n next  p previous  h hint  o read"));
  EXPECT_THAT(texts(key_lines(keys, 21)), ElementsAre("n next  p previous", "h hint  o read"));
  const Line line = key_lines(keys, 200).front();
  EXPECT_EQ(line.spans[0].role, Role::important);
  EXPECT_EQ(line.spans[1].role, Role::plain);
}

// --------------------------------------------------------------------------------------------------- interview

InterviewRecord interview(double minutes, double limit, bool won) {
  return {"2026-11-21T15:04:05+0100", "01_sums", minutes, limit, 2, won, {}};
}

TEST(ClockText, CountsDownAndThenUp) {
  EXPECT_EQ(clock_text(12.1), "12:06 left");
  EXPECT_EQ(clock_text(0), "0:00 left");
  EXPECT_EQ(clock_text(-0.5), "0:30 over");
}

TEST(ResultLines, SayHowItWentAndCompareWithTheBestSoFar) {
  const Tries none, before{2, 1, 10, "2026-11-20"};
  const std::string best = "Your best: 10.0 minutes, on 2026-11-20. 3 attempts so far.";
  const auto lines = [](const InterviewRecord& record, const Tries& tries) {
    return texts(result_lines(record, tries, {}));
  };
  EXPECT_THAT(lines(interview(12.44, 30, true), none),
              ElementsAre("Passed: 12.4 minutes of 30, 2 checks used", "A personal best. 1 attempt so far."));
  EXPECT_THAT(lines(interview(31, 30, true), before),
              ElementsAre("Passed, late: 31.0 minutes of 30, 2 checks used", best));
  EXPECT_THAT(lines(interview(9, 30, true), before),
              ElementsAre("Passed: 9.0 minutes of 30, 2 checks used", "A personal best. 3 attempts so far."));
  EXPECT_THAT(lines(interview(1, 30, false), before),
              ElementsAre("Not passed: 1.0 minutes of 30, 2 checks used", best));
  EXPECT_EQ(lines(interview(1, 30, false), none)[1], "1 attempt so far; none passed yet.");
}

TEST(ResultLines, NameTheMistakes) {
  EXPECT_THAT(texts(result_lines(interview(1, 30, false), {}, {"the scores are not scaled"})),
              ElementsAre(testing::_, testing::_, "mistake  the scores are not scaled"));
}

TEST(FollowUpLines, ShowTheAnswerOnlyWhenAsked) {
  const std::vector<lesson::Question> questions = {{"Why √E?", "Variance."}, {"Why softmax?", "Weights."}};
  EXPECT_THAT(texts(follow_up_lines(questions, 1, false)),
              ElementsAre("", HasSubstr("question 2 of 2"), "", "Why softmax?"));
  EXPECT_THAT(texts(follow_up_lines(questions, 0, true)),
              ElementsAre("", HasSubstr("question 1 of 2"), "", "Why √E?", "", "Variance."));
  EXPECT_THAT(texts(follow_up_lines({}, 0, true)), IsEmpty());
}

TEST(ReviewLines, HideTheAnswerUntilItIsGraded) {
  const lesson::Question question{"Why √E?", "Variance.", lesson::Asked::often, "Name the\nassumption."};
  EXPECT_THAT(texts(review_lines("01 sums", question, false)),
              ElementsAre("01 sums, often asked", "", "Why √E?", "", "Say your answer aloud."));
  const auto graded = texts(review_lines("01 sums", question, true));
  EXPECT_THAT(graded, ElementsAre("01 sums, often asked", "", "Why √E?", "", "Variance.", "",
                                  "A senior interviewer expects:", "Name the assumption.", "", "How was yours?",
                                  HasSubstr("5 perfect"), HasSubstr("0 no idea")));
  EXPECT_THAT(texts(review_lines("01 sums", {"Why √E?", "Variance."}, true)), SizeIs(9)) << "without a senior's words";
  EXPECT_THAT(texts(follow_up_lines({question}, 0, true)), ::testing::Contains("Name the assumption."));
  EXPECT_THAT(texts(follow_up_lines({question}, 0, false)), Not(::testing::Contains("Name the assumption.")));
}

}  // namespace
}  // namespace attn::learn
