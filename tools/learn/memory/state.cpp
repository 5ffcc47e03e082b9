#include "learn/memory/state.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "learn/memory/calendar.hpp"
#include "lesson/lesson.hpp"
#include "system/files.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int our_version = 2;

/// Why a file is not a state that we can read, and what brings it back.
struct Unusable : std::runtime_error {
  Unusable(const std::string& why, std::string its_word, std::string its_way_back)
      : std::runtime_error(why), word(std::move(its_word)), way_back(std::move(its_way_back)) {}
  std::string word;  ///< for the name that it is kept under
  std::string way_back;
};

struct Damaged : Unusable {
  explicit Damaged(const std::string& why) : Unusable(why, "damaged", "If you can fix it, move it back.") {}
};

[[noreturn]] void refuse(const std::string& name, const std::string& expected) {
  throw Damaged("\"" + name + "\" is not " + expected);
}

// ---------------------------------------------------------------------------------- the fields, as they are named

constexpr auto fields_of(const LessonRecord&) {
  using R = LessonRecord;
  return std::tuple(std::pair("first_passed", &R::first_passed), std::pair("passing", &R::passing),
                    std::pair("passed_text", &R::passed_text), std::pair("judged_text", &R::judged_text),
                    std::pair("checks", &R::checks), std::pair("hint_level", &R::hint_level),
                    std::pair("mistakes", &R::mistakes), std::pair("named", &R::named));
}

constexpr auto fields_of(const InterviewRecord&) {
  using R = InterviewRecord;
  return std::tuple(std::pair("when", &R::when), std::pair("lesson", &R::lesson), std::pair("minutes", &R::minutes),
                    std::pair("limit", &R::limit), std::pair("checks", &R::checks), std::pair("passed", &R::passed),
                    std::pair("mistakes", &R::mistakes));
}

constexpr auto fields_of(const Card&) {
  return std::tuple(std::pair("repetitions", &Card::repetitions), std::pair("easiness", &Card::easiness),
                    std::pair("interval", &Card::interval), std::pair("due", &Card::due));
}

constexpr auto fields_of(const State&) {
  return std::tuple(std::pair("current", &State::current), std::pair("lessons", &State::lessons),
                    std::pair("interviews", &State::interviews), std::pair("cards", &State::cards),
                    std::pair("days", &State::days));
}

/// Calls visit(name, value) for every field of a record.
template <typename Record, typename Visit>
void for_each_field(Record& record, const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field.first, record.*field.second), ...); }, fields_of(record));
}

}  // namespace

/// For nlohmann/json, which looks for it here.
template <typename Record>
auto to_json(json& file, const Record& record) -> decltype(fields_of(record), void()) {
  for_each_field(record, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const Day&>) {
      file[name] = day_text(value);
    } else {
      file[name] = value;
    }
  });
}

namespace {

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
  if (!value.is_number_integer() || value < Range::min() || value > Range::max()) refuse(name, "an integer");
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

template <typename Record>
auto take(const json& value, const std::string& name, Record& into) -> decltype(fields_of(into), void());

template <typename T>
void take(const json& value, const std::string& name, std::vector<T>& into) {
  if (!value.is_array()) refuse(name, "a list");
  for (const json& element : value) take(element, name, into.emplace_back());
}

template <typename T>
void take(const json& value, const std::string& name, std::map<std::string, T>& into) {
  for (const auto& [key, element] : object(value, name).items()) take(element, key, into[key]);
}

/// The days of work: each has to exist.
void take(const json& value, const std::string& name, std::set<std::string>& into) {
  std::vector<Day> days;
  take(value, name, days);
  for (const Day day : days) into.insert(day_text(day));
}

template <typename Record>
auto take(const json& value, const std::string& name, Record& into) -> decltype(fields_of(into), void()) {
  const json& record = object(value, name);
  for_each_field(into, [&](const char* field_name, auto& field_value) {
    if (const json* found = field(record, field_name)) take(*found, field_name, field_value);
  });
}

json parse(const std::string& text) {
  if (text.empty()) throw Damaged("it is empty");
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    if (error.byte > text.size()) throw Damaged("it is cut off");
    throw Damaged("it is not JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const json::exception&) {
    throw Damaged("it has a number that is too large");
  }
}

/// Checks that it is an object of our version.
void check_version(const json& file) {
  const json* version = field(object(file, "the whole file"), "version");
  if (version == nullptr || !version->is_number_integer() || *version < our_version) {
    refuse("version", std::to_string(our_version));
  }
  if (*version > our_version) {
    const std::string theirs = version->dump();
    throw Unusable("it is of version " + theirs + ", and this course knows " + std::to_string(our_version),
                   "version-" + theirs, "A newer course can read it: update this one and move it back.");
  }
}

State parse_state(const std::string& text) {
  const json file = parse(text);
  check_version(file);
  State state;
  take(file, "the whole file", state);
  return state;
}

/// @throws Unusable when what is there is not a state; another exception when it cannot be read.
State read_state(const fs::path& file) {
  if (!fs::exists(file)) return {};
  if (!fs::is_regular_file(file)) throw Damaged("it is not a file");
  return parse_state(lesson::read_file(file));
}

// --------------------------------------------------------------------------------------------------- writing

std::string to_text(const State& state) {
  json file = state;
  file["version"] = our_version;
  // bytes that are not valid UTF-8 are replaced: a strange file name is no reason to remember nothing
  return file.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Locks a file, unless another process keeps it for long: it takes milliseconds, unless the other one was stopped
/// meanwhile.
/// @return 0, or -1 and errno
int lock_soon(int file) {
  constexpr int longest_ms = 10'000;
  constexpr int retry_ms = 10;
  for (int waited = 0; flock(file, LOCK_EX | LOCK_NB) != 0; waited += retry_ms) {
    if (errno != EINTR && (errno != EWOULDBLOCK || waited >= longest_ms)) return -1;
    poll(nullptr, 0, retry_ms);
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
                             (error == EWOULDBLOCK ? "another ./learn holds the lock and does not release it"
                                                   : std::generic_category().message(error)));
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

/// A name that nothing has yet; under the lock, no other tool takes it.
fs::path free_name(const fs::path& wanted) {
  fs::path name = wanted;
  for (int i = 2; fs::exists(fs::symlink_status(name)); ++i) name = wanted.string() + "-" + std::to_string(i);
  return name;
}

/// The newest state. What is not a state is kept aside and reported. Call it under the lock.
State read_or_keep_aside(const fs::path& folder, std::ostream& err) {
  for (;;) {
    const fs::path source = folder / "state.json";
    try {
      return read_state(source);
    } catch (const Unusable& reason) {
      const fs::path aside = free_name(source.string() + "." + reason.word + "-" + now_for_a_name());
      std::error_code failed;
      fs::rename(source, aside, failed);
      if (failed) {
        throw std::runtime_error("cannot be understood (" + std::string(reason.what()) +
                                 ") and cannot be renamed: " + failed.message());
      }
      err << "Your progress in " << source.string() << " cannot be understood: " << reason.what() << ".\n"
          << "It is kept as " << aside.string() << ", and lessons count as not passed until you check them again. "
          << reason.way_back << "\n";
    }
  }
}

}  // namespace

LessonRecord State::record_of(const std::string& lesson) const {
  const auto known = lessons.find(lesson);
  return known == lessons.end() ? LessonRecord{} : known->second;
}

Store::Store(const fs::path& root, std::ostream& err) : folder_(root / ".learn"), err_(err) { refresh(); }

void Store::refresh() {
  if (in_memory_) return;
  try {
    state_ = read_state(folder_ / "state.json");
    return;
  } catch (const Unusable&) {
    // to be kept aside, unless another tool is just doing that
  } catch (const std::exception& error) {
    return go_on_in_memory(error.what());
  }
  try {
    const Lock lock(folder_);
    state_ = read_or_keep_aside(folder_, err_);
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
    newest = read_or_keep_aside(folder_, err_);
  });
  change(newest);
  if (worked) newest.days.insert(day_text(today()));
  unless_in_memory([&] { replace_file(folder_ / "state.json", to_text(newest)); });
  state_ = std::move(newest);
}

void Store::go_on_in_memory(const std::string& reason) {
  in_memory_ = true;
  err_ << "Your progress cannot be kept: " << reason
       << ".\nYou can go on, but this is forgotten when the command ends; "
       << "make " << folder_.string() << " a folder that you can read and write.\n";
}

}  // namespace attn::learn
