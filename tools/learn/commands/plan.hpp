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
  std::string name;  ///< "self_attention_v1"
  lesson::Study study;
  bool passed = false;
  int interview_minutes = 0;
  std::array<int, 3> questions = {};  ///< how many are asked often, sometimes, rarely
  bool is_interview = false;          ///< the lesson is one itself, against the clock
  int coming_back = 0;                ///< how many more were asked before, and will be due again
};

/// Something to do in one sitting.
struct Sitting {
  enum class Kind {
    lesson,         ///< may go on the next day
    whole,          ///< may not: an interview, or a command that would begin again
    new_questions,  ///< some today, and others the next day
  };

  int minutes = 0;
  std::string what;
  Kind kind = Kind::lesson;
};

/// What fits into the time, and how much does not.
struct Chosen {
  std::vector<Sitting> sittings;
  int lessons_left_out = 0;
  int questions_left_out = 0;
};

struct PlannedDay {
  Day day = 0;
  std::vector<Sitting> sittings;
};

/// What fits into the time, in the order in which it is best done: questions of lessons that are passed; lessons that are
/// not, the most asked first, each after those that it needs and with its questions; questions of others; the last of the new
/// lessons and the most asked lessons that are passed, once more from blank. A quarter of the time is kept for the
/// questions that are asked often: when time is short, an answer is learnt sooner than a lesson. Each command offers just as
/// many questions as are planned.
Chosen choose(const std::vector<Topic>& topics, int minutes);

/// "58 min", "1 h 15 min", "4 h".
std::string duration_text(int minutes);

/// The sittings on at most so many days, each about as long and at least half an hour; a lesson that does not end with its day
/// goes on the next day.
std::vector<PlannedDay> spread(const std::vector<Sitting>& sittings, Day first, int days);

/// Prints a plan from today to the day before an interview; for an interview today, for today.
/// @param until the day of the interview, as named_day() knows it
/// @param hours in all; without it, two per day
/// @throws std::invalid_argument when the day is no day, or over.
int plan(const Course& course, const std::string& until, std::optional<double> hours);

}  // namespace attn::learn
