#pragma once

#include <string>
#include <vector>

#include "gate/lint.hpp"
#include "lesson/lesson.hpp"
#include "verdict/naming.hpp"
#include "verdict/report.hpp"

/// How good the judge is at answers that it does not know: tests/NN_name/answers.json, written without looking at the
/// catalogue. What it says of each is written down there, so that a change for the worse is seen.
namespace attn::gate {

/// What the judge says of an answer, from the best to the worst.
namespace outcomes {
inline constexpr char named[] = "named";          ///< a mistake whose sentence is true of it
inline constexpr char described[] = "described";  ///< no mistake, but a reason: a note, an exception, the check's name
inline constexpr char numbers[] = "numbers";      ///< that the numbers differ, and where
inline constexpr char passed[] = "passed";        ///< nothing: for a right answer the best, for a wrong one bad
inline constexpr char misled[] = "misled";        ///< a mistake whose sentence is false
inline constexpr char rejected[] = "rejected";    ///< a right answer does not pass
}  // namespace outcomes

/// @param report of the checks run on it
std::string outcome_of(const lesson::Answer& answer, const judge::Report& report);

/// An answer is judged no worse than answers.json says, and if it passes or is rejected though it should not be, there is a
/// reason there.
Problems judge_answer(const lesson::Lesson& lesson, const lesson::Answer& answer, const judge::Report& report,
                      const judge::Recordings& recordings);

/// Counts the outcomes of all lessons, as a table, and says where they miss the goals: of the wrong answers that are
/// rejected 60 % are named, 93 % named or described, 1 % misled at most; of each lesson's 35 %, 80 % and 8 %. No right answer
/// is rejected without a reason.
std::string summary_of_answers(const std::vector<lesson::Lesson>& lessons);
Problems judge_outcomes(const std::vector<lesson::Lesson>& lessons);

}  // namespace attn::gate
