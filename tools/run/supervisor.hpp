#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "verdict/report.hpp"

namespace attn::judge {

/// What the checks may use. The learner's code may loop, crash, print or allocate without end: the others still run.
struct Limits {
  double cpu_seconds = 2;                 ///< of the first check that overruns; a loop burns this
  double waiting_seconds = 5;             ///< likewise; a sleep or a deadlock burns this
  double repeat_factor = 0.25;            ///< what later checks get once one has overrun
  int overruns = 3;                       ///< after so many the others are not run
  double total_seconds = 9;               ///< of computing and waiting, all checks together
  std::size_t memory_bytes = 2ull << 30;  ///< on top of what the program starts with
  std::size_t printed_bytes = 8ull << 20;
};

/// What came of a run.
struct Outcome {
  std::vector<CheckResult> results;
  std::string source;   ///< the file of the checks; empty when there are none, or when the run did not get there
  std::string problem;  ///< what happened before the first check, where that ended the run: "crashed before its ..."
  std::string printed;  ///< the beginning of what the program had printed by then
};

/// Runs this program's checks in a child process, all in one as long as it lives. When a check ends the child or has to
/// be stopped, that check is recorded and a new child goes on with the next one. Whatever the child left running is
/// killed.
///
/// To be called before the program's static objects are constructed: then no code of the learner's ever runs in the
/// calling process.
///
/// @param filter selects checks, as --gtest_filter does; empty: the command line does
/// @return nothing in the child: it has to return to its caller, all the way to main(), and call run_assigned_checks()
std::optional<Outcome> supervise(const std::string& filter = "");

/// Whether this process is such a child.
bool is_supervised();

/// What such a child does in main(), once GoogleTest is initialised.
[[noreturn]] void run_assigned_checks();

}  // namespace attn::judge
