// What is read from a lesson's own files: its goals, its questions, and the words of the interviewer.
#include "lesson/lesson.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "scratch.hpp"

namespace attn::lesson {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// A lesson in a folder of its own.
class LessonFiles : public ::testing::Test {
 protected:
  void write_chapter(const std::string& text) const { put(lesson.chapter_file(), text); }
  void write_interview(const std::string& text) const { put(lesson.interview_file(), text); }

  const Scratch scratch;
  const Lesson lesson{scratch.path(), "42_answers"};
};

TEST_F(LessonFiles, AreRefusedInASentenceWhenTheyAreNotJson) {
  const auto refused = [&](const std::string& text) {
    put(lesson.mistakes_file(), text);
    try {
      lesson.mistakes();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused("{\"a\": }"), lesson.mistakes_file().string() + " is not JSON from byte 7 on");
  EXPECT_EQ(refused(""), lesson.mistakes_file().string() + " is not JSON from byte 1 on");
  EXPECT_EQ(refused("[1e999]"), lesson.mistakes_file().string() + " has a number that is too large");
}

TEST_F(LessonFiles, GiveTheGoalsEachAsOneLine) {
  write_chapter(
      "# 42 · Answers\n\n## What you will be able to do\n\n- Write\n  and rewrite.\n- Say `why`.\n\n"
      "## The formula\n\n- no goal\n");
  EXPECT_THAT(lesson.goals(), ElementsAre("Write and rewrite.", "Say `why`."));
}

TEST_F(LessonFiles, GiveTheQuestionsOfTheInterviewCornerWithTheirAnswers) {
  write_chapter(
      "## Check yourself\n\n<details><summary>Answers</summary>\n\n1.\n\n</details>\n\n## Interview corner\n\n"
      "<details><summary>Why?</summary>\n\nBecause\nof this.\n\nAnd that.\n\n</details>\n\n"
      "<details><summary>How much?</summary>\n\n42.\n\n</details>\n\n"
      "## Next\n\n<details><summary>Not this one</summary>\n\nno\n\n</details>\n");
  EXPECT_THAT(
      lesson.questions(),
      ElementsAre(AllOf(Field(&Question::text, "Why?"), Field(&Question::answer, "Because\nof this.\n\nAnd that.")),
                  AllOf(Field(&Question::text, "How much?"), Field(&Question::answer, "42."))));
}

TEST_F(LessonFiles, GiveNoQuestionsWhereAChapterHasNone) {
  write_chapter("# 42\n\n## Interview corner\n\n## Next\n\n<details><summary>No</summary>no</details>\n");
  EXPECT_THAT(lesson.questions(), IsEmpty());
  write_chapter("# 42\n");
  EXPECT_THAT(lesson.questions(), IsEmpty());
  EXPECT_THAT(lesson.goals(), IsEmpty());
}

TEST_F(LessonFiles, AreRefusedWithAQuestionThatIsNotClosed) {
  write_chapter(
      "# 42\n\n## Interview corner\n\n<details><summary>Why?</summary>\n\nBecause.\n\n## Next\n\n</details>\n");
  EXPECT_THAT([&] { lesson.questions(); },
              ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("README.md"), HasSubstr("has no </details>"))));
}

TEST_F(LessonFiles, GiveTheMinutesAndTheWordsOfTheInterviewer) {
  write_interview("# 15 minutes\n\nWrite it.\n\nThen stop.\n");
  EXPECT_EQ(lesson.interview().minutes, 15);
  EXPECT_EQ(lesson.interview().text, "Write it.\n\nThen stop.");
}

const std::string two_questions =
    "# 42 · Answers\n\n## Interview corner\n\n<details><summary>Why?</summary>\n\nBecause.\n\n</details>\n\n"
    "<details><summary>How much?</summary>\n\n42.\n\n</details>\n";

TEST_F(LessonFiles, SayOfAQuestionHowOftenItIsAskedAndWhatIsExpected) {
  write_chapter(two_questions);
  write_interview(
      "# 15 minutes\n\nWrite it.\n\n## What a senior interviewer expects\n\n### How much?\n\nOften asked. "
      "The\nunit.\n\n"
      "### Gone?\n\nRarely asked. No.\n");
  const auto questions = lesson.questions();
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0].asked, Asked::sometimes) << "nothing is said of it";
  EXPECT_EQ(questions[0].senior, "");
  EXPECT_EQ(questions[1].asked, Asked::often);
  EXPECT_EQ(questions[1].answer, "42.");
  EXPECT_EQ(questions[1].senior, "The\nunit.");
  EXPECT_EQ(lesson.remarks().size(), 2U);
  EXPECT_EQ(lesson.interview().text, "Write it.") << "the interviewer does not say what is expected";
}

TEST_F(LessonFiles, AreRefusedWhenARemarkDoesNotSayHowOftenAQuestionIsAsked) {
  write_chapter(two_questions);
  for (const char* remark : {"", "The unit.", "Always asked. The unit.", "Often. The unit.", " asked. The unit."}) {
    write_interview(std::string("# 15 minutes\n\n## What a senior interviewer expects\n\n### Why?\n\n") + remark);
    EXPECT_THAT([&] { lesson.questions(); },
                ThrowsMessage<std::runtime_error>(
                    AllOf(HasSubstr("42_answers/interview.md"), HasSubstr("below \"Why?\" expected \"Often asked."))))
        << remark;
  }
}

TEST_F(LessonFiles, AreJudgedByASuiteOfTheirNameOrOfTheirTasks) {
  for (const char* stub : {"answers.cpp", "question.cpp"}) {
    put(lesson.folder() / stub, "");
    put(lesson.stub_folder() / stub, *stub == 'a' ? "// TODO(42.1): answer" : "// TODO(42.2): ask");
  }
  put(lesson.checks_file(), "// ----- ask, 42.2\nTEST(Ask, Why) {\n// ----- bad input\nTEST(Odd, Ends) {\n");
  EXPECT_EQ(lesson.judged_file("AnswersInTime"), "lessons/42_answers/answers.cpp");
  EXPECT_EQ(lesson.judged_file("Ask"), "lessons/42_answers/question.cpp");
  EXPECT_EQ(lesson.judged_file("Odd"), "lessons/42_answers");
}

TEST_F(LessonFiles, SayWhatStudyingTheLessonTakes) {
  write_chapter("# 42 · Answers\n<!-- study: 75 minutes | often asked | after 00, 01 -->\n");
  EXPECT_EQ(lesson.study().minutes, 75);
  EXPECT_EQ(lesson.study().asked, Asked::often);
  EXPECT_THAT(lesson.study().after, ElementsAre("00", "01"));
  write_chapter("# 42 · Answers\n<!-- study: 60 minutes | rarely asked -->\n");
  EXPECT_EQ(lesson.study().minutes, 60);
  EXPECT_EQ(lesson.study().asked, Asked::rarely);
  EXPECT_THAT(lesson.study().after, IsEmpty());
  for (const char* wrong : {"", "<!-- study: an hour | often asked -->", "<!-- study: 60 minutes | always asked -->"}) {
    write_chapter(std::string("# 42 · Answers\n") + wrong + "\n");
    EXPECT_EQ(lesson.study().minutes, 0) << wrong;
  }
}

TEST_F(LessonFiles, AreRefusedWhenTheInterviewDoesNotBeginWithItsMinutes) {
  for (const char* text : {"", "#", "Write it.\n", "# Interview\n", "# fifteen minutes\n", "# 15\n", "15 minutes\n",
                           "## 15 minutes\n", "# 15 minutes or so\n", "# 99999999999999999999 minutes\n"}) {
    write_interview(text);
    EXPECT_THAT([&] { lesson.interview(); }, ThrowsMessage<std::runtime_error>(AllOf(
                                                 HasSubstr("42_answers/interview.md"), HasSubstr("# 15 minutes"))))
        << text;
  }
}

TEST_F(LessonFiles, AreNamedWhenTheyAreNotThere) {
  EXPECT_THAT([&] { lesson.interview(); }, ThrowsMessage<std::runtime_error>(HasSubstr("42_answers/interview.md")));
  EXPECT_THAT([&] { lesson.questions(); }, ThrowsMessage<std::runtime_error>(HasSubstr("42_answers/README.md")));
  EXPECT_THAT([&] { lesson.goals(); }, ThrowsMessage<std::runtime_error>(HasSubstr("42_answers/README.md")));
}

TEST(Lesson, HasGoalsAndQuestionsInEveryChapterOfTheCourse) {
  const auto lessons = find_lessons(ATTN_ROOT);
  EXPECT_GE(lessons.size(), 14U);
  for (const auto& lesson : lessons) {
    EXPECT_GE(lesson.goals().size(), 3U) << lesson.name;
    EXPECT_GE(lesson.questions().size(), 3U) << lesson.name;
  }
}

}  // namespace
}  // namespace attn::lesson
