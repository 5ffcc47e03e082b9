#pragma once

#include <set>
#include <string>
#include <vector>

#include "learn/machine/verdict.hpp"
#include "learn/memory/state.hpp"
#include "lesson/lesson.hpp"

/// What happened, written down in the state; and what follows from it.
namespace attn::learn {

/// Days of work in a row that end today, or yesterday while there is still time.
int days_in_a_row(const std::set<std::string>& days, Day today);

/// The interviews on one lesson.
struct Tries {
  int attempts = 0;
  int passed = 0;
  double best_minutes = 0;  ///< of those that passed; 0 when none did
  std::string best_on;      ///< the day of that one
};
Tries interviews_of(const State& state, const std::string& lesson);

/// The grade that an interview is worth as a repetition (SM-2's scale): 5 passed in time with one check, 4 in time, 3
/// late; 2 and 1 for an attempt that did not pass, by whether half of the checks did.
int grade_of(const InterviewRecord& interview, double share_of_checks);

/// The name of a question's card in the state.
std::string card_of(const lesson::Lesson& lesson, const lesson::Question& question);

/// Notes a verdict down: how often judged, passed or not, which mistakes were named; and on a first pass, what there
/// will be to repeat.
void record(Store& store, const lesson::Lesson& lesson, const Verdict& verdict);

/// Notes down that hints of this level were read.
void note_hint(Store& store, const lesson::Lesson& lesson, int level);

/// Records an interview that is over: its grade, and what there will be to repeat. One that did not pass is due again
/// on the same day.
/// @param share_of_checks that passed when they ran last
void record(Store& store, const lesson::Lesson& lesson, const InterviewRecord& interview, double share_of_checks);

}  // namespace attn::learn
