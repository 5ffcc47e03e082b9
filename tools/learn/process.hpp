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

/// What a program answered.
struct Answer {
  int exit_code;       ///< as run() returns it
  std::string output;  ///< what it wrote to standard output
};

/// Runs a program without a terminal and collects what it writes to standard output; its errors are dropped.
///
/// @param input   what it reads from standard input: short, at most a few kilobytes
/// @param seconds after so long it is killed, with what it started (exit code 137)
Answer ask(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
           const std::string& input = "", int seconds = 20);

}  // namespace attn::learn
