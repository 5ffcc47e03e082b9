#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn::learn {

/// Runs a program and waits for it. Its output goes where ours goes, or both streams into a file.
///
/// @param arguments the program (looked up in PATH) and its arguments
/// @return the exit code; 128 + n when signal n ended it; 127 when there is no such program.
int run(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
        const std::optional<std::filesystem::path>& output = {});

}  // namespace attn::learn
