#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn::judge {

/// What a program may use. A learner's program may do anything; its checks are watched more closely by a supervisor in
/// that program (see tools/run/supervisor.hpp), and these limits hold where it cannot work.
struct ProcessLimits {
  std::chrono::seconds wall{60};
  std::chrono::seconds processor{60};
  std::size_t memory_bytes = 8ull << 30;
  std::size_t written_bytes = 64ull << 20;
};

/// Sets a soft limit (RLIMIT_...), as far as the hard one allows it: a supervisor in the program sets closer ones.
void set_limit(int resource, std::size_t value);

/// A program that runs beside us, in a process group of its own: Ctrl-C reaches the tool, and the tool decides. Both
/// streams go into a file; it reads nothing.
class Process {
 public:
  /// @param arguments the program (looked up in PATH) and its arguments
  /// @param limits none for programs that are not the learner's
  Process(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
          const std::filesystem::path& output, const std::optional<ProcessLimits>& limits = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Readable when it may have ended: for poll().
  int wake_fd() const { return wake_fd_; }

  /// The process group that it and all that it started are in.
  pid_t group() const { return pid_; }

  /// True once it is gone; stops it when its time is over, and lets it go on when it was suspended: by what it started.
  bool ended();

  /// The exit code; 128 + n when signal n ended it; 127 when there is no such program.
  int exit_code() const { return exit_code_; }

  bool overran() const { return overran_; }  ///< its time was over

  /// Stops it and all that it started: SIGTERM lets it tidy up, and SIGKILL follows when that takes over a second.
  void stop();

 private:
  pid_t pid_ = -1;
  int wake_fd_ = -1;
  int exit_code_ = 0;
  bool gone_ = false;
  bool overran_ = false;
  std::optional<std::chrono::steady_clock::time_point> end_;
};

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
/// @param input   what it reads from standard input
/// @param seconds after so long it is killed, with what it started (exit code 137)
Answer ask(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
           const std::string& input = "", int seconds = 20);

}  // namespace attn::judge
