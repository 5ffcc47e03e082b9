// SM-2, with values worked out by hand, and days of the calendar.
#include "learn/memory/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace attn::learn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The intervals after answers of these grades, each given when the card was due.
std::vector<int> intervals(const std::vector<int>& grades, Card card = {}) {
  std::vector<int> days;
  for (const int grade : grades) {
    card = reviewed(card, grade, card.due);
    days.push_back(card.interval);
  }
  return days;
}

double easiness_after(const std::vector<int>& grades) {
  Card card;
  for (const int grade : grades) card = reviewed(card, grade, card.due);
  return card.easiness;
}

TEST(Schedule, MakesIntervalsAndEasinessFromTheGrades) {
  // 2.5 + (0.1 - 1 (0.08 + 1 · 0.02)) = 2.5;  6 · 2.5 = 15, 15 · 2.5 = 37.5, 38 · 2.5 = 95
  EXPECT_THAT(intervals({4, 4, 4, 4, 4}), ElementsAre(1, 6, 15, 38, 95));
  EXPECT_DOUBLE_EQ(easiness_after({4, 4, 4}), 2.5);
  // each 5 adds 0.1: the third interval is made with 2.8, the fourth with 2.9;  6 · 2.8 = 16.8, 17 · 2.9 = 49.3
  EXPECT_THAT(intervals({5, 5, 5, 5}), ElementsAre(1, 6, 17, 50));
  EXPECT_DOUBLE_EQ(easiness_after({5, 5, 5, 5}), 2.9);
  // 0.1 - 2 (0.08 + 2 · 0.02) = -0.14;  6 · (2.5 - 3 · 0.14) = 12.48
  EXPECT_THAT(intervals({3, 3, 3}), ElementsAre(1, 6, 13));
  EXPECT_DOUBLE_EQ(easiness_after({3, 3, 3}), 2.08);
}

// --------------------------------------------------------------------------------------- answers before they are due

Card due_in_ten_days() { return {3, 2.5, 15, parse_day("2026-12-01")}; }

const Day early = parse_day("2026-11-21");

TEST(EarlyAnswers, ChangeNothingWhenTheyAreRight) {
  const auto fields = [](const Card& card) {
    return std::tuple(card.due, card.interval, card.repetitions, card.easiness);
  };
  for (const int grade : {3, 4, 5}) {
    EXPECT_EQ(fields(answered(due_in_ten_days(), grade, early)), fields(due_in_ten_days())) << grade;
  }
}

TEST(EarlyAnswers, BringTheCardBackTomorrowWhenTheyAreWrong) {
  for (const int grade : {0, 1, 2}) {
    const Card after = answered(due_in_ten_days(), grade, early);
    EXPECT_EQ(after.due, early + 1) << grade;
    EXPECT_EQ(after.repetitions, 0) << grade;
  }
}

TEST(EarlyAnswers, AreNoneForACardThatIsDueOrWasNeverAsked) {
  const Card due = due_in_ten_days();
  EXPECT_EQ(answered(due, 4, due.due).interval, 38);
  EXPECT_EQ(answered(Card{}, 4, early).due, early + 1);
}

TEST(IsWeak, SaysWhetherACardFailedLastOrIsHard) {
  EXPECT_FALSE(is_weak({})) << "it was never asked";
  EXPECT_FALSE(is_weak(reviewed({}, 4, early)));
  EXPECT_TRUE(is_weak(reviewed({}, 3, early)));
  EXPECT_TRUE(is_weak(reviewed(due_in_ten_days(), 1, early)));
}

// ---------------------------------------------------------------------------------------------- the name of a day

TEST(NamedDay, IsTheNextOneOfThatName) {
  const Day saturday = parse_day("2026-11-21");
  EXPECT_EQ(named_day("today", saturday), saturday);
  EXPECT_EQ(named_day("Tomorrow", saturday), saturday + 1);
  EXPECT_EQ(named_day("Thursday", saturday), parse_day("2026-11-26"));
  EXPECT_EQ(named_day("thu", saturday), parse_day("2026-11-26"));
  EXPECT_EQ(named_day("sunday", saturday), saturday + 1);
  EXPECT_EQ(named_day("Saturday", saturday), saturday + 7) << "not today";
  EXPECT_EQ(named_day("2026-12-03", saturday), parse_day("2026-12-03"));
  EXPECT_EQ(weekday_text(saturday), "Sat");
}

TEST(NamedDay, IsNamedWhenThereIsNone) {
  for (const char* name : {"", "t", "th", "Thursdays", "someday", "2026-02-30"}) {
    EXPECT_THAT([&] { named_day(name, 0); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("write one like Thursday, tomorrow or 2026-12-03")))
        << name;
  }
}

TEST(Schedule, NeverLetsTheEasinessBelowOnePointThree) {
  // 2.5 - 9 · 0.14 = 1.24
  EXPECT_DOUBLE_EQ(easiness_after({3, 3, 3, 3, 3, 3, 3, 3}), 1.38);
  EXPECT_DOUBLE_EQ(easiness_after({3, 3, 3, 3, 3, 3, 3, 3, 3}), 1.3);
  EXPECT_DOUBLE_EQ(easiness_after({3, 3, 3, 3, 3, 3, 3, 3, 3, 3}), 1.3);
}

TEST(Schedule, StartsAgainBelowThreeWithTheEasinessUnchanged) {
  for (const int grade : {0, 1, 2}) {
    EXPECT_THAT(intervals({4, 4, 4, grade, 4, 4, 4}), ElementsAre(1, 6, 15, 1, 1, 6, 15));
    EXPECT_DOUBLE_EQ(easiness_after({5, 5, grade}), 2.7);
    EXPECT_EQ(reviewed({7, 2.5, 95, 0}, grade, 0).repetitions, 0);
  }
}

TEST(Schedule, RoundsUpWithoutTheDustOfBinaryFractions) {
  // 50 · 3.0 = 150 and 25 · 1.44 = 36, but in doubles 50 * (2.9 + 0.1) and 25 * (1.34 + 0.1) are a little more
  EXPECT_THAT(intervals({5, 5, 5, 5, 5}), ElementsAre(1, 6, 17, 50, 150));
  EXPECT_THAT(intervals({5}, {2, 1.34, 25, 0}), ElementsAre(36));
}

TEST(Schedule, MakesItDueAfterTheIntervalFromTheDayOfTheAnswer) {
  EXPECT_EQ(reviewed({1, 2.5, 1, 100}, 4, 130).due, 136);
}

TEST(Schedule, NeverWaitsLongerThanAHundredYears) {
  const Card card = reviewed({40, 2.5, 30000, 0}, 5, parse_day("2026-11-21"));
  EXPECT_EQ(card.interval, 36500);
  EXPECT_EQ(day_text(card.due), "2126-10-28");
}

TEST(Schedule, WantsItAgainTodayUntilGradeFour) {
  EXPECT_TRUE(again_today(0));
  EXPECT_TRUE(again_today(3));
  EXPECT_FALSE(again_today(4));
  EXPECT_FALSE(again_today(5));
}

TEST(Schedule, RefusesAGradeThatDoesNotExist) {
  for (const int grade : {-1, 6}) {
    EXPECT_THAT([&] { reviewed({}, grade, 0); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("the grade is " + std::to_string(grade))));
  }
}

TEST(Day, IsTheNumberOfDaysSince1970) {
  EXPECT_EQ(parse_day("1970-01-01"), 0);
  EXPECT_EQ(parse_day("1970-02-01"), 31);
  EXPECT_EQ(parse_day("1969-12-31"), -1);
  EXPECT_EQ(parse_day("2000-03-01"), 11017);  // 30 years of 365 days, 7 leap days, 60 days of 2000
  EXPECT_EQ(day_text(11017), "2000-03-01");
  EXPECT_EQ(day_text(-1), "1969-12-31");
}

TEST(Day, IsWrittenAsItIsRead) {
  for (const char* text : {"0001-01-01", "1900-02-28", "2000-02-29", "2024-02-29", "2026-11-21", "9999-12-31"}) {
    EXPECT_EQ(day_text(parse_day(text)), text);
  }
}

TEST(Day, RefusesWhatIsNoDay) {
  for (const std::string text : {"", "today", "2026-11-21 ", "2026-11-2", "2026-13-01", "2026-00-10", "2026-02-30",
                                 "2023-02-29", "1900-02-29", "21.11.2026", "-026-11-21"}) {
    EXPECT_THAT([&] { parse_day(text); }, ThrowsMessage<std::invalid_argument>(HasSubstr("\"" + text + "\"")));
  }
}

Day today_in(const char* zone) {
  setenv("TZ", zone, 1);
  tzset();
  return today();
}

TEST(Day, IsTheLearnersOwn) {
  const Day east = today_in("EAST-14");  // where the day begins first
  const Day west = today_in("WEST+12");  // 26 hours behind: never the same day
  unsetenv("TZ");
  tzset();
  EXPECT_GE(east - west, 1);
  EXPECT_LE(east - west, 2);
}

}  // namespace
}  // namespace attn::learn
