#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "learn/commands/doctor/doctor.hpp"

/// What `./learn doctor` looks at. An examination returns what it finds; examine() knows what that is about.
namespace attn::learn::checkup {

using Findings = std::vector<Finding>;
using Values = std::map<std::string, std::string>;

inline Finding ok(const std::string& is) { return {Finding::Kind::ok, "", is, ""}; }
inline Finding remark(const std::string& is, const std::string& fix) { return {Finding::Kind::remark, "", is, fix}; }
inline Finding wrong(const std::string& is, const std::string& fix) { return {Finding::Kind::wrong, "", is, fix}; }

/// What is examined: the course's folder, how its build folder was configured, and the compiler.
struct Setup {
  std::filesystem::path root;
  std::string preset;
  std::filesystem::path build;  ///< the preset's build folder
  Values cache;                 ///< CMakeCache.txt there; empty when it is not configured
  std::vector<std::string> compiler;
  Values macros;  ///< what the compiler defines and the libraries' headers; empty when it does not answer

  Setup(const std::filesystem::path& course, const std::string& its_preset);

  std::string cached(const std::string& name) const;
  std::string macro(const std::string& name) const;

  /// The values of macros, such as major and minor, joined with dots.
  std::string version(const std::vector<std::string>& names) const;
};

std::vector<std::string> words(const std::string& text);

/// Whether something is there and can be seen.
bool is_there(const std::filesystem::path& path);

/// The first version number in a text, such as "3.25.1"; empty without one.
std::string version_in(const std::string& text);

/// A file's text; empty when it cannot be read.
std::string text_in(const std::filesystem::path& file);

std::string with_one_digit(double number);

/// The line that configures a preset.
inline std::string configure(const std::string& preset) { return "cmake --preset " + preset; }

/// The line that makes a file or folder of the course writable, which it was found not to be.
std::string make_writable(const Setup& setup, const std::string& name);

/// What the answer of learn_probe says about Armadillo and OpenBLAS.
Findings judge_probe(const std::string& answer, const std::string& preset = "dev");

Finding examine_version(const Setup& setup);
Finding examine_folder(const Setup& setup);
Finding examine_state(const Setup& setup);
Finding examine_disk(const Setup& setup);
Finding examine_clock(const Setup& setup);
Finding examine_compiler(const Setup& setup);
Finding examine_cmake(const Setup& setup);
Finding examine_ninja(const Setup& setup);
Finding examine_linker(const Setup& setup);
Finding examine_build(const Setup& setup);
Findings examine_libraries(const Setup& setup);
Findings examine_blas(const Setup& setup);
Finding examine_editor(const Setup& setup);
Finding examine_clangd(const Setup& setup);
Finding examine_chosen_editor(const Setup& setup);
Finding examine_locale(const Setup& setup);
Finding examine_terminal(const Setup& setup);
Finding examine_memory(const Setup& setup);
Findings examine_pytorch(const Setup& setup);

}  // namespace attn::learn::checkup
