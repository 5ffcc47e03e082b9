#pragma once

#include <string>

#include "lesson/line.hpp"
#include "verdict/report.hpp"

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

  Kind kind = Kind::not_judged;
  Lines lines;           ///< what to show: the compiler's errors, explained, or the report of the checks
  Lines warnings;        ///< one for each kind of the compiler's, where it compiled
  judge::Report report;  ///< of the checks; without any where they did not run

  int passed() const { return report.passed(); }
  int total() const { return static_cast<int>(report.checks.size()); }
  const judge::CheckResult* first_failing() const { return report.first_failing(); }

  /// A word for it, and its name for programs.
  std::string word() const {
    constexpr const char* words[] = {"passed", "failed", "does not compile", "could not be judged", "stopped"};
    return words[static_cast<int>(kind)];
  }
  std::string id() const {
    constexpr const char* ids[] = {"passed", "failed", "not_compiled", "not_judged", "stopped"};
    return ids[static_cast<int>(kind)];
  }
};

}  // namespace attn::learn
