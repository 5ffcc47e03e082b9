#include "learn/memory/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace attn::learn {

namespace {

constexpr int longest_interval = 100 * 365;  // days: due days keep four digits for the year
constexpr int lowest_easiness = 130;         // hundredths
constexpr int best_grade = 5;                // 0 is a blackout
constexpr int known_from = 3;

}  // namespace

// The published steps in their order: the E-Factor is modified after the repetition (5) unless the grade is below 3
// (6), and the interval after the n-th repetition, I(n) (3), is made with the E-Factor that the item has by then. In
// hundredths everything is exact, so that rounding up never sees the dust of binary fractions.
Card reviewed(Card card, int grade, Day on) {
  if (grade < 0 || grade > best_grade) {
    throw std::invalid_argument("the grade is " + std::to_string(grade) + ", expected 0 (a blackout) to 5 (perfect)");
  }
  int easiness = static_cast<int>(std::lround(std::max(card.easiness, 1.3) * 100));
  if (grade < known_from) {
    card.repetitions = 0;
    card.interval = 1;
  } else {
    const int missing = best_grade - grade;
    easiness = std::max(lowest_easiness, easiness + 10 - missing * (8 + missing * 2));
    ++card.repetitions;
    const long longer = (static_cast<long>(card.interval) * easiness + 99) / 100;
    card.interval = card.repetitions == 1   ? 1
                    : card.repetitions == 2 ? 6
                                            : static_cast<int>(std::min<long>(longer, longest_interval));
  }
  card.easiness = easiness / 100.0;
  card.due = on + card.interval;
  return card;
}

Card answered(const Card& card, int grade, Day on) {
  Card after = reviewed(card, grade, on);
  const bool early = on < card.due;
  return early && grade >= known_from ? card : after;
}

bool is_weak(const Card& card) {
  const bool failed_last = card.repetitions == 0 && card.interval > 0;
  return failed_last || card.easiness < Card{}.easiness;
}

bool again_today(int grade) { return grade < 4; }

}  // namespace attn::learn
