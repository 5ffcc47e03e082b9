#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn::learn {

/// The result of building something.
struct Built {
  bool ok;
  std::string compiler_says;  ///< errors and warnings in the compiler's own words
};

/// The command that configures a preset, and the one that builds a target of it.
std::vector<std::string> configure_command(const std::string& preset);
std::vector<std::string> build_command(const std::filesystem::path& root, const std::string& preset,
                                       const std::string& target);

/// Whether the preset still has to be configured.
bool unconfigured(const std::filesystem::path& root, const std::string& preset);

/// Configures the preset if that has not been done, and builds one target of it.
Built build(const std::filesystem::path& root, const std::string& preset, const std::string& target);

/// A build's output without the build system's own lines: what is left is the compiler's and the linker's.
std::string without_build_noise(const std::string& output);

}  // namespace attn::learn
