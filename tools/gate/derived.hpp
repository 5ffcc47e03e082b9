#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gate/lint.hpp"

/// What is written from the lessons' folders, so that nothing is listed twice by hand: the lessons' presets, the README's
/// curriculum, the index of questions in docs/interview.md, and a copy of each stub that has none. `./learn verify --write`
/// writes it, and the gate reports where it is stale. A page that is partly written by hand has the derived part between the
/// lines `<!-- gate: NAME begin -->` and `<!-- gate: NAME end -->`.
namespace attn::gate {

/// A sentence for every file that is not as the lessons say, or for what they lack to say.
Problems find_stale(const std::filesystem::path& root);

/// Writes the derived files that are stale.
/// @return those that were written
/// @throws std::runtime_error naming the file that does not say what is needed, and the line to write there
std::vector<std::filesystem::path> write_derived(const std::filesystem::path& root);

/// Writes a file unless it has this text already: then its time stays, and nothing is built again.
/// @return whether it was written
/// @throws std::runtime_error naming the file when it cannot be written
bool write_if_changed(const std::filesystem::path& file, const std::string& text);

}  // namespace attn::gate
