#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attn::learn {

/// The preset that learners' programs are built with.
constexpr const char* usual_preset = "dev";

/// Where a preset builds.
std::filesystem::path build_folder(const std::filesystem::path& root, const std::string& preset = usual_preset);

/// The result of building something.
struct Built {
  bool ok;
  std::string output;    ///< errors and warnings in the compiler's own words
  bool stopped = false;  ///< by Ctrl-C
};

/// The command that builds a target of a preset that is configured.
std::vector<std::string> build_command(const std::filesystem::path& root, const std::string& preset,
                                       const std::string& target);

/// The commands that a build takes, one after the other: it configures the preset where that has not been done, or
/// where what was configured is damaged.
class BuildSteps {
 public:
  BuildSteps(std::filesystem::path root, std::string preset, std::string target);

  /// What to run now, in the course's folder; empty when nothing is left to do.
  std::vector<std::string> command() const;

  bool configures() const { return step_ == Step::configure; }  ///< the command does
  bool ok() const { return step_ == Step::built; }              ///< the target is built

  bool broken() const { return broken_; }  ///< it failed, and not for what is compiled

  /// To be called when the command has ended.
  /// @param output what it printed
  void ended(int exit_code, const std::string& output);

  /// What to say of a failure: the compiler's and the linker's lines, or the whole output where it is not theirs.
  std::string complaint(const std::string& output) const;

 private:
  enum class Step { configure, build, built, failed };

  std::filesystem::path root_;
  std::string preset_;
  std::string target_;
  Step step_;
  bool configured_ = false;     ///< by us
  bool cache_removed_ = false;  ///< after it could not be configured
  bool broken_ = false;         ///< not for what is compiled
};

/// Configures the preset if that has not been done, and builds one target of it.
/// @param report called now and then with what it is doing, as Job::wait() does
Built build(const std::filesystem::path& root, const std::string& preset, const std::string& target,
            const std::function<void(const std::string&)>& report = {});

/// "step 3 of 14" where a line of Ninja's begins with "[3/14] "; empty for other lines.
std::string step_in(const std::string& line);

/// "building, 21 %" for "building, step 3 of 14 ..."; anything else as it is.
std::string in_percent(const std::string& doing);

/// What another tool builds in this folder meanwhile, such as "lesson_01": we wait for its lock. Empty when none does.
/// @param ours the process group of our own build
std::string built_by_another(const std::filesystem::path& folder, pid_t ours);

/// A build's output without the build system's own lines: what is left is the compiler's and the linker's.
std::string without_build_noise(const std::string& output);

}  // namespace attn::learn
