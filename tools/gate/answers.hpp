#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gate/gate.hpp"
#include "lesson/lesson.hpp"
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

/// Runs the checks on every answer of a lesson: none is judged worse than answers.json says, and those that pass or are
/// rejected though they should not be have a reason there.
/// @param programs the folder with mutants_NN and mutant_NN_<id>
Problems judge_answers(const lesson::Lesson& lesson, const std::filesystem::path& programs);

/// Writes down what the judge says of each answer: its "outcome".
/// @return whether the file is another one than before
bool record_answers(const lesson::Lesson& lesson, const std::filesystem::path& programs);

/// Counts the outcomes of all lessons, as a table, and says where they miss the goals: of the wrong answers that are
/// rejected 45 % are named, 88 % named or described, 1 % misled at most; no right answer is rejected without a reason.
std::string summary_of_answers(const std::vector<lesson::Lesson>& lessons);
Problems judge_outcomes(const std::vector<lesson::Lesson>& lessons);

}  // namespace attn::gate
