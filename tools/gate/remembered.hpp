#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

/// Verdicts that are kept as long as nothing they depend on has changed. What counts is contents, never times.
namespace attn::gate {

/// A digest of everything that a verdict depends on.
class Inputs {
 public:
  /// Begins with the machine: its processor, and the variables that choose OpenBLAS's kernels and threads.
  Inputs();

  /// The environment variables whose definitions begin so.
  void add_variables(const std::vector<std::string>& prefixes);

  /// A file, or all files in a folder: their names and contents. What is not there counts, too.
  void add(const std::filesystem::path& file);

  /// A program and the libraries that it loads.
  void add_program(const std::filesystem::path& program);

  void add_text(const std::string& text);

  std::string digest() const;

 private:
  std::size_t sum_ = 0;
};

/// All that a test of the course may read: the repository's files, but for what is built, remembered or a person's own; and
/// the programs in the build folder; and the compiler, CMake, Ninja and the environment that they look at.
std::string digest_of_repository(const std::filesystem::path& root, const std::filesystem::path& build);

/// What was remembered under a name in the build folder; nothing when that was for another digest, or when all is to be
/// judged again because ATTN_JUDGE_AGAIN is set.
std::optional<nlohmann::json> recall(const std::filesystem::path& build, const std::string& name,
                                     const std::string& digest);

void remember(const std::filesystem::path& build, const std::string& name, const std::string& digest,
              const nlohmann::json& verdict);

}  // namespace attn::gate
