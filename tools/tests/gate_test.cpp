// The gate can fail: every defect planted below planted/ is refused, for the right reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "gate/answers.hpp"
#include "gate/judge.hpp"
#include "gate/operations.hpp"
#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::gate {
namespace {

using lesson::find_lesson;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::filesystem::path planted = ATTN_PLANTED;
const std::filesystem::path root = ATTN_ROOT;
const std::filesystem::path programs = ATTN_PROGRAMS;

/// The checks of the planted lesson 91, run with each of its edits.
const std::map<std::string, judge::Report>& reports() {
  static const auto all = run_edits(find_lesson(planted, "91"), programs);
  return all;
}

Problems judge_mistake_91(const std::string& id) {
  const auto lesson = find_lesson(planted, "91");
  const auto recordings = judge::Recordings::read(lesson.recordings_file());
  for (const auto& mistake : lesson.mistakes()) {
    if (mistake.id == id) return judge_mistake(lesson, mistake, reports().at(id), recordings);
  }
  return {"there is no mistake " + id};
}

TEST(Gate, RefusesAStubThatPassesACheck) {
  const auto lesson = find_lesson(planted, "90");
  EXPECT_THAT(judge_stub(lesson, run_checks(programs / "lesson_90")),
              Contains(HasSubstr("the stub passes Doubled.KeepsTheShape")));
}

TEST(Gate, TakesAStubThatPassesNothing) {
  EXPECT_THAT(judge_stub(find_lesson(planted, "91"), run_checks(programs / "lesson_91")), IsEmpty());
}

TEST(Gate, RunsTheSolutionWithoutItsMistakes) { EXPECT_EQ(reports().at("").first_failing(), nullptr); }

TEST(Gate, TakesAMistakeThatIsRejectedAndNamed) { EXPECT_THAT(judge_mistake_91("right"), IsEmpty()); }

TEST(Gate, RunsOnlyTheChecksThatReachAMistake) {
  const auto& checks = reports().at("halved").checks;  // in a function that one check calls
  ASSERT_THAT(checks, SizeIs(3));
  EXPECT_TRUE(checks[0].passed());
  EXPECT_TRUE(checks[1].passed());
  EXPECT_FALSE(checks[2].passed());
  EXPECT_THAT(judge_mistake_91("halved"), IsEmpty());
}

TEST(Gate, RefusesAMistakeThatPassesOrIsNotNamed) {
  const std::pair<const char*, const char*> refused[] = {
      {"passes", "passes all checks"},
      {"unreached", "passes all checks"},
      {"misnamed", "the mistake misnamed is rejected, but no failure names it"},
      {"misnamed", "is taken for other"},
      {"unnamed", "the mistake unnamed is rejected, but no failure names it"},
  };
  for (const auto& [id, why] : refused) EXPECT_THAT(judge_mistake_91(id), Contains(HasSubstr(why)));
}

/// What the judge says of an answer of the planted lesson 91.
std::string said_of(const std::string& id) {
  for (const auto& answer : find_lesson(planted, "91").answers()) {
    if (answer.id == "answer." + id) return outcome_of(answer, reports().at(answer.id));
  }
  return "there is no answer " + id;
}

TEST(Gate, TellsANamedAnswerFromOneThatIsDescribedOrPasses) {
  EXPECT_EQ(said_of("tripled"), outcomes::named);
  EXPECT_EQ(said_of("tripled_otherwise"), outcomes::misled);
  EXPECT_EQ(said_of("cleared"), outcomes::described);
  EXPECT_EQ(said_of("some_squared"), outcomes::numbers);
  EXPECT_EQ(said_of("left"), outcomes::passed);
  EXPECT_EQ(said_of("added"), outcomes::passed);
  EXPECT_EQ(said_of("not_right"), outcomes::rejected);
}

TEST(Gate, RefusesAnswersThatAreJudgedWorseThanBefore) {
  const auto lesson = find_lesson(planted, "91");
  const auto recordings = judge::Recordings::read(lesson.recordings_file());
  Problems problems;
  for (const auto& answer : lesson.answers()) {
    for (const auto& problem : judge_answer(lesson, answer, reports().at(answer.id), recordings)) {
      problems.push_back(problem);
    }
  }
  EXPECT_THAT(problems, Contains(HasSubstr("the wrong answer answer.tripled_otherwise (tripled, and the name is called "
                                           "false) is now misled, and was named")));
  EXPECT_THAT(problems, Contains(HasSubstr("answer.left (right, and called wrong) is now passed, without a \"why\"")));
  EXPECT_THAT(problems, Contains(HasSubstr("answer.not_right (wrong, and called right) is now rejected, without")));
  EXPECT_THAT(problems, SizeIs(3));
}

TEST(Gate, RefusesOutcomesThatMissTheGoals) {
  const Problems problems = judge_outcomes({find_lesson(planted, "91")});
  EXPECT_THAT(problems,
              Contains(HasSubstr("75.0 % of the wrong answers in tests/*/answers.json are named or described")));
  EXPECT_THAT(problems,
              Contains(HasSubstr("50.0 % of the wrong answers in tests/*/answers.json are named; it should")));
  EXPECT_THAT(problems, Contains(HasSubstr("75.0 % of the wrong answers in tests/91_")));
  EXPECT_THAT(problems, Contains(HasSubstr("right answers are rejected, without a \"why\"")));
  EXPECT_THAT(problems, SizeIs(4));
}

TEST(Gate, RefusesAChapterThatIsNotWhole) {
  const Problems problems = lint_chapter(find_lesson(planted, "91"));
  for (const char* problem : {
           "no section \"## Predict first\"",
           "has no picture",
           "does not name the task 91.1",
           "hints.md has 2 levels for 91.1",
           "has no spelling for ∂",
           "README.md: \\unheard is not known in the formula",
           "README.md: a source has no link: - A. Author",
           "README.md: a source has no link: - Nobody",
           "no_such_page.md leads nowhere",
           "#no-such-heading names a heading that is not there",
           "disabled or skipped",
           "no ATTN_SPEED(...) in tests/91_mistakes",
           "interview.md gives 3 minutes, expected 5 to 40",
           "interview.md has 1 lines of text, expected 6 to 25",
           "more than 100 characters: Double it.",
           "interview.md does not name the file doubled.cpp",
           "interview.md says nothing of the question \"Who listed this one?\"",
           "interview.md has \"### Who is gone?\", which the interview corner does not ask",
           "the interview corner has 2 questions, expected at least 3",
           "no answer to the question \"Who listed this one?\"",
           "lessons/91_mistakes/doubled.cpp differs from tests/91_mistakes/stub/doubled.cpp",
           "`cp lessons/91_mistakes/doubled.cpp tests/91_mistakes/stub/doubled.cpp`",
           "`./learn reset 91` puts the stub back",
           "tests/91_mistakes/stub/no_such_stub.cpp is too much",
           "`rm tests/91_mistakes/stub/no_such_stub.cpp`",
       }) {
    EXPECT_THAT(problems, Contains(HasSubstr(problem)));
  }
}

TEST(Gate, RefusesALessonWithoutItsCallsAndFiles) {
  const Problems problems = lint_chapter(find_lesson(planted, "90"));
  EXPECT_THAT(problems, Contains(HasSubstr("no stub calls todo(\"90.1\")")));
  EXPECT_THAT(problems, Contains(HasSubstr("90_stub_passes/interview.md")));
  EXPECT_THAT(problems, Contains(StartsWith("the interview corner has 0 questions"))) << "after what could not be read";
  EXPECT_THAT(problems, Contains(AllOf(
                            StartsWith("tests/90_stub_passes/stub/doubled.cpp is missing"),
                            HasSubstr("cp lessons/90_stub_passes/doubled.cpp tests/90_stub_passes/stub/doubled.cpp"))));
}

TEST(Gate, TakesALessonOfTheCourse) { EXPECT_THAT(lint_chapter(find_lesson(root, "01")), IsEmpty()); }

/// A copy of the planted course, to be changed.
class PlantedCopy : public ::testing::Test {
 protected:
  PlantedCopy() { std::filesystem::copy(planted, copy, std::filesystem::copy_options::recursive); }

  const Scratch scratch;
  const std::filesystem::path copy = scratch.path() / "course";
};

TEST_F(PlantedCopy, IsTakenWithAnExactCopyOfAStub) {
  put(copy / "tests/90_stub_passes/stub/doubled.cpp", lesson::read_file(copy / "lessons/90_stub_passes/doubled.cpp"));
  EXPECT_THAT(lint_chapter(find_lesson(copy, "90")), Not(Contains(HasSubstr("/stub/"))));
}

TEST(Gate, RefusesOperationsOfAnotherSolution) {
  const Scratch folder;
  const auto name = find_lesson(planted, "91").name;
  for (const char* part : {"tests", "solutions", "lessons"}) {
    std::filesystem::create_directories(folder.path() / part);
    std::filesystem::copy(planted / part / name, folder.path() / part / name, std::filesystem::copy_options::recursive);
  }
  const lesson::Lesson lesson{folder.path(), name};
  judge::Recordings operations;
  const auto stale = Contains(HasSubstr("operations.json is of another solution or other checks"));
  operations.stamp("before");
  put(lesson.operations_file(), operations.text());
  EXPECT_THAT(lint_values(lesson), stale);
  operations.stamp(stamp_of_operations(lesson));
  put(lesson.operations_file(), operations.text());
  EXPECT_THAT(lint_values(lesson), Not(stale));
  for (const auto& file : std::filesystem::directory_iterator(lesson.solution_folder())) {
    put(file.path(), "// another comment\n" + lesson::read_file(file.path()));
    EXPECT_THAT(lint_values(lesson), Not(stale));
    put(file.path(), "int more;\n" + lesson::read_file(file.path()));
    EXPECT_THAT(lint_values(lesson), stale);
  }
}

TEST(Gate, RefusesValuesThatAreIncompleteOrOld) {
  const Problems problems = lint_values(find_lesson(planted, "91"));
  EXPECT_THAT(problems, Contains(HasSubstr("tests/91_mistakes/golden.py is not there")));
  EXPECT_THAT(problems, Contains(HasSubstr("the mistake unnamed is not in tests/91_mistakes/recorded.json")));
  EXPECT_THAT(problems, Contains(HasSubstr("knows forgotten, which is no longer there")));
  EXPECT_THAT(problems, Contains(HasSubstr("knows Doubled.WasThereOnce, which is no longer there")));
}

TEST_F(PlantedCopy, IsRefusedForDeadLinksAndStaleFiles) {
  put(copy / "CONTRIBUTING.md", lesson::read_file(root / "CONTRIBUTING.md"));
  put(copy / "docs/sources.md",
      "Doubled.KeepsTheShape Doubled.DoesNotExist\n<a id=\"here\"></a> [a](#here) [b](#nowhere)\n"
      "[c](../../../actions) [d](../../outside)\n");
  const Problems problems = lint_repository(copy);
  EXPECT_THAT(problems, Contains(HasSubstr("lessons/no_such_lesson/README.md leads nowhere")));
  EXPECT_THAT(problems, Contains(HasSubstr("lessons/90_stub_passes/README.md needs a line like <!-- study: ")));
  EXPECT_THAT(problems, Contains(HasSubstr("names the check Doubled.DoesNotExist")));
  EXPECT_THAT(problems, Contains(HasSubstr("the link #nowhere names a heading that is not there")));
  EXPECT_THAT(problems, Contains(HasSubstr("../../outside leads nowhere")));
  EXPECT_THAT(problems, Not(Contains(AnyOf(HasSubstr("#here"), HasSubstr("actions")))));
  EXPECT_THAT(problems, Not(Contains(HasSubstr("Doubled.KeepsTheShape"))));
}

TEST(FindLesson, TakesNumbersAndNames) {
  for (const char* name : {"1", "01", "self_attention_v1", "01_self_attention_v1"}) {
    EXPECT_EQ(find_lesson(root, name).name, "01_self_attention_v1");
  }
}

TEST(FindLesson, SaysWhichLessonsThereAre) {
  EXPECT_THAT([] { find_lesson(root, "no_such"); }, ::testing::ThrowsMessage<std::invalid_argument>(::testing::AllOf(
                                                        HasSubstr("\"no_such\""), HasSubstr("by its number, 00 to "))));
}

}  // namespace
}  // namespace attn::gate
