#pragma once

#include <set>
#include <string>
#include <vector>

#include "lesson/line.hpp"
#include "verdict/failure.hpp"

namespace attn::judge {

/// What became of one check.
struct CheckResult {
  enum class State {
    passed,
    failed,       ///< an assertion failed, or something was thrown
    not_written,  ///< it ran into a TODO
    ended,        ///< the program crashed or ended in the middle of it
    stopped,      ///< it was stopped: it ran too long or printed too much
    not_run,      ///< too many before it had to be stopped
  };

  std::string suite;
  std::string name;
  State state = State::passed;
  std::vector<Failure> failures;  ///< in their order; the first says enough to begin with
  std::string printed;            ///< the beginning of what the learner's code printed
  std::size_t printed_bytes = 0;  ///< all that it printed
  double milliseconds = 0;        ///< what it measured, if it did (see speed.hpp)
  std::set<int> reached;          ///< which regions of a mutated solution ran (see run/edits.hpp)

  // Added once the run is over (report.hpp).
  std::string task;      ///< whose hints help: a task's id, or the lesson's number where it is not known
  Place place;           ///< in one of the learner's files; or that file, or their folder
  std::string borrowed;  ///< the check that named the mistake, where this one cannot tell

  std::string full_name() const { return suite + "." + name; }
  bool passed() const { return state == State::passed; }

  /// The failure that is shown: the first, or the one that ran into a TODO. Null when there is none.
  const Failure* shown() const;
  Failure* shown() { return const_cast<Failure*>(static_cast<const CheckResult*>(this)->shown()); }
};

}  // namespace attn::judge
