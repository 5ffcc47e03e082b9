// What the tool remembers survives kill -9, other tools, damaged files and folders that cannot be written.
#include "learn/memory/state.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

namespace fs = std::filesystem;
using lesson::read_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

/// An empty course's folder, and what its stores say.
struct StateFolder {
  fs::path folder() const { return scratch.path() / ".learn"; }
  fs::path file() const { return folder() / "state.json"; }
  std::string printed() const { return printed_.str(); }

  Store open() { return Store(scratch.path(), printed_); }

  State read() { return open().state(); }

  /// The names of the files in .learn that begin like this, but are not it.
  std::vector<std::string> kept_as(const std::string& beginning) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder())) {
      const std::string name = entry.path().filename().string();
      if (name != beginning && name.rfind(beginning, 0) == 0) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  Scratch scratch;
  std::ostringstream printed_;
};

class StateStore : public ::testing::Test {
 protected:
  StateFolder course;
};

void set_current(Store& store, const std::string& name) {
  store.update([&](State& state) { state.current = name; });
}

/// Something in every field.
State full_state() {
  State state;
  state.current = "02_fused_qkv";
  state.lessons["01_self_attention_v1"] = {
      "2026-11-20T10:00:00+0100", true, "0123456789abcdef", "fedcba9876543210", 12, 3, {{"unscaled", 2}}, {"unscaled"}};
  state.lessons["02_fused_qkv"].checks = 1;
  state.interviews.push_back({"2026-11-21T09:30:00+0100", "05_interview_self_attention", 17.25, 30, 4, true, {}});
  state.interviews.push_back({"2026-11-21T11:00:00+0100", "12_interview", 45, 45, 1, false, {"unscaled", "no_mask"}});
  state.cards["01_self_attention_v1"] = {3, 2.36, 15, parse_day("2026-12-06")};
  state.cards["01_self_attention_v1: Why \"√E\"?"] = {};
  state.days = {"2026-11-20", "2026-11-21"};
  return state;
}

void write_full_state(Store& store) {
  store.update([](State& state) { state = full_state(); });
}

// ------------------------------------------------------------------------------------------------ what is kept

TEST_F(StateStore, BeginsEmptyAndWritesNothingUnasked) {
  EXPECT_THAT(course.read().lessons, IsEmpty());
  EXPECT_FALSE(fs::exists(course.folder()));
  EXPECT_EQ(course.printed(), "");
}

TEST_F(StateStore, ReadsWhatItWrote) {
  Store writer = course.open();
  write_full_state(writer);
  const std::string text = read_file(course.file());
  EXPECT_EQ(nlohmann::json::parse(text), nlohmann::json::parse(R"({
    "version": 2, "current": "02_fused_qkv", "days": ["2026-11-20", "2026-11-21"],
    "lessons": {
      "01_self_attention_v1": {"first_passed": "2026-11-20T10:00:00+0100", "passing": true, "checks": 12,
                               "passed_text": "0123456789abcdef", "judged_text": "fedcba9876543210", "hint_level": 3,
                               "mistakes": {"unscaled": 2}, "named": ["unscaled"]},
      "02_fused_qkv": {"first_passed": "", "passing": false, "checks": 1, "passed_text": "", "judged_text": "",
                       "hint_level": 0, "mistakes": {}, "named": []}},
    "interviews": [
      {"when": "2026-11-21T09:30:00+0100", "lesson": "05_interview_self_attention", "minutes": 17.25, "limit": 30.0,
       "checks": 4, "passed": true, "mistakes": []},
      {"when": "2026-11-21T11:00:00+0100", "lesson": "12_interview", "minutes": 45.0, "limit": 45.0,
       "checks": 1, "passed": false, "mistakes": ["unscaled", "no_mask"]}],
    "cards": {
      "01_self_attention_v1": {"repetitions": 3, "easiness": 2.36, "interval": 15, "due": "2026-12-06"},
      "01_self_attention_v1: Why \"√E\"?": {"repetitions": 0, "easiness": 2.5, "interval": 0, "due": "1970-01-01"}}
  })"));
  EXPECT_THAT(text, AllOf(HasSubstr("\n  \"current\": \"02_fused_qkv\",\n"), EndsWith("\n}\n"))) << "for people";

  course.open().update([](State&) {});
  EXPECT_EQ(read_file(course.file()), text) << "what was read and written again is the same";
  EXPECT_EQ(course.printed(), "");
}

TEST_F(StateStore, TakesDefaultsForMissingFields) {
  put(course.file(), R"({"version": 2, "current": null, "lessons": {"01_a": {"checks": 3}}, "cards": {"01_a": {}},
                         "interviews": [{}], "unknown": []})");
  const State state = course.read();
  EXPECT_EQ(state.lessons.at("01_a").checks, 3);
  EXPECT_FALSE(state.lessons.at("01_a").passing);
  EXPECT_EQ(state.cards.at("01_a").easiness, 2.5);
  EXPECT_THAT(state.interviews, SizeIs(1));
  EXPECT_EQ(course.printed(), "");
}

TEST_F(StateStore, NotesADayOfWorkOnlyWhenThereWasWork) {
  Store store = course.open();
  set_current(store, "01_a");
  EXPECT_THAT(store.state().days, IsEmpty());
  store.update([](State&) {}, true);
  EXPECT_THAT(course.read().days, ElementsAre(day_text(today())));
}

TEST_F(StateStore, ChangesTheNewestState) {
  Store mine = course.open();
  Store other = course.open();
  set_current(mine, "01_a");
  other.update([](State& state) { state.lessons["02_b"].checks = 1; });
  EXPECT_EQ(other.state().current, "01_a");
  EXPECT_EQ(mine.state().lessons.count("02_b"), 0u);
  mine.refresh();
  EXPECT_EQ(mine.state().lessons.count("02_b"), 1u);
}

TEST_F(StateStore, WritesNothingWhenTheChangeThrows) {
  Store store = course.open();
  set_current(store, "01_a");
  const auto half_a_change = [](State& state) {
    state.current = "02_b";
    throw std::runtime_error("no");
  };
  EXPECT_THROW(store.update(half_a_change), std::runtime_error);
  EXPECT_EQ(store.state().current, "01_a");
  EXPECT_EQ(course.read().current, "01_a");
  set_current(store, "03_c");  // the lock is free again
  EXPECT_EQ(course.read().current, "03_c");
}

TEST_F(StateStore, TakesNamesThatAreNotUtf8) {
  Store store = course.open();
  set_current(store, "01_caf\xe9");
  EXPECT_EQ(course.read().current, "01_caf\xef\xbf\xbd");
  EXPECT_EQ(course.printed(), "");
}

TEST(NowText, IsATimeWithItsZone) { EXPECT_THAT(now_text(), MatchesRegex("[0-9-]{10}T[0-9:]{8}[+-][0-9]{4}")); }

// ----------------------------------------------------------------------------------------------- damaged files

/// Texts that are no state, and why.
std::vector<std::pair<std::string, std::string>> damaged_files() {
  const std::string deep(20000, '[');
  return {
      {"", "it is empty"},
      {"nonsense", "it is not JSON from byte 2 on"},
      {std::string("\x7f"
                   "ELF\0\0\xff\xfe",
                   8),
       "it is not JSON from byte 1 on"},
      {std::string(4096, '\0'), "it is not JSON from byte 1 on"},
      {"{\"version\": 2, \"current\": \"\xff\"}", "it is not JSON from byte"},
      {R"({"version": 2} {"version": 2})", "it is not JSON from byte 16 on"},
      {deep, "it is cut off"},
      {deep + std::string(deep.size(), ']'), "it has too many levels of lists and objects"},
      {"[]", "\"the whole file\" is not an object"},
      {"null", "\"the whole file\" is not an object"},
      {"{}", "\"version\" is not 2"},
      {R"({"version": 1})", "\"version\" is not 2"},
      {R"({"version": -3})", "\"version\" is not 2"},
      {R"({"version": "2"})", "\"version\" is not 2"},
      {R"({"version": 2, "current": 7})", "\"current\" is not a text"},
      {R"({"version": 2, "lessons": []})", "\"lessons\" is not an object"},
      {R"({"version": 2, "lessons": {"01_a": 7}})", "\"01_a\" is not an object"},
      {R"({"version": 2, "lessons": {"01_a": {"passing": 1}}})", "\"passing\" is not true or false"},
      {R"({"version": 2, "lessons": {"01_a": {"checks": "many"}}})", "\"checks\" is not an integer"},
      {R"({"version": 2, "lessons": {"01_a": {"checks": 1.5}}})", "\"checks\" is not an integer"},
      {R"({"version": 2, "lessons": {"01_a": {"checks": 99999999999}}})", "\"checks\" is not an integer"},
      {R"({"version": 2, "lessons": {"01_a": {"checks": 1e999}}})", "it has a number that is too large"},
      {R"({"version": 2, "lessons": {"01_a": {"mistakes": {"x": true}}}})", "\"x\" is not an integer"},
      {R"({"version": 2, "interviews": {}})", "\"interviews\" is not a list"},
      {R"({"version": 2, "interviews": [7]})", "\"interviews\" is not an object"},
      {R"({"version": 2, "interviews": [{"minutes": "9"}]})", "\"minutes\" is not a number"},
      {R"({"version": 2, "interviews": [{"mistakes": [7]}]})", "\"mistakes\" is not a text"},
      {R"({"version": 2, "cards": {"01_a": {"due": "2026-02-30"}}})", "\"due\" is not a day"},
      {R"({"version": 2, "cards": {"01_a": {"due": 7}}})", "\"due\" is not a text"},
      {R"({"version": 2, "days": ["yesterday"]})", "\"days\" is not a day"},
  };
}

TEST(Store, KeepsADamagedFileAside) {
  for (const auto& [text, why] : damaged_files()) {
    SCOPED_TRACE(text.substr(0, 60));
    StateFolder course;
    put(course.file(), text);
    Store store = course.open();
    EXPECT_THAT(store.state().lessons, IsEmpty());
    const auto kept = course.kept_as("state.json");
    ASSERT_THAT(kept, ElementsAre(MatchesRegex("state.json.damaged-[0-9-]{10}_[0-9-]{8}")));
    EXPECT_EQ(read_file(course.folder() / kept[0]), text);
    EXPECT_THAT(course.printed(), AllOf(HasSubstr(course.file().string() + " cannot be understood: " + why),
                                        HasSubstr("It is kept as " + (course.folder() / kept[0]).string()),
                                        HasSubstr("If you can fix it, move it back.")));
    set_current(store, "01_a");
    EXPECT_EQ(course.read().current, "01_a") << "work goes on";
  }
}

TEST(Store, KeepsAFileAsideWhereverItWasCutOff) {
  StateFolder whole;
  Store writer = whole.open();
  write_full_state(writer);
  const std::string text = read_file(whole.file());
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {  // without its last newline it is whole
    SCOPED_TRACE(length);
    StateFolder course;
    put(course.file(), text.substr(0, length));
    EXPECT_THAT(course.read().lessons, IsEmpty());
    EXPECT_THAT(course.kept_as("state.json.damaged-"), SizeIs(1));
    EXPECT_THAT(course.printed(), HasSubstr(length == 0 ? "it is empty" : "it is cut off"));
  }
}

TEST_F(StateStore, KeepsAFileOfANewerVersionAside) {
  put(course.file(), R"({"version": 99, "lessons": "in another shape"})");
  EXPECT_THAT(course.read().lessons, IsEmpty());
  EXPECT_THAT(course.kept_as("state.json"), ElementsAre(MatchesRegex("state.json.version-99-[0-9-]{10}_[0-9-]{8}")));
  EXPECT_THAT(course.printed(), AllOf(HasSubstr("it is of version 99, and this course knows 2"),
                                      HasSubstr("update this one and move it back")));
}

TEST_F(StateStore, NeverReplacesWhatItKeptAside) {
  for (int i = 0; i < 5; ++i) {
    put(course.file(), "damage " + std::to_string(i));
    course.read();
  }
  std::vector<std::string> texts;
  for (const auto& name : course.kept_as("state.json.damaged-")) texts.push_back(read_file(course.folder() / name));
  EXPECT_THAT(texts, ::testing::UnorderedElementsAre("damage 0", "damage 1", "damage 2", "damage 3", "damage 4"));
}

TEST_F(StateStore, KeepsAFileAsideThatIsDamagedWhileItWorks) {
  Store store = course.open();
  set_current(store, "01_a");
  put(course.file(), "damaged");
  store.update([](State& state) { state.lessons["02_b"].checks = 1; });
  EXPECT_EQ(course.read().lessons.at("02_b").checks, 1);
  EXPECT_THAT(course.kept_as("state.json.damaged-"), SizeIs(1));
}

TEST(Store, KeepsAsideWhatIsNoFile) {
  StateFolder folder_there;
  put(folder_there.file() / "something", "");
  Store store = folder_there.open();
  set_current(store, "01_a");
  EXPECT_EQ(folder_there.read().current, "01_a");
  EXPECT_THAT(folder_there.printed(), HasSubstr("it is not a file"));

  StateFolder pipe_there;
  fs::create_directories(pipe_there.folder());
  ASSERT_EQ(mkfifo(pipe_there.file().c_str(), 0600), 0);
  EXPECT_THAT(pipe_there.read().lessons, IsEmpty());
  EXPECT_THAT(pipe_there.printed(), HasSubstr("it is not a file"));
}

// ------------------------------------------------------------------------------------- where nothing can be written

/// Two updates in one store: what cannot be kept is reported once, and remembered as long as the store lives.
bool works_in_memory(StateFolder& course) {
  Store store = course.open();
  set_current(store, "01_a");
  store.update([](State& state) { state.lessons["01_a"].checks = 1; });
  store.refresh();
  EXPECT_EQ(store.state().current, "01_a");
  EXPECT_EQ(store.state().lessons.at("01_a").checks, 1);
  const std::string message = "Your progress cannot be kept: ";
  EXPECT_THAT(course.printed(),
              AllOf(HasSubstr(message), HasSubstr("You can go on"), HasSubstr(course.folder().string())));
  EXPECT_EQ(course.printed().find(message), course.printed().rfind(message)) << course.printed();
  return !::testing::Test::HasFailure();
}

TEST_F(StateStore, WorksInMemoryWhereLearnIsAFile) {
  put(course.folder(), "not a folder");
  EXPECT_TRUE(works_in_memory(course));
  EXPECT_THAT(course.printed(), HasSubstr("Not a directory"));
}

TEST_F(StateStore, WorksInMemoryInAReadOnlyCourse) {
  EXPECT_TRUE(well_as_ordinary_user([&] {
    chmod(course.scratch.path().c_str(), 0555);
    return works_in_memory(course);
  }));
  EXPECT_FALSE(fs::exists(course.folder()));
}

/// What takes rights away from the owner of a state that is there: work goes on in memory, and the file stays.
void expect_kept(const std::function<void(StateFolder&)>& take_rights, const std::string& kept = "00_before") {
  StateFolder course;
  EXPECT_TRUE(well_as_ordinary_user([&] {
    Store store = course.open();
    set_current(store, "00_before");
    take_rights(course);
    return works_in_memory(course);
  }));
  chmod(course.file().c_str(), 0600);
  EXPECT_THAT(read_file(course.file()), HasSubstr(kept));
}

TEST(Store, WorksInMemoryWithoutTheRightsToWriteOrRead) {
  expect_kept([](StateFolder& course) {
    chmod(course.folder().c_str(), 0555);
    EXPECT_EQ(course.read().current, "00_before");
    EXPECT_EQ(course.printed(), "") << "reading is all right";
  });
  for (const mode_t mode : {mode_t{0444}, mode_t{0200}}) {
    expect_kept([mode](StateFolder& course) { chmod(course.file().c_str(), mode); });
  }
  const auto damage = [](StateFolder& course) {  // it cannot be kept aside
    put(course.file(), "damaged");
    chmod(course.folder().c_str(), 0555);
  };
  expect_kept(damage, "damaged");
}

TEST_F(StateStore, KeepsTheOldStateWhenTheDiskIsFull) {
  EXPECT_TRUE(ended_well(start_child([&] {
    Store store = course.open();
    set_current(store, "00_before");
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit room_for_a_few_bytes = {16, 16};
    setrlimit(RLIMIT_FSIZE, &room_for_a_few_bytes);
    return works_in_memory(course);
  })));
  EXPECT_EQ(course.read().current, "00_before");
  EXPECT_THAT(course.kept_as("state.json"), IsEmpty()) << "nothing half written is left";
}

// ------------------------------------------------------------------------------- several tools, and tools that die

TEST_F(StateStore, WorksInMemoryWhenAnotherToolKeepsTheLock) {
  put(course.folder() / "lock", "");
  const int lock = open((course.folder() / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_TRUE(works_in_memory(course));
  EXPECT_THAT(course.printed(), HasSubstr("another ./learn holds the lock"));
  close(lock);
}

TEST(Store, LosesNoUpdateOfToolsThatRunAtTheSameTime) {
  constexpr int tools = 4;
  constexpr int updates = 100;
  StateFolder course;
  std::vector<pid_t> children;
  for (int tool = 0; tool < tools; ++tool) {
    children.push_back(start_child([&] {
      Store store = course.open();
      for (int i = 0; i < updates; ++i) {
        store.update([&](State& state) {
          ++state.lessons["all"].checks;
          ++state.lessons[std::to_string(tool)].checks;
        });
      }
      return course.printed().empty();
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  State state = course.read();
  EXPECT_EQ(state.lessons["all"].checks, tools * updates);
  for (int tool = 0; tool < tools; ++tool) EXPECT_EQ(state.lessons[std::to_string(tool)].checks, updates);
}

/// Counts in the state, and reports every number that is safe.
bool count_on(StateFolder& course, int report, const std::function<void()>& begun) {
  Store store = course.open();
  begun();
  for (;;) {
    store.update([](State& state) { ++state.lessons["counted"].checks; });
    const int done = store.state().lessons.at("counted").checks;
    if (write(report, &done, sizeof done) != sizeof done) return false;
  }
}

TEST(Store, LosesNothingThatWasDoneWhenKilledAtAnyMoment) {
  constexpr int rounds = 200;
  StateFolder course;
  Store store = course.open();
  write_full_state(store);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) set_current(store, "01_a");
  const std::chrono::duration<double> ten_updates = std::chrono::steady_clock::now() - begin;
  RandomKills kills(
      std::clamp(ten_updates / 5, std::chrono::duration<double>(0.02), std::chrono::duration<double>(0.04)));
  int counted = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const int before = counted;
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    EXPECT_TRUE(kills.kill_one([&](const auto& begun) { return count_on(course, report[1], begun); }));
    close(report[1]);
    for (int done = 0; read(report[0], &done, sizeof done) == sizeof done;) counted = done;
    close(report[0]);

    State state = course.read();
    ASSERT_EQ(course.printed(), "");
    ASSERT_THAT(state.interviews, SizeIs(2)) << "the rest is whole";
    const int kept = state.lessons["counted"].checks;
    ASSERT_GE(kept, counted);
    ASSERT_LE(kept, counted + 1);
    kills.count(kept > before);
    counted = kept;
  }
  EXPECT_GT(counted, rounds / 4) << "the children hardly got to work";
  EXPECT_THAT(course.kept_as("state.json.damaged"), IsEmpty());
}

}  // namespace
}  // namespace attn::learn
