// What follows from the past: days in a row, best times, what is due, and what an interview is worth.
#include "learn/memory/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lesson/text.hpp"

namespace attn::learn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string lesson = "05_interview_self_attention";

InterviewRecord interview(const std::string& when, double minutes, bool passed, const std::string& on = lesson) {
  InterviewRecord record;
  record.when = when;
  record.lesson = on;
  record.minutes = minutes;
  record.limit = 15;
  record.passed = passed;
  return record;
}

Card due_on(const std::string& day) {
  Card card;
  card.due = parse_day(day);
  return card;
}

// ------------------------------------------------------------------------------------------------ days in a row

TEST(DaysInARow, AreNoneWithoutWork) { EXPECT_EQ(days_in_a_row({}, parse_day("2026-11-21")), 0); }

TEST(DaysInARow, CountTodayAndTheDaysBefore) {
  EXPECT_EQ(days_in_a_row({"2026-11-21"}, parse_day("2026-11-21")), 1);
  EXPECT_EQ(days_in_a_row({"2026-11-19", "2026-11-20", "2026-11-21"}, parse_day("2026-11-21")), 3);
}

TEST(DaysInARow, GoOnWhileTodayIsNotOver) {
  EXPECT_EQ(days_in_a_row({"2026-11-19", "2026-11-20"}, parse_day("2026-11-21")), 2);
}

TEST(DaysInARow, EndWithAWholeDayWithoutWork) {
  EXPECT_EQ(days_in_a_row({"2026-11-18", "2026-11-19"}, parse_day("2026-11-21")), 0);
  EXPECT_EQ(days_in_a_row({"2026-11-17", "2026-11-18", "2026-11-20", "2026-11-21"}, parse_day("2026-11-21")), 2);
}

TEST(DaysInARow, GoOnOverTheEndsOfMonthsAndYears) {
  EXPECT_EQ(days_in_a_row({"2026-04-29", "2026-04-30", "2026-05-01"}, parse_day("2026-05-01")), 3);
  EXPECT_EQ(days_in_a_row({"2025-12-31", "2026-01-01"}, parse_day("2026-01-01")), 2);
  EXPECT_EQ(days_in_a_row({"2026-02-28", "2026-03-01"}, parse_day("2026-03-01")), 2);
  EXPECT_EQ(days_in_a_row({"2028-02-28", "2028-03-01"}, parse_day("2028-03-01")), 1) << "2028 has a February 29";
}

TEST(DaysInARow, TakeNoNoticeOfDaysToCome) {  // a clock that was wrong once
  EXPECT_EQ(days_in_a_row({"2026-11-20", "2026-11-21", "2026-11-22"}, parse_day("2026-11-21")), 2);
}

// --------------------------------------------------------------------------------------------------- interviews

TEST(InterviewsOf, KnowTheBestTimeOfThoseThatPassed) {
  State state;
  state.interviews = {interview("2026-11-18T09:00:00+0100", 14, true), interview("2026-11-19T09:00:00+0100", 9.5, true),
                      interview("2026-11-20T09:00:00+0100", 3, false), interview("2026-11-21T09:00:00+0100", 12, true)};
  const Tries tries = interviews_of(state, lesson);
  EXPECT_EQ(tries.attempts, 4);
  EXPECT_EQ(tries.passed, 3);
  EXPECT_EQ(tries.best_minutes, 9.5);
  EXPECT_EQ(tries.best_on, "2026-11-19");
}

TEST(InterviewsOf, KeepTheFirstOfTwoThatTookAsLong) {
  State state;
  state.interviews = {interview("2026-11-18T09:00:00+0100", 10, true), interview("2026-11-19T09:00:00+0100", 10, true)};
  EXPECT_EQ(interviews_of(state, lesson).best_on, "2026-11-18");
}

TEST(InterviewsOf, KnowNoBestTimeBeforeOnePassed) {
  State state;
  state.interviews = {interview("2026-11-18T09:00:00+0100", 2, false)};
  const Tries tries = interviews_of(state, lesson);
  EXPECT_EQ(tries.attempts, 1);
  EXPECT_EQ(tries.passed, 0);
  EXPECT_EQ(tries.best_minutes, 0);
  EXPECT_EQ(tries.best_on, "");
}

TEST(InterviewsOf, AreThoseOfOneLesson) {
  State state;
  state.interviews = {interview("2026-11-18T09:00:00+0100", 5, true, "01_self_attention_v1"),
                      interview("2026-11-19T09:00:00+0100", 8, true)};
  const Tries tries = interviews_of(state, lesson);
  EXPECT_EQ(tries.attempts, 1);
  EXPECT_EQ(tries.best_minutes, 8);
  EXPECT_EQ(interviews_of(state, "02_fused_qkv").attempts, 0);
}

TEST(MinutesText, HasOnePlaceBehindThePoint) {
  EXPECT_EQ(minutes_text(12.44), "12.4 minutes");
  EXPECT_EQ(minutes_text(0.98), "1.0 minutes");
}

// ------------------------------------------------------------------------------------------------------- grades

TEST(GradeOf, IsFiveInTimeWithOneCheckAndFourWithMore) {
  InterviewRecord passed = interview("", 15, true);
  passed.checks = 1;
  EXPECT_EQ(grade_of(passed, 1), 5) << "the last minute is in time";
  passed.checks = 2;
  EXPECT_EQ(grade_of(passed, 1), 4);
}

TEST(GradeOf, IsThreeWhenLate) {
  InterviewRecord passed = interview("", 15.1, true);
  passed.checks = 1;
  EXPECT_EQ(grade_of(passed, 1), 3);
}

TEST(GradeOf, IsTwoOrOneForAnAttemptByWhetherHalfOfTheChecksPassed) {
  const InterviewRecord attempt = interview("", 5, false);
  EXPECT_EQ(grade_of(attempt, 0.5), 2);
  EXPECT_EQ(grade_of(attempt, 0.49), 1);
  EXPECT_EQ(grade_of(attempt, 0), 1);
}

// ---------------------------------------------------------------------------------------------------------- due

TEST(DueCards, AreThoseOfTodayAndOfDaysThatWereMissed) {
  State state;
  state.cards = {{"01_a: yesterday?", due_on("2026-11-20")},
                 {"01_a: today?", due_on("2026-11-21")},
                 {"01_a: tomorrow?", due_on("2026-11-22")}};
  EXPECT_THAT(due_cards(state, parse_day("2026-11-21")), ElementsAre("01_a: today?", "01_a: yesterday?"));
  EXPECT_THAT(due_cards(state, parse_day("2026-11-19")), IsEmpty());
}

TEST(DueCards, HaveQuestionsBeforeLessons) {
  State state;
  for (const char* card : {"01_a", "01_a: why?", "02_b", "02_b: how?"}) state.cards[card] = due_on("2026-11-21");
  EXPECT_THAT(due_cards(state, parse_day("2026-11-21")), ElementsAre("01_a: why?", "02_b: how?", "01_a", "02_b"));
}

TEST(NextDue, IsTheFirstDayOfAll) {
  State state;
  EXPECT_EQ(next_due(state), "");
  state.cards = {{"01_a", due_on("2026-12-01")}, {"02_b", due_on("2026-11-30")}, {"03_c", due_on("2027-01-01")}};
  EXPECT_EQ(next_due(state), "2026-11-30");
}

}  // namespace
}  // namespace attn::learn
