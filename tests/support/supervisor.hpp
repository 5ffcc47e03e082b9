#pragma once

#include <cstddef>
#include <vector>

#include "support/check_result.hpp"

namespace attn::testing {

/// What one check may use. The learner's code may loop, crash, print or allocate without end: the others still run.
struct Limits {
  double cpu_seconds = 2;                 ///< of the first check that overruns; a loop burns this
  double wall_seconds = 8;                ///< likewise; a sleep or a deadlock burns this. What computes gets more
  double repeat_factor = 0.25;            ///< what later checks get once one has overrun
  std::size_t memory_bytes = 2ull << 30;  ///< on top of what the program starts with
  std::size_t printed_bytes = 8ull << 20;
};

/// Runs the checks that GoogleTest's filter selects in a child process, all in one as long as it lives. When a check
/// ends the child or has to be stopped, that check is recorded and a new child goes on with the next one.
std::vector<CheckResult> run_supervised(const Limits& limits = {});

}  // namespace attn::testing
