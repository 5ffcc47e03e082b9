#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

/// What must hold of a lesson's files, apart from what its programs do (judge.hpp). Each function returns what is wrong,
/// one sentence each; nothing wrong, nothing returned.
namespace attn::gate {

using Problems = std::vector<std::string>;

/// The golden file: made by PyTorch for this lesson, and every array whole. And what the mistakes give: recorded for mistakes
/// and checks that are there, and for every mistake that values name.
Problems lint_values(const lesson::Lesson& lesson);

/// The chapter, the hints and the TODOs of the stubs, the copies of the stubs, the sizes of the solution, the number of
/// mistakes, the names of the checks, and every link.
Problems lint_chapter(const lesson::Lesson& lesson);

/// The repository as a whole: what is derived is fresh (derived.hpp), the checks that docs/sources.md names exist, and
/// every link in README, CONTRIBUTING and docs/ leads somewhere.
Problems lint_repository(const std::filesystem::path& root);

}  // namespace attn::gate
