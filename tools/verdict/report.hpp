#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/line.hpp"
#include "verdict/failure.hpp"

namespace attn::judge {

class Recordings;

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

  // Added once the run is over (make_report()).
  std::string task;      ///< whose hints help: a task's id, or the lesson's number where it is not known
  Place place;           ///< in one of the learner's files; or that file, or their folder
  std::string function;  ///< that begins at the place: "forward"; empty where it is the line itself, or not known
  std::string borrowed;  ///< the check that named the mistake, where this one cannot tell

  std::string full_name() const { return suite + "." + name; }
  bool passed() const { return state == State::passed; }

  /// The failure that is shown: the first, or the one that ran into a TODO. Null when there is none.
  const Failure* shown() const;
  Failure* shown() { return const_cast<Failure*>(static_cast<const CheckResult*>(this)->shown()); }
};

/// A part of the lesson that still calls todo().
struct OpenTask {
  std::string task;  ///< "01.2"
  Place place;
};

/// What came of a run of a lesson's checks: what the report file holds, and what tool and gate go by.
struct Report {
  std::string lesson;  ///< "01_self_attention_v1"
  std::vector<CheckResult> checks;
  std::vector<OpenTask> open_tasks;  ///< where a check ran into one
  std::vector<std::string> remarks;  ///< what should be changed though every check passed
  std::string problem;               ///< why there is no result at all

  int passed() const;
  const CheckResult* first_failing() const;

  /// The ids of the mistakes that were named by what each check shows.
  std::vector<std::string> named() const;
};

/// Finds out which task and file each check is about, and which catalogued mistakes its failures show (naming.hpp).
/// @param recordings the lesson's, if they have been read
Report make_report(std::vector<CheckResult> checks, const lesson::Lesson& lesson,
                   const Recordings* recordings = nullptr);

/// "passed", "failed", "not_written", ...
std::string text_of(CheckResult::State state);

void to_json(nlohmann::json& json, const Report& report);

/// @throws nlohmann::json::exception when it is not such a report
void from_json(const nlohmann::json& json, Report& report);

}  // namespace attn::judge
