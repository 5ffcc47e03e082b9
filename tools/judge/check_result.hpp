#pragma once

#include <string>
#include <vector>

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
  std::vector<std::string> messages;  ///< GoogleTest's, one for each failed assertion; or what ended the check
  std::string printed;                ///< the beginning of what the learner's code printed
  std::size_t printed_bytes = 0;      ///< all that it printed
  double milliseconds = 0;            ///< what it measured, if it did (see speed.hpp)

  std::string full_name() const { return suite + "." + name; }
  bool passed() const { return state == State::passed; }
};

}  // namespace attn::judge
