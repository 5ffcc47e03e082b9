#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "gate/lint.hpp"
#include "lesson/lesson.hpp"
#include "verdict/naming.hpp"
#include "verdict/report.hpp"

/// What the programs of a lesson must do: the stub fails, the solution passes, every mistake is rejected and named.
namespace attn::gate {

/// How many of something are as they should be.
struct Count {
  int passed = 0;
  int total = 0;
  bool ok() const { return total > 0 && passed == total; }
};

/// What the gate finds of one lesson.
struct Judgement {
  std::map<std::string, Count> counts;  ///< by column
  Problems problems;
};

/// The columns of a judgement: the first five are judged by running the lesson's programs, the others by reading its files.
namespace columns {
inline constexpr char solution[] = "solution";  ///< checks that the solution passes
inline constexpr char stub[] = "stub";          ///< checks that the stub fails
inline constexpr char mistakes[] = "mistakes";  ///< mistakes that are rejected and named
inline constexpr char answers[] = "answers";    ///< answers that are judged no worse than answers.json says
inline constexpr char golden[] = "golden";      ///< golden values and recordings are whole
inline constexpr char chapter[] = "chapter";    ///< chapter, hints, interview, sizes and links
}  // namespace columns

/// Runs the programs of a lesson.
/// @param programs the folder with lesson_NN, solution_NN_test and mutants_NN
/// @throws std::exception when one of them comes to no result.
Judgement judge_programs(const lesson::Lesson& lesson, const std::filesystem::path& programs);

/// Reads the files of a lesson: the columns golden and chapter.
Judgement judge_files(const lesson::Lesson& lesson);

/// Runs a program of checks and reads its report.
/// @throws std::runtime_error when it gives none.
judge::Report run_checks(const std::filesystem::path& program);

/// Runs the checks on the solution with each of its edits (run/edits.hpp): the reports by the edits' ids, and by "" that of
/// the solution as it is.
/// @param programs the folder with mutants_NN
/// @param only     the ids of the edits that are run; empty: all
/// @throws std::runtime_error when the program gives none, or an edit cannot be made (mutants.hpp).
std::map<std::string, judge::Report> run_edits(const lesson::Lesson& lesson, const std::filesystem::path& programs,
                                               int seed = 1, const std::set<std::string>& only = {});

/// The stub fails every check, in good order.
Problems judge_stub(const lesson::Lesson& lesson, const judge::Report& report);

/// A mistake is rejected. The failures name this mistake and no other; where Armadillo draws other random numbers than
/// were recorded, perhaps "this or another one".
Problems judge_mistake(const lesson::Lesson& lesson, const lesson::Mistake& mistake, const judge::Report& report,
                       const judge::Recordings& recordings);

/// Whether a run had other random numbers than the recorded one, so that fewer comparisons could be looked up.
bool has_other_numbers(const judge::Recordings& recordings, const judge::Report& report);

/// Runs the checks on every mistake and answer, and writes down what the mistakes gave (recorded.json) and what is said of
/// the answers (answers.json).
/// @return the files that are others than before
std::vector<std::filesystem::path> record(const lesson::Lesson& lesson, const std::filesystem::path& programs);

}  // namespace attn::gate
