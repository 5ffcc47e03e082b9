// What to learn before an interview: which lessons and questions fit into the time, and on which day.
#include "learn/commands/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace attn::learn {
namespace {

using lesson::Asked;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Topic topic(const std::string& number, int minutes, Asked asked, const std::vector<std::string>& after = {}) {
  return {number, "title", {minutes, asked, after}, false, 20, {}, false};
}

Topic with_questions(Topic of, int often, int sometimes, int rarely) {
  of.questions = {often, sometimes, rarely};
  return of;
}

Topic as_passed(Topic of) {
  of.passed = true;
  return of;
}

std::vector<std::string> as_texts(const std::vector<Sitting>& sittings) {
  std::vector<std::string> texts;
  for (const auto& sitting : sittings) texts.push_back(std::to_string(sitting.minutes) + " " + sitting.what);
  return texts;
}

std::vector<std::string> chosen(const std::vector<Topic>& topics, int minutes) {
  return as_texts(choose(topics, minutes).sittings);
}

int total(const std::vector<Sitting>& sittings) {
  return std::accumulate(sittings.begin(), sittings.end(), 0,
                         [](int sum, const Sitting& sitting) { return sum + sitting.minutes; });
}

TEST(Choose, TakesWhatIsAskedMostFirst) {
  const std::vector<Topic> topics = {topic("01", 60, Asked::rarely), topic("02", 60, Asked::sometimes),
                                     topic("03", 60, Asked::often)};
  EXPECT_THAT(chosen(topics, 60), ElementsAre("60 ./learn 03 (title)"));
  EXPECT_THAT(chosen(topics, 120), ElementsAre("60 ./learn 02 (title)", "60 ./learn 03 (title)"));
  EXPECT_THAT(chosen(topics, 59), IsEmpty());
}

TEST(Choose, TakesALessonOnlyWithThoseThatItNeeds) {
  const std::vector<Topic> topics = {topic("01", 40, Asked::rarely), topic("02", 30, Asked::rarely, {"01"}),
                                     topic("03", 60, Asked::often, {"02"})};
  EXPECT_THAT(chosen(topics, 129), IsEmpty());
  EXPECT_THAT(chosen(topics, 130),
              ElementsAre("40 ./learn 01 (title)", "30 ./learn 02 (title)", "60 ./learn 03 (title)"));
  EXPECT_THAT(chosen({as_passed(topics[0]), as_passed(topics[1]), topics[2]}, 60),
              ElementsAre("60 ./learn 03 (title)"));
}

TEST(Choose, TakesNoLesserLessonWhileOneThatIsAskedMoreDoesNotFit) {
  EXPECT_THAT(chosen({topic("01", 60, Asked::rarely), topic("02", 90, Asked::often)}, 80), IsEmpty());
}

TEST(Choose, TakesALessonThatNeedsALesserOneAfterOthersThatAreAskedAsMuch) {
  const std::vector<Topic> topics = {topic("01", 30, Asked::rarely), topic("02", 30, Asked::often, {"01"}),
                                     topic("03", 60, Asked::often)};
  EXPECT_THAT(chosen(topics, 60), ElementsAre("60 ./learn 03 (title)"));
  EXPECT_THAT(chosen(topics, 120),
              ElementsAre("30 ./learn 01 (title)", "30 ./learn 02 (title)", "60 ./learn 03 (title)"));
}

TEST(Choose, EndsWithABlankPage) {
  const std::vector<Topic> topics = {topic("01", 60, Asked::often), topic("02", 60, Asked::often),
                                     topic("03", 90, Asked::often)};
  EXPECT_THAT(chosen(topics, 140),
              ElementsAre("60 ./learn 01 (title)", "60 ./learn 02 (title)", "20 from blank: ./learn interview 02"));
  EXPECT_THAT(chosen(topics, 139), ElementsAre("60 ./learn 01 (title)", "60 ./learn 02 (title)"));
}

TEST(Choose, KeepsAQuarterForQuestionsThatAreAskedOften) {
  const std::vector<Topic> topics = {with_questions(topic("01", 80, Asked::often), 0, 0, 9),
                                     with_questions(topic("02", 30, Asked::rarely), 9, 0, 0)};
  EXPECT_THAT(chosen(topics, 100), ElementsAre("54 ./learn review --new --questions 18")) << "80 do not fit into 75";
}

TEST(Choose, PutsQuestionsAfterTheirLessonAndTheMostAskedFirst) {
  const std::vector<Topic> topics = {with_questions(topic("01", 30, Asked::rarely), 1, 9, 0),
                                     with_questions(topic("02", 30, Asked::often), 2, 1, 9)};
  EXPECT_THAT(chosen(topics, 42), ElementsAre("30 ./learn 02 (title)", "9 ./learn review --lesson 02 --questions 3",
                                              "3 ./learn review --new --questions 1"));
}

TEST(Choose, SharesTheOtherQuestionsOutAmongTheLessons) {
  const std::vector<Topic> topics = {topic("01", 30, Asked::often), topic("02", 30, Asked::often),
                                     with_questions(topic("03", 900, Asked::rarely), 7, 0, 0)};
  EXPECT_THAT(chosen(topics, 101),
              ElementsAre("30 ./learn 01 (title)", "9 ./learn review --new --questions 3", "30 ./learn 02 (title)",
                          "12 ./learn review --new --questions 4", "20 from blank: ./learn interview 02"));
}

TEST(Choose, BeginsWithQuestionsOfWhatIsPassed) {
  const std::vector<Topic> topics = {with_questions(topic("01", 30, Asked::often), 2, 0, 0),
                                     with_questions(as_passed(topic("02", 30, Asked::rarely)), 3, 0, 0)};
  EXPECT_THAT(chosen(topics, 45), ElementsAre("9 ./learn review --all --questions 3", "30 ./learn 01 (title)",
                                              "6 ./learn review --lesson 01 --questions 2"));
}

TEST(Choose, CountsWhatItLeavesOut) {
  const std::vector<Topic> topics = {with_questions(topic("01", 30, Asked::often), 2, 0, 9),
                                     with_questions(topic("02", 300, Asked::often), 1, 1, 0)};
  const Chosen some = choose(topics, 39);
  EXPECT_THAT(as_texts(some.sittings),
              ElementsAre("30 ./learn 01 (title)", "6 ./learn review --lesson 01 --questions 2",
                          "3 ./learn review --new --questions 1"));
  EXPECT_EQ(some.lessons_left_out, 1);
  EXPECT_EQ(some.questions_left_out, 10);
  const Chosen all = choose(topics, 1000);
  EXPECT_EQ(all.lessons_left_out, 0);
  EXPECT_EQ(all.questions_left_out, 0);
}

TEST(Duration, IsWrittenInOneWay) {
  EXPECT_EQ(duration_text(0), "0 min");
  EXPECT_EQ(duration_text(58), "58 min");
  EXPECT_EQ(duration_text(60), "1 h");
  EXPECT_EQ(duration_text(75), "1 h 15 min");
  EXPECT_EQ(duration_text(240), "4 h");
}

TEST(Choose, RepeatsWhatIsPassedAndAskedOftenFromBlank) {
  const std::vector<Topic> topics = {as_passed(topic("01", 60, Asked::often)),
                                     as_passed(topic("02", 60, Asked::rarely))};
  EXPECT_THAT(chosen(topics, 30), ElementsAre("20 from blank: ./learn interview 01"));
  EXPECT_THAT(chosen(topics, 19), IsEmpty());
}

TEST(Choose, NeverTakesMoreThanTheTime) {
  std::vector<Topic> topics;
  for (int i = 10; i < 30; ++i) {
    topics.push_back(with_questions(topic(std::to_string(i), 7 * i % 90 + 20, static_cast<Asked>(i % 3)), 2, 1, 3));
    if (i % 4 == 0) topics.back().passed = true;
  }
  for (int minutes = 0; minutes < 2000; minutes += 37) EXPECT_LE(total(choose(topics, minutes).sittings), minutes);
}

TEST(Spread, SharesTheTimeOutAndContinuesALessonOnTheNextDay) {
  const auto days = spread({{90, "a"}, {90, "b"}}, 100, 3);
  ASSERT_EQ(days.size(), 3U);
  EXPECT_EQ(days[0].day, 100);
  EXPECT_EQ(days[2].day, 102);
  EXPECT_THAT(as_texts(days[0].sittings), ElementsAre("60 a"));
  EXPECT_THAT(as_texts(days[1].sittings), ElementsAre("30 a, continued", "30 b"));
  EXPECT_THAT(as_texts(days[2].sittings), ElementsAre("60 b, continued"));
}

TEST(Spread, LeavesNoFewMinutesForAnotherDay) {
  const auto days = spread({{70, "a"}, {50, "b"}}, 0, 2);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_THAT(as_texts(days[0].sittings), ElementsAre("70 a"));
}

TEST(Spread, KeepsAnInterviewOnOneDay) {
  const auto whole = Sitting::Kind::whole;
  const auto days = spread({{40, "a"}, {50, "interview", whole}, {30, "b"}}, 0, 2);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_THAT(as_texts(days[0].sittings), ElementsAre("40 a"));
  EXPECT_THAT(as_texts(days[1].sittings), ElementsAre("50 interview", "30 b"));
  EXPECT_THAT(as_texts(spread({{90, "interview", whole}, {30, "b"}}, 0, 3)[0].sittings), ElementsAre("90 interview"))
      << "longer than a day";
}

TEST(Spread, SharesNewQuestionsOut) {
  const auto days = spread({{78, "./learn review --new --questions 26", Sitting::Kind::new_questions}}, 0, 2);
  ASSERT_EQ(days.size(), 2U);
  EXPECT_THAT(as_texts(days[0].sittings), ElementsAre("39 ./learn review --new --questions 13"));
  EXPECT_THAT(as_texts(days[1].sittings), ElementsAre("39 ./learn review --new --questions 13"));
}

TEST(Choose, MakesALessonThatIsAnInterviewOneSitting) {
  Topic interview = topic("05", 50, Asked::often);
  interview.is_interview = true;
  EXPECT_EQ(choose({interview}, 60).sittings.at(0).kind, Sitting::Kind::whole);
  EXPECT_EQ(choose({topic("06", 50, Asked::often)}, 60).sittings.at(0).kind, Sitting::Kind::lesson);
}

TEST(Spread, TakesFewerDaysWhereThereIsLittleToDo) {
  EXPECT_EQ(spread({{75, "a"}}, 0, 1000).size(), 2U);
  EXPECT_EQ(spread({{12, "a"}}, 0, 3).size(), 1U);
  EXPECT_EQ(spread({}, 0, 3).size(), 1U);
}

TEST(Spread, KeepsEveryMinute) {
  const std::vector<Sitting> sittings = {{75, "a"}, {9, "b"}, {105, "c"}, {3, "d"}, {200, "e"}};
  for (int days = 1; days < 30; ++days) {
    int sum = 0;
    for (const auto& day : spread(sittings, 0, days)) {
      EXPECT_THAT(day.sittings, Not(IsEmpty())) << days;
      sum += total(day.sittings);
    }
    EXPECT_EQ(sum, total(sittings)) << days;
  }
}

}  // namespace
}  // namespace attn::learn
