#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"

/// What to learn before an interview, when there is no time for everything.
namespace attn::learn {

/// How long it takes to answer a question aloud and to read the answer.
constexpr int minutes_per_question = 3;

/// A lesson, as planning sees it.
struct Topic {
  std::string number;
  std::string title;
  lesson::Study study;
  bool passed = false;
  int interview_minutes = 0;
  std::array<int, 3> questions = {};  ///< how many are asked often, sometimes, rarely
};

/// Something to do in one sitting.
struct Sitting {
  int minutes = 0;
  std::string what;
};

struct PlannedDay {
  Day day = 0;
  std::vector<Sitting> sittings;
};

/// What fits into the time, in the order in which it is best done: lessons that are not passed, the most asked first,
/// each after those that it needs; the last of these and the most asked lessons that are passed, once more from blank; and
/// questions. A quarter of the time is kept for the questions that are asked often: when time is short, an answer is learnt sooner
/// than a lesson.
std::vector<Sitting> choose(const std::vector<Topic>& topics, int minutes);

/// The sittings on at most so many days, each about as long and at least half an hour; a sitting that does not end with its day goes on the next day.
std::vector<PlannedDay> spread(const std::vector<Sitting>& sittings, Day first, int days);

/// Prints a plan from today to the day before an interview; for an interview today, for today.
/// @param until the day of the interview, as named_day() knows it
/// @param hours in all; without it, two per day
/// @throws std::invalid_argument when the day is no day, or over.
int plan(const Course& course, const std::string& until, std::optional<double> hours);

}  // namespace attn::learn
