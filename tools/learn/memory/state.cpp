#include "learn/memory/state.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <system_error>

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
  explicit Unusable(const std::string& why, std::string its_word = "damaged",
                    std::string its_way_back = "If you can fix it, move it back.")
      : std::runtime_error(why), word(std::move(its_word)), way_back(std::move(its_way_back)) {}
  std::string word;  ///< for the name that it is kept under
  std::string way_back;
};

[[noreturn]] void refuse(const std::string& name, const std::string& expected) {
  throw Unusable("\"" + name + "\" is not " + expected);
}

}  // namespace

// For nlohmann/json, which looks for these here.
void to_json(json& file, const Card& card) {
  file = {{"repetitions", card.repetitions},
          {"easiness", card.easiness},
          {"interval", card.interval},
          {"due", day_text(card.due)}};
}

void from_json(const json& file, Card& card) {
  card.repetitions = file.value("repetitions", card.repetitions);
  card.easiness = file.value("easiness", card.easiness);
  card.interval = file.value("interval", card.interval);
  card.due = parse_day(file.value("due", day_text(card.due)));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LessonRecord, first_passed, passing, passed_text, judged_text, checks,
                                                hint_level, mistakes, named)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(InterviewRecord, when, lesson, minutes, limit, checks, passed, mistakes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(State, current, lessons, interviews, cards, days)

namespace {

// ------------------------------------------------------------------------------------------ reading, with care

/// A state with something in every field. Where names or a list may be of any length, there is one, of the name "*".
json example_state() {
  State state;
  state.lessons["*"].mistakes["*"] = 1;
  state.lessons["*"].named = {"*"};
  state.interviews.emplace_back().mistakes = {"*"};
  state.cards["*"] = {};
  state.days = {day_text(0)};
  return state;
}

bool is_day(const json& value) {
  try {
    parse_day(value);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string kind_of(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  return value.is_number_integer() ? "an integer" : "a number";
}

/// Checks that a value is of the same kind as in the example, and so all that is in it. What the example does not know
/// is of no interest.
void check(const json& value, const json& example, const std::string& name) {
  const bool is_right = example.is_number_integer() ? value.is_number_integer() && value == json(value.get<int>())
                        : example.is_number()       ? value.is_number()
                                                    : value.type() == example.type();
  if (!is_right) refuse(name, kind_of(example));
  if (example == day_text(0) && !is_day(value)) refuse(name, "a day like 2026-11-21");
  if (!value.is_structured()) return;
  for (const auto& [key, part] : value.items()) {
    if (value.is_array()) check(part, example.front(), name);
    if (value.is_object() && example.contains("*")) check(part, example["*"], key);
    if (value.is_object() && example.contains(key)) check(part, example[key], key);
  }
}

/// Removes what is null: there the default stays. (Leaving it out while parsing takes quadratic time.)
void remove_nulls(json& value, int depth = 0) {
  constexpr int deepest = 64;
  if (depth > deepest) throw Unusable("it has too many levels of lists and objects");
  if (value.is_array()) {
    auto& list = value.get_ref<json::array_t&>();
    list.erase(std::remove_if(list.begin(), list.end(), [](const json& one) { return one.is_null(); }), list.end());
  } else if (value.is_object()) {
    for (auto one = value.begin(); one != value.end();) one = one->is_null() ? value.erase(one) : std::next(one);
  } else {
    return;
  }
  for (auto& part : value) remove_nulls(part, depth + 1);
}

json parse(const std::string& text) {
  if (text.empty()) throw Unusable("it is empty");
  try {
    json file = json::parse(text);
    remove_nulls(file);
    return file;
  } catch (const json::parse_error& error) {
    if (error.byte > text.size()) throw Unusable("it is cut off");
    throw Unusable("it is not JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const json::exception&) {
    throw Unusable("it has a number that is too large");
  }
}

State parse_state(const std::string& text) {
  const json file = parse(text);
  check(file, json::object(), "the whole file");
  const json version = file.value("version", json());
  if (!version.is_number_integer() || version < our_version) refuse("version", std::to_string(our_version));
  if (version > our_version) {
    throw Unusable("it is of version " + version.dump() + ", and this course knows " + std::to_string(our_version),
                   "version-" + version.dump(), "A newer course can read it: update this one and move it back.");
  }
  check(file, example_state(), "the whole file");
  return file.get<State>();
}

/// @throws Unusable when what is there is not a state; another exception when it cannot be read.
State read_state(const fs::path& file) {
  if (!fs::exists(file)) return {};
  if (!fs::is_regular_file(file)) throw Unusable("it is not a file");
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

/// The newest state. What is not a state is kept aside and reported. Call it under the lock.
State read_or_keep_aside(const fs::path& folder, std::ostream& err) {
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
    return {};
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
