// What follows from the past: days in a row, best times, what is due, and what an interview is worth.
#include "learn/memory/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "learn/memory/deck.hpp"
#include "lesson/text.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
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

// ------------------------------------------------------------------------------------------------ days in a row

TEST(DaysInARow, EndWithAWholeDayWithoutWork) {
  const struct {
    std::set<std::string> days;
    std::string today;
    int in_a_row;
  } cases[] = {
      {{}, "2026-11-21", 0},
      {{"2026-11-21"}, "2026-11-21", 1},
      {{"2026-11-19", "2026-11-20", "2026-11-21"}, "2026-11-21", 3},
      {{"2026-11-19", "2026-11-20"}, "2026-11-21", 2},  // today is not over
      {{"2026-11-18", "2026-11-19"}, "2026-11-21", 0},
      {{"2026-11-17", "2026-11-18", "2026-11-20", "2026-11-21"}, "2026-11-21", 2},
      {{"2026-04-29", "2026-04-30", "2026-05-01"}, "2026-05-01", 3},
      {{"2025-12-31", "2026-01-01"}, "2026-01-01", 2},
      {{"2026-02-28", "2026-03-01"}, "2026-03-01", 2},
      {{"2028-02-28", "2028-03-01"}, "2028-03-01", 1},                // 2028 has a February 29
      {{"2026-11-20", "2026-11-21", "2026-11-22"}, "2026-11-21", 2},  // a clock that was wrong once
  };
  for (const auto& [days, today, in_a_row] : cases) {
    EXPECT_EQ(days_in_a_row(days, parse_day(today)), in_a_row) << testing::PrintToString(days) << " on " << today;
  }
}

// --------------------------------------------------------------------------------------------------- interviews

State state_with(std::vector<InterviewRecord> interviews) {
  State state;
  state.interviews = std::move(interviews);
  return state;
}

TEST(InterviewsOf, KnowTheBestTimeOfThoseThatPassed) {
  const Tries tries = interviews_of(
      state_with({interview("2026-11-18T09:00:00+0100", 14, true), interview("2026-11-19T09:00:00+0100", 9.5, true),
                  interview("2026-11-20T09:00:00+0100", 3, false), interview("2026-11-21T09:00:00+0100", 9.5, true),
                  interview("2026-11-22T09:00:00+0100", 5, true, "01_self_attention_v1")}),
      lesson);
  EXPECT_EQ(tries.attempts, 4) << "those of one lesson";
  EXPECT_EQ(tries.passed, 3);
  EXPECT_EQ(tries.best_minutes, 9.5);
  EXPECT_EQ(tries.best_on, "2026-11-19") << "the first of two that took as long";
}

TEST(InterviewsOf, KnowNoBestTimeBeforeOnePassed) {
  const Tries tries = interviews_of(state_with({interview("2026-11-18T09:00:00+0100", 2, false)}), lesson);
  EXPECT_EQ(tries.attempts, 1);
  EXPECT_EQ(tries.passed, 0);
  EXPECT_EQ(tries.best_minutes, 0);
  EXPECT_EQ(tries.best_on, "");
}

TEST(MinutesText, HasOnePlaceBehindThePoint) {
  EXPECT_EQ(minutes_text(12.44), "12.4 minutes");
  EXPECT_EQ(minutes_text(0.98), "1.0 minutes");
}

// ------------------------------------------------------------------------------------------------------- grades

TEST(GradeOf, FollowsFromTimeChecksAndHowManyPassed) {
  const auto grade = [](double minutes, int checks, bool passed, double share) {
    InterviewRecord record = interview("", minutes, passed);
    record.checks = checks;
    return grade_of(record, share);
  };
  EXPECT_EQ(grade(15, 1, true, 1), 5) << "the last minute is in time";
  EXPECT_EQ(grade(15, 2, true, 1), 4);
  EXPECT_EQ(grade(15.1, 1, true, 1), 3) << "late";
  EXPECT_EQ(grade(5, 1, false, 0.5), 2) << "half of the checks passed";
  EXPECT_EQ(grade(5, 1, false, 0.49), 1);
  EXPECT_EQ(grade(5, 1, false, 0), 1);
}

// ---------------------------------------------------------------------------------------------------------- due

TEST(Deck, HasWhatIsDueTodayAndOnDaysThatWereMissedWithQuestionsFirst) {
  const Scratch scratch;
  std::ostringstream printed;
  std::string chapter = "# 01 · A lesson\n\n## Interview corner\n\n";
  for (const std::string question : {"Why?", "When?", "How?"}) {
    chapter += "<details><summary>" + question + "</summary>\n\nSo.\n\n</details>\n\n";
  }
  put(scratch.path() / "lessons/01_a/README.md", chapter);
  put(scratch.path() / "lessons/02_b/README.md", "# 02 · Another\n");
  Course course{scratch.path(), {}, {scratch.path(), printed}};
  EXPECT_THAT(due_text(course), HasSubstr("Nothing to review yet"));

  const auto set_due = [&](const std::map<std::string, Day>& days) {
    course.store.update([&](State& state) {
      for (const auto& [card, day] : days) state.cards[card].due = day;
    });
  };
  set_due({{"01_a: When?", today() + 2}, {"02_b", today() + 3}, {"99_no_longer_there", today()}});
  EXPECT_EQ(due_text(course), "Nothing is due today. The next review is due on " + day_text(today() + 2) + ".");
  EXPECT_THAT(items_of(course, {}), IsEmpty());

  set_due({{"01_a", today()}, {"01_a: Why?", today()}, {"01_a: How?", today() - 1}, {"02_b", today() - 9}});
  EXPECT_THAT(items_of(course, {}), ElementsAre(Field(&Item::card, "01_a: How?"), Field(&Item::card, "01_a: Why?"),
                                                Field(&Item::card, "01_a"), Field(&Item::card, "02_b")));
  EXPECT_EQ(due_text(course), "Due today: 4 items.");
}

}  // namespace
}  // namespace attn::learn
