#pragma once

#include <filesystem>
#include <string>

namespace attn::learn {

/// The result of building something.
struct Built {
  bool ok;
  std::string compiler_says;  ///< errors and warnings in the compiler's own words
};

/// Configures the preset if that has not been done, and builds one target of it.
Built build(const std::filesystem::path& root, const std::string& preset, const std::string& target);

/// A build's output without the build system's own lines: what is left is the compiler's and the linker's.
std::string without_build_noise(const std::string& output);

}  // namespace attn::learn
