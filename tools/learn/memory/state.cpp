#include "learn/memory/state.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <system_error>

#include "learn/memory/files.hpp"
#include "lesson/lesson.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int our_version = 2;

/// Why a file is no state that we can read, and what brings it back.
struct Unusable : std::runtime_error {
  Unusable(const std::string& why, std::string its_word, std::string its_way_back)
      : std::runtime_error(why), word(std::move(its_word)), way_back(std::move(its_way_back)) {}
  std::string word;  ///< for the name that it is kept under
  std::string way_back;
};

struct Damaged : Unusable {
  explicit Damaged(const std::string& why) : Unusable(why, "damaged", "If you can mend it, move it back.") {}
};

[[noreturn]] void refuse(const std::string& name, const std::string& expected) {
  throw Damaged("\"" + name + "\" is not " + expected);
}

// ------------------------------------------------------------------------------------------ reading, with care

/// A field's value; null where it is missing: then the default stays.
const json* field(const json& record, const std::string& name) {
  const auto found = record.find(name);
  return found == record.end() || found->is_null() ? nullptr : &*found;
}

void take(const json& value, const std::string& name, std::string& into) {
  if (!value.is_string()) refuse(name, "a text");
  into = value;
}

void take(const json& value, const std::string& name, bool& into) {
  if (!value.is_boolean()) refuse(name, "true or false");
  into = value;
}

void take(const json& value, const std::string& name, double& into) {
  if (!value.is_number()) refuse(name, "a number");
  into = value;
}

void take(const json& value, const std::string& name, int& into) {
  using Range = std::numeric_limits<int>;
  if (!value.is_number_integer() || value < Range::min() || value > Range::max()) refuse(name, "a whole number");
  into = value;
}

void take(const json& value, const std::string& name, Day& into) {
  std::string text;
  take(value, name, text);
  try {
    into = parse_day(text);
  } catch (const std::invalid_argument&) {
    refuse(name, "a day like 2026-11-21");
  }
}

const json& object(const json& value, const std::string& name) {
  if (!value.is_object()) refuse(name, "an object");
  return value;
}

void take(const json& value, const std::string& name, LessonRecord& into);
void take(const json& value, const std::string& name, InterviewRecord& into);
void take(const json& value, const std::string& name, Card& into);

template <typename T>
void take(const json& value, const std::string& name, std::vector<T>& into) {
  if (!value.is_array()) refuse(name, "a list");
  for (const json& element : value) take(element, name, into.emplace_back());
}

template <typename T>
void take(const json& value, const std::string& name, std::map<std::string, T>& into) {
  for (const auto& [key, element] : object(value, name).items()) take(element, key, into[key]);
}

template <typename T>
void read(const json& record, const std::string& name, T& into) {
  if (const json* value = field(record, name)) take(*value, name, into);
}

void take(const json& value, const std::string& name, LessonRecord& into) {
  const json& record = object(value, name);
  read(record, "first_passed", into.first_passed);
  read(record, "passing", into.passing);
  read(record, "passed_text", into.passed_text);
  read(record, "checks", into.checks);
  read(record, "hint_level", into.hint_level);
  read(record, "mistakes", into.mistakes);
  read(record, "named", into.named);
}

void take(const json& value, const std::string& name, InterviewRecord& into) {
  const json& record = object(value, name);
  read(record, "when", into.when);
  read(record, "lesson", into.lesson);
  read(record, "minutes", into.minutes);
  read(record, "limit", into.limit);
  read(record, "checks", into.checks);
  read(record, "passed", into.passed);
  read(record, "mistakes", into.mistakes);
}

void take(const json& value, const std::string& name, Card& into) {
  const json& record = object(value, name);
  read(record, "repetitions", into.repetitions);
  read(record, "easiness", into.easiness);
  read(record, "interval", into.interval);
  read(record, "due", into.due);
}

json parse(const std::string& text) {
  if (text.empty()) throw Damaged("it is empty");
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    if (error.byte > text.size()) throw Damaged("it is cut off");
    throw Damaged("it is no JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const json::exception&) {
    throw Damaged("it has a number that is too large");
  }
}

/// Checks that it is an object of this version.
void check_version(const json& file, int expected) {
  const json* version = field(object(file, "the whole file"), "version");
  if (version == nullptr || !version->is_number_integer() || *version < expected) {
    refuse("version", std::to_string(expected));
  }
  if (*version > expected) {
    const std::string theirs = version->dump();
    throw Unusable("it is of version " + theirs + ", and this course knows " + std::to_string(expected),
                   "version-" + theirs, "A newer course can read it: update this one and move it back.");
  }
}

State parse_state(const std::string& text) {
  const json file = parse(text);
  check_version(file, our_version);
  State state;
  read(file, "current", state.current);
  read(file, "lessons", state.lessons);
  read(file, "interviews", state.interviews);
  read(file, "cards", state.cards);
  std::vector<Day> days;
  read(file, "days", days);
  for (const Day day : days) state.days.insert(day_text(day));
  return state;
}

/// What a course without state.json wrote: {"version": 1, "passed": [names]}.
State parse_progress(const std::string& text, const std::string& when) {
  const json file = parse(text);
  check_version(file, 1);
  std::vector<std::string> passed;
  read(file, "passed", passed);
  State state;
  for (const std::string& lesson : passed) {
    state.lessons[lesson].first_passed = when;
    state.lessons[lesson].passing = true;
  }
  return state;
}

std::string text_of(const fs::path& file) {
  if (!fs::is_regular_file(file)) throw Damaged("it is not a file");
  return lesson::read_file(file);
}

std::string time_text(std::time_t time) { return local_time(time, "%Y-%m-%dT%H:%M:%S%z"); }

/// The file that the state is in: state.json, or what an older course left, or none.
fs::path find_source(const fs::path& folder) {
  for (const char* name : {"state.json", "progress.json"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return {};
}

/// @throws Unusable when there is something that is no state; another exception when it cannot be read.
State read_state(const fs::path& source) {
  if (source.empty()) return {};
  if (source.filename() == "state.json") return parse_state(text_of(source));
  struct stat status {};
  const bool known = stat(source.c_str(), &status) == 0;
  return parse_progress(text_of(source), time_text(known ? status.st_mtime : std::time(nullptr)));
}

// --------------------------------------------------------------------------------------------------- writing

json to_json(const LessonRecord& record) {
  return {{"first_passed", record.first_passed},
          {"passing", record.passing},
          {"passed_text", record.passed_text},
          {"checks", record.checks},
          {"hint_level", record.hint_level},
          {"mistakes", record.mistakes},
          {"named", record.named}};
}

json to_json(const InterviewRecord& record) {
  return {{"when", record.when},     {"lesson", record.lesson}, {"minutes", record.minutes},  {"limit", record.limit},
          {"checks", record.checks}, {"passed", record.passed}, {"mistakes", record.mistakes}};
}

json to_json(const Card& card) {
  return {{"repetitions", card.repetitions},
          {"easiness", card.easiness},
          {"interval", card.interval},
          {"due", day_text(card.due)}};
}

template <typename T>
json to_json(const std::map<std::string, T>& records) {
  json all = json::object();
  for (const auto& [name, record] : records) all[name] = to_json(record);
  return all;
}

std::string to_text(const State& state) {
  json interviews = json::array();
  for (const auto& record : state.interviews) interviews.push_back(to_json(record));
  const json file = {{"version", our_version},   {"current", state.current},      {"lessons", to_json(state.lessons)},
                     {"interviews", interviews}, {"cards", to_json(state.cards)}, {"days", state.days}};
  // bytes that are no UTF-8 are replaced: a strange file name is no reason to remember nothing
  return file.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Locks a file, unless another process keeps it for long: it takes milliseconds, unless the other one was stopped
/// meanwhile.
/// @return 0, or -1 and errno
int lock_soon(int file) {
  constexpr int longest_ms = 10'000;
  constexpr int look_again_ms = 10;
  for (int waited = 0; flock(file, LOCK_EX | LOCK_NB) != 0; waited += look_again_ms) {
    if (errno != EINTR && (errno != EWOULDBLOCK || waited >= longest_ms)) return -1;
    poll(nullptr, 0, look_again_ms);
  }
  return 0;
}

/// While it lives, no other tool changes the state.
class Lock {
 public:
  explicit Lock(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const fs::path file = folder / "lock";
    file_ = open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);  // a pipe would wait
    if (file_ >= 0 && lock_soon(file_) == 0) return;
    const int error = errno;
    if (file_ >= 0) close(file_);
    throw std::runtime_error("cannot lock " + file.string() + ": " +
                             (error == EWOULDBLOCK ? "another ./learn has locked it and does not go on"
                                                   : std::generic_category().message(error)));
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

/// A name that nothing has yet; under the lock, nobody else takes it.
fs::path free_name(const fs::path& wanted) {
  fs::path name = wanted;
  for (int i = 2; fs::exists(fs::symlink_status(name)); ++i) name = wanted.string() + "-" + std::to_string(i);
  return name;
}

/// The newest state. What is no state is kept aside and told. Call it under the lock.
State read_or_keep_aside(const fs::path& folder, std::ostream& told) {
  for (;;) {
    const fs::path source = find_source(folder);
    try {
      return read_state(source);
    } catch (const Unusable& reason) {
      const fs::path aside = free_name(source.string() + "." + reason.word + "-" + time_for_a_name(std::time(nullptr)));
      std::error_code failed;
      fs::rename(source, aside, failed);
      if (failed) {
        throw std::runtime_error("cannot be understood (" + std::string(reason.what()) +
                                 ") and cannot be renamed: " + failed.message());
      }
      told << "Your progress in " << source.string() << " cannot be understood: " << reason.what() << ".\n"
           << "It is kept as " << aside.string() << ", and lessons count as not passed until you check them again. "
           << reason.way_back << "\n";
    }
  }
}

}  // namespace

std::string now_text() { return time_text(std::time(nullptr)); }

Store::Store(const fs::path& root, std::ostream& told) : folder_(root / ".learn"), told_(told) { refresh(); }

void Store::refresh() {
  if (in_memory_) return;
  try {
    state_ = read_state(find_source(folder_));
    return;
  } catch (const Unusable&) {
    // to be kept aside, unless another tool is just doing that
  } catch (const std::exception& error) {
    return go_on_in_memory(error.what());
  }
  try {
    const Lock lock(folder_);
    state_ = read_or_keep_aside(folder_, told_);
  } catch (const std::exception& error) {
    go_on_in_memory(error.what());
  }
}

void Store::update(const std::function<void(State&)>& change, bool worked) {
  std::optional<Lock> lock;
  State newest = state_;
  const auto unless_in_memory = [&](const auto& act) {
    if (in_memory_) return;
    try {
      act();
    } catch (const std::exception& error) {
      go_on_in_memory(error.what());
    }
  };
  unless_in_memory([&] {
    lock.emplace(folder_);
    newest = read_or_keep_aside(folder_, told_);
  });
  change(newest);
  if (worked) newest.days.insert(day_text(today()));
  unless_in_memory([&] { replace_file(folder_ / "state.json", to_text(newest)); });
  state_ = std::move(newest);
}

void Store::go_on_in_memory(const std::string& reason) {
  in_memory_ = true;
  told_ << "Your progress cannot be kept: " << reason
        << ".\nWork goes on, but this is forgotten when the command ends; "
        << "make " << folder_.string() << " a folder that you can read and write.\n";
}

}  // namespace attn::learn
