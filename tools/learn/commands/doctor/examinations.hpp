#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "learn/commands/doctor/doctor.hpp"

/// What `./learn doctor` looks at. Each examination returns its findings: usually one, and none where there is nothing
/// to report.
namespace attn::learn::checkup {

using Findings = std::vector<Finding>;
using Values = std::map<std::string, std::string>;

inline Finding ok(const std::string& what, const std::string& is) { return {Finding::Kind::ok, what, is, ""}; }
inline Finding remark(const std::string& what, const std::string& is, const std::string& fix) {
  return {Finding::Kind::remark, what, is, fix};
}
inline Finding wrong(const std::string& what, const std::string& is, const std::string& fix) {
  return {Finding::Kind::wrong, what, is, fix};
}

/// What is examined: the course's folder, how its build folder was configured, and the compiler.
struct Setup {
  std::filesystem::path root;
  std::string preset;
  std::filesystem::path build;  ///< the preset's build folder
  Values cache;                 ///< CMakeCache.txt there; empty when it is not configured
  std::vector<std::string> compiler;
  Values macros;  ///< what the compiler defines and the libraries' headers; empty when it does not answer

  std::string cached(const std::string& name) const {
    const auto found = cache.find(name);
    return found == cache.end() ? "" : found->second;
  }
  std::string macro(const std::string& name) const {
    const auto found = macros.find(name);
    return found == macros.end() ? "" : found->second;
  }
  std::string version(const std::string& major, const std::string& minor, const std::string& patch) const {
    return macro(major) + "." + macro(minor) + "." + macro(patch);
  }
};

/// The lines NAME:TYPE=VALUE of a CMakeCache.txt; none where there is no such file.
Values read_cache(const std::filesystem::path& file);

Setup inspect(const std::filesystem::path& root, const std::string& preset);

std::vector<std::string> words(const std::string& text);

/// Whether something is there and can be seen.
bool is_there(const std::filesystem::path& path);

/// The first version number in a text, such as "3.25.1"; empty without one.
std::string version_in(const std::string& text);

bool is_older(const std::string& version, int major, int minor);

std::string with_one_digit(double number);

/// The line that configures a preset.
inline std::string configure(const std::string& preset) { return "cmake --preset " + preset; }

/// All macros that are defined after the headers whose versions are in macros, as the compiler reports them.
Values library_macros(const Setup& setup);

/// The line that makes a file or folder of the course writable, which it was found not to be.
std::string make_writable(const Setup& setup, const std::string& name);

Findings examine_version(const Setup& setup);
Findings examine_folder(const Setup& setup);
Findings examine_state(const Setup& setup);
Findings examine_disk(const Setup& setup);
Findings examine_clock(const Setup& setup);
Findings examine_compiler(const Setup& setup);
Findings examine_cmake(const Setup& setup);
Findings examine_ninja(const Setup& setup);
Findings examine_linker(const Setup& setup);
Findings examine_build(const Setup& setup);
Findings examine_libraries(const Setup& setup);
Findings examine_blas(const Setup& setup);
Findings examine_editor(const Setup& setup);
Findings examine_clangd(const Setup& setup);
Findings examine_chosen_editor(const Setup& setup);
Findings examine_locale(const Setup& setup);
Findings examine_terminal(const Setup& setup);
Findings examine_memory(const Setup& setup);
Findings examine_pytorch(const Setup& setup);

}  // namespace attn::learn::checkup
