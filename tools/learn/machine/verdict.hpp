#pragma once

#include <string>
#include <vector>

namespace attn::learn {

/// What became of a lesson.
struct Verdict {
  enum class Kind {
    passed,
    failed,
    not_compiled,
    not_judged,  ///< the build or the program of checks is broken
    stopped,     ///< by Ctrl-C
  };
  struct Check {
    std::string name;   ///< "Suite.Check"
    std::string state;  ///< passed, failed, not_written, ended, stopped, not_run
    std::string text;   ///< what its failure says; empty when it passed
    std::string hint;   ///< the task or the lesson whose hints help
  };

  Kind kind = Kind::not_judged;
  std::string text;      ///< what to show: the compiler's errors, explained, or the report of the checks
  std::string warnings;  ///< a line for each kind of the compiler's, where it compiled
  std::vector<Check> checks;
  std::vector<std::string> mistakes;  ///< ids in the catalogue that were named

  int passed() const;
  int total() const { return static_cast<int>(checks.size()); }
  const Check* first_failing() const;

  /// A word for it: "passed", "failed", "does not compile", "could not be judged", "stopped".
  std::string word() const;
};

}  // namespace attn::learn
