#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "learn/memory/schedule.hpp"

namespace attn::learn {

/// What is known of one lesson.
struct LessonRecord {
  std::string first_passed;             ///< when; empty: never
  bool passing = false;                 ///< as last checked
  std::string passed_text;              ///< the fingerprint of the learner's files when they last passed
  std::string judged_text;              ///< the same of those that were judged last, compiled or not
  int checks = 0;                       ///< how often it was judged
  int hint_level = 0;                   ///< the highest that was read, 0 to 3
  std::map<std::string, int> mistakes;  ///< id in the catalogue -> how often it was made
  std::vector<std::string> named;       ///< those that were named when it was last judged
};

/// One interview, finished or given up.
struct InterviewRecord {
  std::string when;
  std::string lesson;
  double minutes = 0;
  double limit = 0;  ///< minutes that were given
  int checks = 0;    ///< how often the checks were asked for
  bool passed = false;
  std::vector<std::string> mistakes;  ///< ids that were named
};

/// Everything the tool remembers about a learner. Lessons are known by name, so that renumbering is harmless.
struct State {
  std::string current;  ///< the lesson the learner is at; empty: the first that is not passed
  std::map<std::string, LessonRecord> lessons;
  std::vector<InterviewRecord> interviews;  ///< oldest first
  std::map<std::string, Card> cards;        ///< "NN_name" to redo from blank, "NN_name: question" to answer
  std::set<std::string> days;               ///< on which something was checked, interviewed or reviewed

  /// What is known of a lesson; the defaults where that is nothing.
  LessonRecord record_of(const std::string& lesson) const;
};

/// Keeps the state in `.learn/state.json`: readable JSON, written to a temporary file, synced and renamed, so that a
/// power cut or kill -9 at any moment loses at most the change that was being written.
///
/// Several tools may run at once: every change is made to the newest state, under a lock.
///
/// A state that cannot be understood (damaged, cut off, of a newer version) is kept beside it under a name that says
/// why, which is reported on `err`, and work goes on with an empty one. Where nothing can be written, that is reported
/// once, and work goes on in memory.
class Store {
 public:
  Store(const std::filesystem::path& root, std::ostream& err);

  /// As last read or written.
  const State& state() const { return state_; }

  /// Reads it again, as another tool may have changed it.
  void refresh();

  /// Makes a change to the newest state, and notes that today was a day of work when `worked`.
  /// @param change called once, under the lock: it must not use a store.
  void update(const std::function<void(State&)>& change, bool worked = false);

 private:
  void go_on_in_memory(const std::string& reason);

  std::filesystem::path folder_;
  std::ostream& err_;
  bool in_memory_ = false;
  State state_;
};

}  // namespace attn::learn
