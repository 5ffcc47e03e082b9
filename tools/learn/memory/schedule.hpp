#pragma once

#include "learn/memory/calendar.hpp"

/// Spaced repetition: when something that was learnt should be looked at again.
namespace attn::learn {

/// Something to repeat, as SM-2 sees it.
struct Card {
  int repetitions = 0;    ///< answered well in a row
  double easiness = 2.5;  ///< the E-Factor, at least 1.3
  int interval = 0;       ///< days from the last answer to the next
  Day due = 0;
};

/// The card after an answer of this quality on this day.
///
/// SM-2 as published: P. A. Wozniak, Optimization of learning (1990), chapter 3.2, "Application of a computer to
/// improve the results obtained in working with the SuperMemo method".
/// @throws std::invalid_argument when the grade is not 0 to 5.
Card reviewed(Card card, int grade, Day on);

/// The card after an answer that may come before it is due, as in a drill on the evening before an interview.
///
/// An early answer that was right changes nothing: what was repeated a day ago says little about the interval that
/// SM-2 has in mind, and a drill would push every card weeks away. An early answer that was wrong counts, as it shows
/// that the interval was too long. A card that was never asked is due.
/// @throws std::invalid_argument when the grade is not 0 to 5.
Card answered(const Card& card, int grade, Day on);

/// Whether an answer failed last, or the item is harder than a new one.
bool is_weak(const Card& card);

/// Whether SM-2 wants it asked again in the same session (its step 7: until it is graded 4).
bool again_today(int grade);

}  // namespace attn::learn
