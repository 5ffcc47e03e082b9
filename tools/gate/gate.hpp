#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/report.hpp"

/// What must hold of a lesson besides "its solution passes". Each function returns what is wrong, one sentence each;
/// nothing wrong, nothing returned.
namespace attn::gate {

using Problems = std::vector<std::string>;

/// The stub: `program` runs, fails, and passes not one check. Its TODOs are the tasks of hints.md.
Problems judge_stub(const lesson::Lesson& lesson, const std::filesystem::path& program);

/// A mistake: its `find` occurs once, and `program` (the solution with that edit, alone or to choose) is rejected. The
/// failures name this mistake and no other; where Armadillo draws other random numbers than were recorded, perhaps
/// "this or another one".
Problems judge_mistake(const lesson::Lesson& lesson, const std::string& id, const std::filesystem::path& program);

/// The program that makes an edit: mutants_NN, or mutant_NN_<id> in the same folder.
std::filesystem::path program_of(const lesson::Lesson& lesson, const lesson::Edit& edit,
                                 const std::filesystem::path& programs);

/// Runs a program of checks, with an edit chosen or none, and reads its report.
/// @throws std::runtime_error when it gives none.
judge::Report run_checks(const std::filesystem::path& program, const std::string& edit = "", int seed = 1);

/// Whether a run had other random numbers than the recorded one, so that fewer comparisons could be looked up.
bool has_other_numbers(const lesson::Lesson& lesson, const judge::Report& report);

/// The golden file: made by PyTorch for this lesson, and every array whole.
Problems judge_golden(const lesson::Lesson& lesson);

/// What the mistakes give: recorded for mistakes and checks that are there, and for every mistake that values name.
Problems judge_recordings(const lesson::Lesson& lesson);

/// Runs the checks on every mistake and writes down what they got: tests/NN_name/recorded.json.
/// @param programs the folder with mutants_NN and mutant_NN_<id>
/// @return whether the file is another one than before
bool record(const lesson::Lesson& lesson, const std::filesystem::path& programs);

/// The chapter, the hints, the copies of the stubs, the sizes of the solution, the number of mistakes, the names of the
/// checks, and every link.
Problems judge_chapter(const lesson::Lesson& lesson);

/// The repository as a whole: what is derived is fresh (derived.hpp), the checks that docs/sources.md names exist, and
/// every link in README, CONTRIBUTING and docs/ leads somewhere.
Problems lint_repository(const std::filesystem::path& root);

}  // namespace attn::gate
