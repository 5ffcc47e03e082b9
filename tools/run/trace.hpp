#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/report.hpp"

/// Where the program is when something goes wrong: call stacks, taken without allocating. (Not with sanitizers, which
/// take their own.)
namespace attn::judge {

/// A call stack, the innermost call first. Can be filled in by a signal handler, and read by another process.
class Trace {
 public:
  /// Takes the stack of the caller.
  /// @param interrupted where the program was when a signal came; null when there was none
  void take(const void* interrupted = nullptr);

  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  /// Addresses in the program's file, as addr2line reads them. They point into the calls, not behind them.
  std::vector<std::size_t> frames() const;

 private:
  static constexpr int most_ = 96;
  std::size_t frames_[most_] = {};
  std::atomic<int> count_ = 0;
};

/// From now on last_throw() is kept; and a crash takes its stack before it ends the program, as does a signal
/// trace_signal, which ends nothing. To be called once, by the main thread.
/// @param crash in memory that outlives the program
void keep_traces(Trace& crash);

/// Where the last exception was thrown; forget_throws() empties it.
const Trace& last_throw();
void forget_throws();

extern const int trace_signal;

/// Adds the place to checks that failed with a call stack: the innermost call in one of the learner's files that led to an
/// exception, a crash or an endless loop. None is added without debug information or addr2line.
/// The frames of all failures are taken out: they are addresses in this program.
void find_calls(std::vector<CheckResult>& checks, const lesson::Lesson& lesson);

}  // namespace attn::judge
