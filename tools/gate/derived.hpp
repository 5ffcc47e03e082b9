#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gate/lint.hpp"

/// What is written from the lessons' folders, so that nothing is listed twice by hand: `./learn verify --write` writes
/// it, and the gate reports where it is stale. A page that is partly written by hand has the derived part between the
/// lines `<!-- gate: NAME begin -->` and `<!-- gate: NAME end -->`.
namespace attn::gate {

/// A file that is derived, or has a part that is.
struct Derived {
  std::filesystem::path file;  ///< below the course's folder
  std::string text;            ///< all of the file, as it should be
};

/// The lessons' presets, the README's curriculum, the index of questions in docs/interview.md, and a copy of each stub
/// that has none.
/// @throws std::runtime_error naming the file that does not say what is needed, and the line to write there
std::vector<Derived> derive(const std::filesystem::path& root);

/// A sentence for every derived file that is not as derive() has it.
Problems find_stale(const std::filesystem::path& root);

/// Writes the derived files that are stale.
/// @return those that were written
std::vector<std::filesystem::path> write_derived(const std::filesystem::path& root);

}  // namespace attn::gate
