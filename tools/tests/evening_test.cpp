// An evening with the course: the tool in a real terminal, and somebody who types keys and saves files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "course_copy.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "screen_robot.hpp"

namespace attn::tests {
namespace {

using lesson::find_lesson;
using lesson::find_lessons;
using lesson::read_file;

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string answer_file = "lessons/01_self_attention_v1/self_attention_v1.cpp";
const std::string heading = "01 · Self-attention: ";
const std::string all_keys =
    "n next  p previous  h hint  o read  e edit  l list  s solution  r reset  c check all  ? more  q quit";
const std::string unscaled = "likely  the scores are not divided by √D";  // what the mistake of this name is called

void pause_for(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

/// The row of the screen that holds a text; empty when none does.
std::string row_with(ScreenRobot& terminal, const std::string& text) {
  for (const auto& row : lines_of(terminal.screen())) {
    if (row.find(text) != std::string::npos) return row;
  }
  return "";
}

/// The processes whose link in /proc, "cwd" or "exe", begins with a path: those that work in a folder, or run a program.
std::vector<pid_t> processes_with(const std::string& link, const fs::path& path) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path() / link, gone).string();
    if (!gone && target.rfind(path.string(), 0) == 0) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

/// A command as one types it into a shell.
std::string typed(const std::vector<std::string>& command) {
  std::string line;
  for (const auto& word : command) line += "'" + word + "' ";
  return line + "\r";
}

/// An interactive shell, to stop the tool and bring it back.
ScreenRobot shell() { return ScreenRobot({"bash", "--norc", "--noprofile", "-i"}, {30, 100, {{"PS1", "prompt> "}}}); }

template <typename Condition>
bool comes_true(Condition condition, double seconds = patience) {
  const auto end = steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    pause_for(10);
  }
  return true;
}

/// Each of them begins with a fresh copy, in which lesson 01 is the current one.
class Evening : public ::testing::Test {
 protected:
  Evening()
      : copy(fresh_course_copy()),
        answer(copy / answer_file),
        stub(read_file(answer)),
        right(read_file(copy / "solutions/01_self_attention_v1/self_attention_v1.cpp")) {
    const std::string checks = read_file(copy / "tests/01_self_attention_v1/checks.cpp");
    for (auto at = checks.find("\nTEST("); at != std::string::npos; at = checks.find("\nTEST(", at + 1)) ++total;
    ScreenRobot on_the_way(tool_on_copy({"next"}));  // from 00, where everybody begins
    on_the_way.wait_for_exit();
  }

  static std::vector<std::string> tool(const std::vector<std::string>& arguments = {}) {
    return tool_on_copy(arguments);
  }

  /// The tool in a terminal, once it has judged the stub, or shows something else.
  ScreenRobot& begin(const TerminalOptions& options = {}, const std::string& shows = "") {
    terminal_.emplace(tool(), options);
    EXPECT_SHOWS(*terminal_, shows.empty() ? none_passed() : shows);
    return *terminal_;
  }

  static void save_as(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  void save(const std::string& text) const { save_as(answer, text); }

  /// As many editors do: a new file takes the name of the old one.
  void save_by_renaming(const std::string& text) const {
    const fs::path beside = answer.string() + ".tmp";
    std::ofstream(beside) << text;
    fs::rename(beside, answer);
  }

  std::string mistaken(const std::string& id) const { return with_mistake(find_lesson(copy, "01"), id); }

  /// The right answer with something before its first statement.
  std::string beginning_with(const std::string& code) const {
    const std::string first = "  const arma::uword dim =";
    EXPECT_THAT(right, HasSubstr(first));
    return replaced(right, first, code + "\n" + first);
  }

  /// The processes that build and check: they work in the copy's folder, and the tool does not.
  std::vector<pid_t> working() const { return processes_with("cwd", copy); }

  std::string none_passed() const { return " 0 of " + std::to_string(total) + " checks"; }
  std::string all_passed() const { return " " + std::to_string(total) + " of " + std::to_string(total) + " checks"; }

  fs::path copy;
  fs::path answer;
  std::string stub;
  std::string right;
  int total = 0;

 private:
  std::optional<ScreenRobot> terminal_;
};

/// How many there are, as a text.
std::string lessons() { return std::to_string(find_lessons(ATTN_ROOT).size()); }

// ----------------------------------------------------------------------------------------------- through a lesson

TEST_F(Evening, BeginsWithTheFirstLessonAndGoesOnWhereItStopped) {
  fs::remove_all(copy / ".learn");
  {
    ScreenRobot first(tool());
    ASSERT_SHOWS(first, "░░ 0 of ");
    EXPECT_THAT(
        first.screen(),
        AllOf(StartsWith("00 · Warm-up: "), HasSubstr("0 of " + lessons() + " lessons passed"),
              HasSubstr("read   lessons/00_warm_up/README.md"), HasSubstr("write  lessons/00_warm_up/linear.cpp"),
              HasSubstr("write  lessons/00_warm_up/softmax.cpp"), EndsWith(all_keys), HasSubstr("Welcome!"),
              HasSubstr("lessons/00_warm_up/softmax.cpp:"), Not(HasSubstr("✗"))));
    type_and_see(first, {{"p", "This is the first lesson."}, {"n", "write  " + answer_file}});
    ASSERT_SHOWS(first, none_passed());
    type_and_see(first, {{"p", "00 · Warm-up: "}, {"n", heading}, {"q", "./learn goes on with 01 self_attention_v1."}});
    EXPECT_EQ(first.wait_for_exit(), 0) << first;
  }
  ScreenRobot again(tool());
  EXPECT_SHOWS(again, heading);
  ASSERT_SHOWS(again, none_passed());
  EXPECT_SHOWS(again, "TODO(01.1) is not written yet: " + answer_file);
}

TEST_F(Evening, NamesAMistakeGivesHintsAndWaitsAfterThePass) {
  ScreenRobot& terminal = begin({70, 110});  // all hints fit

  save(mistaken("unscaled"));
  ASSERT_SHOWS(terminal, unscaled);
  EXPECT_SHOWS(terminal, "✗ 01 self_attention_v1 · SelfAttentionV1.");
  EXPECT_SHOWS(terminal, "where   forward, from " + answer_file);
  EXPECT_TRUE(terminal.colored());

  type_and_see(terminal, {{"s", "The solution opens when you have passed, or have read the third hint (h)."},
                          {"h", "hint 1 of 3"},
                          {"h", "hint 2 of 3"}});
  EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("hint 1 of 3"), Not(HasSubstr("hint 3 of 3"))));
  type_and_see(terminal, {{"h", "Esc goes back; s shows the solution."},
                          {"s", "You have not passed this lesson yet. Show the solution anyway?"},
                          {"n", unscaled}});

  save(right);
  ASSERT_SHOWS(terminal, "Well done. You can now:");
  EXPECT_SHOWS(terminal, all_passed());
  EXPECT_SHOWS(terminal, "1 of " + lessons() + " lessons passed");
  ASSERT_SHOWS(terminal, " ms, the reference ");
  EXPECT_THAT(row_with(terminal, "speed   "), HasSubstr(": you "));
  pause_for(500);
  EXPECT_THAT(terminal.screen(), AllOf(StartsWith(heading), HasSubstr("Well done."), EndsWith(all_keys)));

  type_and_see(terminal, {{"s", "yours: self_attention_v1.cpp"}, {key::escape, "Well done."}});

  save(mistaken("unscaled"));
  ASSERT_SHOWS(terminal, unscaled);
  EXPECT_SHOWS(terminal, "1 of " + lessons() + " lessons passed, 1 fails now");
  type_and_see(terminal,
               {{"l", "passed, fails now  01 "}, {"s", "yours: self_attention_v1.cpp"}});  // still: it passed once
}

TEST_F(Evening, GoesThroughTheListWithArrowsAndEnter) {
  ScreenRobot& terminal = begin({20, 60});  // too small for all lessons
  const auto lessons = find_lessons(copy);
  std::string downs, ups;  // more than are read at once, as from a key that is held down
  for (std::size_t i = 0; i < 2 * lessons.size(); ++i) downs += key::down, ups += key::up;
  type_and_see(terminal, {{"l", "> now  01 "},
                          {downs, ">      " + lessons.back().number() + " "},
                          {ups, ">      00 "},
                          {key::escape, "TODO(01.1) is not written yet"},
                          {"l", "> now  01 "},
                          {key::up, ">      00 "},
                          {key::enter, "write  lessons/00_warm_up/softmax.cpp"}});
  EXPECT_SHOWS(terminal, "Welcome!");
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("more lines")));
}

TEST_F(Evening, ResetsAfterAskingAndLosesNothing) {
  save("// mine\n" + right);
  ScreenRobot& terminal = begin({30, 120}, heading);
  type_and_see(terminal, {{"r", "Put the stubs of 01 self_attention_v1 back?"}, {"n", "Nothing was changed."}});
  EXPECT_EQ(read_file(answer), "// mine\n" + right);
  const std::string command = "./learn backups restore ";
  type_and_see(terminal, {{"r", "Put the stubs of"}, {"y", "Reset. What you wrote: " + command}});
  EXPECT_EQ(read_file(answer), stub);
  const std::string note = row_with(terminal, command);
  const std::string backup = note.substr(note.find(command) + command.size());
  ASSERT_SHOWS(terminal, none_passed());
  EXPECT_SHOWS(terminal, command + backup);
  type_and_see(terminal, {{"r", "Nothing to reset"}, {"q", "./learn goes on with"}});

  ScreenRobot restoring(tool({"backups", "restore", backup}));
  EXPECT_EQ(restoring.wait_for_exit(), 0) << restoring;
  EXPECT_EQ(read_file(answer), "// mine\n" + right);
}

TEST_F(Evening, ChecksAllLessonsUntilItIsStopped) {
  ScreenRobot& terminal = begin();
  type_and_see(terminal, {{"c", "00 warm_up: not started"}});  // without a compiler
  EXPECT_SHOWS(terminal, "19 flash_attention: not started");
  EXPECT_THAT(terminal.screen(), HasSubstr(none_passed()));  // what is known of this one stays
  save(stub + "// begun\n");
  ASSERT_SHOWS(terminal, "building");
  ASSERT_SHOWS(terminal, none_passed());
  std::ofstream(copy / "lessons/02_fused_qkv/self_attention_v2.cpp", std::ios::app) << "// begun\n";
  type_and_see(terminal, {{"c", "Ctrl-C stops."}});
  ASSERT_SHOWS(terminal, "01 self_attention_v1: 0 of ");
  ASSERT_SHOWS(terminal, "02 fused_qkv: building");
  type_and_see(terminal, {{key::escape, "02 fused_qkv: building"}, {key::ctrl_c, "stopped"}});  // no other view of it
  EXPECT_GONE(terminal, "02 fused_qkv");
  type_and_see(terminal, {{key::escape, "TODO(01.1) is not written yet"}});
  EXPECT_SHOWS(terminal, none_passed());
}

// ------------------------------------------------------------------------------------------------------------ saves

/// From a save to the moment when the screen says so, the best of a few tries: others may be at work on this machine.
double seconds_to_notice(ScreenRobot& terminal, const std::function<void()>& save) {
  double best = 1e9;
  for (int attempt = 0; attempt < 20 && best > 0.3; ++attempt) {
    if (attempt > 0) pause_for(500);
    const auto saved = steady_clock::now();
    save();
    if (!terminal.wait_for("building")) return 1e9;
    best = std::min(best, std::chrono::duration<double>(steady_clock::now() - saved).count());
    terminal.type(key::ctrl_c);
    if (!terminal.wait_for("stopped before there was a verdict")) return 1e9;
  }
  return best;
}

TEST_F(Evening, NoticesEverySaveWithinAThirdOfASecond) {
  int saves = 0;
  const auto next_text = [&] { return stub + "// save " + std::to_string(++saves) + "\n"; };
  {
    ScreenRobot terminal(tool());
    ASSERT_SHOWS(terminal, none_passed());
    EXPECT_LE(seconds_to_notice(terminal, [&] { save(next_text()); }), 0.3) << "in place\n" << terminal;
    EXPECT_LE(seconds_to_notice(terminal, [&] { save_by_renaming(next_text()); }), 0.3) << "renamed\n" << terminal;
  }
  const fs::path elsewhere = copy / "build" / "elsewhere.cpp";
  fs::copy_file(answer, elsewhere, fs::copy_options::overwrite_existing);
  fs::remove(answer);
  fs::create_symlink(elsewhere, answer);
  ScreenRobot& terminal = begin();
  EXPECT_LE(seconds_to_notice(terminal, [&] { save_as(elsewhere, next_text()); }), 0.3) << "a link\n" << terminal;
  EXPECT_TRUE(fs::is_symlink(answer));
  fs::remove(answer);
}

TEST_F(Evening, JudgesTheNewestTextWhenSomebodySavesWhileItBuilds) {
  ScreenRobot& terminal = begin();
  const fs::path pipe = copy / ".learn/held.hpp";  // the compiler waits at the end of the text for what we do not write
  ASSERT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
  save(mistaken("unscaled") + "#include \"" + pipe.string() + "\"\n");
  int held = -1;
  const auto compiler_waits = [&] { return (held = open(pipe.c_str(), O_WRONLY | O_NONBLOCK)) >= 0; };
  ASSERT_TRUE(comes_true(compiler_waits)) << terminal;
  ASSERT_SHOWS(terminal, "building");
  save(right);
  ASSERT_SHOWS(terminal, "Well done.");
  close(held);
  EXPECT_THAT(terminal.transcript(), Not(HasSubstr("not divided by √D")));
  save_by_renaming(mistaken("unscaled"));
  save_by_renaming(right);
  save_by_renaming(mistaken("divided_by_dim"));
  ASSERT_SHOWS(terminal, "the scores are divided by D, not by √D");
}

// ------------------------------------------------------------------------------------------- what should not happen

TEST_F(Evening, StopsAnEndlessLoopAtCtrlC) {
  ScreenRobot& terminal = begin();
  const std::string loop = "for (volatile bool on = true; on;) {\n}";
  for (const auto& text :
       {beginning_with(loop), "static const int early = [] { " + loop + " return 1; }();\n" + right}) {
    save(text);
    ASSERT_TRUE(terminal.wait_for("checking")) << terminal;
    ASSERT_TRUE(comes_true([&] { return !working().empty(); }));
    type_and_see(terminal, {{key::ctrl_c, "01 self_attention_v1: stopped before there was a verdict"}});
    EXPECT_TRUE(comes_true([&] { return working().empty(); }));
  }
  terminal.type(key::ctrl_c);
  EXPECT_EQ(terminal.wait_for_exit(), 0) << "nothing runs any more, so it quits";
}

TEST_F(Evening, LeavesNothingRunningWhenItIsKilled) {
  save("static const int early = [] { for (volatile bool on = true; on;) {} return 1; }();\n" + right);
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const std::string doing : {"building", "checking"}) {
      save(read_file(answer) + "\n");
      ScreenRobot terminal(tool());
      ASSERT_TRUE(terminal.wait_for(doing)) << terminal;
      ASSERT_TRUE(comes_true([&] { return !working().empty(); }));
      kill(terminal.pid(), signal);
      EXPECT_EQ(terminal.wait_for_exit(), 128 + signal);
      EXPECT_TRUE(comes_true([&] { return working().empty(); })) << doing;
    }
  }
}

TEST_F(Evening, ShowsTheFirstErrorAndLetsOneScrollToTheLast) {
  std::string errors;
  for (int i = 0; i < 40; ++i) errors += "  missing_name_" + std::to_string(i) + "();\n";
  save(beginning_with(errors));
  ScreenRobot& terminal = begin({20, 100}, "missing_name_0");
  EXPECT_THAT(row_with(terminal, "self_attention_v1.cpp:"), HasSubstr(answer_file));
  EXPECT_SHOWS(terminal, "more lines (arrow down)");
  EXPECT_THAT(terminal.screen(), AllOf(Not(HasSubstr("ninja")), Not(HasSubstr("FAILED")), EndsWith(all_keys)));
  for (int i = 0; i < 40 && !terminal.wait_for("does not compile yet: begin with the first error above", 0.1); ++i) {
    terminal.type("\x1b[6~");  // page down
  }
  EXPECT_SHOWS(terminal, "01 self_attention_v1 does not compile yet");
  EXPECT_GONE(terminal, "more lines");
  type_and_see(terminal, {{key::up, "more lines"}});
  for (int i = 0; i < 40; ++i) terminal.type("\x1b[5~");
  EXPECT_SHOWS(terminal, "missing_name_0");
  for (const auto& [end, home] : {std::pair{"\x1b[F", "\x1b[H"}, {"\x1bOF", "\x1bOH"}, {"\x1b[4~", "\x1b[1~"}}) {
    terminal.type(end);  // as one terminal or another sends it
    EXPECT_GONE(terminal, "more lines");
    type_and_see(terminal, {{home, "missing_name_0"}});
  }
}

TEST_F(Evening, IsNotGarbledByWhatALearnersProgramPrints) {
  const std::string naughty = R"("\x1b[2J\x1b[10;10Hhere\tand\rthere" << std::string(300, '@') << " end\n")";
  save(beginning_with("  std::cout << " + naughty + ";\n  throw 42;"));
  ScreenRobot& terminal = begin({40, 100}, "?[2J?[10;10Hhere");
  EXPECT_SHOWS(terminal, " end");
  EXPECT_THAT(terminal.screen(), AllOf(StartsWith(heading), EndsWith(all_keys)));
  const std::string screen = terminal.screen();
  EXPECT_EQ(std::count(screen.begin(), screen.end(), '@'), 300) << terminal;  // in rows as wide as the screen
  EXPECT_THAT(terminal.transcript(), Not(HasSubstr("\x1b[10;10H")));
}

// ------------------------------------------------------------------------------------------------------ the terminal

TEST_F(Evening, IsAsIfStartedAnewAfterEveryChangeOfSize) {
  ScreenRobot& terminal = begin();
  for (const auto& [rows, columns] : {std::pair{20, 60}, {50, 200}, {10, 40}, {30, 100}}) {
    ScreenRobot fresh(tool(), {rows, columns});
    terminal.resize(rows, columns);
    const auto same = [&] { return terminal.screen() == fresh.screen(); };
    EXPECT_TRUE(comes_true(same)) << terminal << fresh;
    EXPECT_THAT(terminal.screen(), AllOf(StartsWith(heading), HasSubstr("q quit")));
    for (ScreenRobot* one : {&terminal, &fresh}) type_and_see(*one, {{"l", "> now  01"}});
    EXPECT_TRUE(comes_true(same)) << terminal << fresh;
    terminal.type(key::escape);
  }
}

/// A shell script around the tool that notes the terminal's modes before and after, and the tool's process.
std::vector<std::string> noting_modes(const fs::path& folder) {
  std::vector<std::string> command = {
      "sh", "-c", "cd '" + folder.string() + R"('; stty -g >before; sh -c 'echo $$ >tool; exec "$@"' sh "$@"
stty -g >after; echo; echo over)",
      "sh"};
  for (const auto& word : tool_on_copy({})) command.push_back(word);
  return command;
}

TEST_F(Evening, LeavesTheTerminalAsItWas) {
  const fs::path notes = copy / "build" / "notes";
  fs::create_directories(notes);
  for (const int signal : {0, SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
    for (const char* note : {"before", "after", "tool"}) fs::remove(notes / note);
    ScreenRobot terminal(noting_modes(notes));
    ASSERT_SHOWS(terminal, "checks");
    if (signal == 0) terminal.type("q");
    if (signal != 0) kill(std::stoi(read_file(notes / "tool")), signal);
    ASSERT_SHOWS(terminal, "over");
    EXPECT_EQ(read_file(notes / "after"), read_file(notes / "before")) << signal;
    const std::string written = terminal.transcript();
    EXPECT_GT(written.rfind("\x1b[?25h"), written.rfind("\x1b[?25l")) << "the cursor is hidden after signal " << signal;
  }
}

TEST_F(Evening, JudgesAFileThatComesBackWithAnOlderTime) {
  save(right);
  ScreenRobot& terminal = begin({}, all_passed());
  for (const bool passes : {false, true}) {
    const fs::path beside = answer.string() + ".tmp";
    std::ofstream(beside) << (passes ? right : stub);
    fs::last_write_time(beside, fs::last_write_time(answer) - std::chrono::hours(24));
    fs::rename(beside, answer);
    ASSERT_SHOWS(terminal, passes ? all_passed() : none_passed());
  }
}

TEST_F(Evening, JudgesAgainWhenTheCourseIsUpdated) {
  save(mistaken("unscaled"));
  ScreenRobot& terminal = begin({}, unscaled);
  const fs::path catalogue = copy / "tests/01_self_attention_v1/mistakes.json";
  save_as(catalogue, replaced(read_file(catalogue), "the scores are not divided by √D", "the scores lack their √D"));
  ASSERT_SHOWS(terminal, "likely  the scores lack their √D");
}

TEST_F(Evening, CallsTheEditorWithTheLessonsFiles) {
  const fs::path notes = copy / "build" / "notes";
  fs::create_directories(notes);
  fs::remove(notes / "after");
  const fs::path editor = notes / "editor.sh";
  std::ofstream(editor) << "stty -a >'" << notes.string() << "/modes'\necho \"editing: $*\"\nread -r line\n"
                        << "echo \"// $line\" >>\"$2\"\n";
  ScreenRobot terminal(noting_modes(notes), {30, 100, {{"EDITOR", "sh " + editor.string() + " --wait"}}});
  ASSERT_SHOWS(terminal, none_passed());
  const std::string before = terminal.screen();
  type_and_see(terminal, {{"e", "editing: --wait " + answer_file}, {"typed in the editor\r", none_passed()}});
  EXPECT_TRUE(comes_true([&] { return terminal.screen() == before; })) << terminal;
  EXPECT_EQ(read_file(answer), stub + "// typed in the editor\n");
  EXPECT_THAT(read_file(notes / "modes"), AllOf(HasSubstr(" icanon"), HasSubstr(" echo "), Not(HasSubstr("-icanon"))));
  type_and_see(terminal, {{"q", "over"}});
  EXPECT_EQ(read_file(notes / "after"), read_file(notes / "before"));
}

TEST_F(Evening, ShowsTheChapterInAPagerThatSurvivesCtrlC) {
  ScreenRobot& terminal = begin({30, 100, {{"PAGER", "less"}}});
  type_and_see(terminal, {{"o", "The cat sat down"}});
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("<!--")));
  terminal.type(key::ctrl_c);
  pause_for(200);
  terminal.type(" ");
  EXPECT_GONE(terminal, "The cat sat down");
  type_and_see(terminal, {{"q", "h hint  o read"}, {"h", "hint 1 of 3"}});  // keys are the screen's again
}

TEST_F(Evening, TakesAWordForNoKeys) {
  ScreenRobot& terminal = begin({30, 100, {{"EDITOR", "echo edited with"}}});
  terminal.type("./learn\r");
  for (const std::string letter : {".", "/", "l", "e", "a", "r", "n"}) {
    terminal.type(letter);
    pause_for(60);
  }
  pause_for(500);
  EXPECT_THAT(terminal.transcript(), Not(HasSubstr("edited with")));
  EXPECT_SHOWS(terminal, heading);
  type_and_see(terminal, {{"l", "> now"}});
}

TEST_F(Evening, TakesAUsualEditorAndSaysWhenThereIsNone) {
  {
    const fs::path programs = copy / "build" / "programs";
    fs::create_directories(programs);
    std::ofstream(programs / "editor") << "#!/bin/sh\necho \"editing: $*\"\nread -r line\n";
    fs::permissions(programs / "editor", fs::perms::owner_all);
    ScreenRobot& terminal = begin({30, 100, {{"PATH", programs.string() + ":" + std::getenv("PATH")}}});
    type_and_see(terminal, {{"e", "editing: " + answer_file}, {"\r", none_passed()}});
  }
  ScreenRobot& terminal = begin({30, 100, {{"EDITOR", "no-such-editor"}}});
  type_and_see(terminal, {{"e", "The editor in $EDITOR could not be started."}});
}

TEST_F(Evening, LeavesNothingRunningAtCtrlZAndChecksAnewAfterwards) {
  save(beginning_with("for (volatile bool on = true; on;) {}"));
  ScreenRobot terminal = shell();
  ASSERT_SHOWS(terminal, "prompt>");
  for (const bool by_key : {true, false}) {
    terminal.type(by_key ? typed(tool()) : "fg\r");
    ASSERT_SHOWS(terminal, "checking ...");
    if (by_key) {
      terminal.type("\x1a");
    } else {
      for (const pid_t one : processes_with("exe", tool().front())) kill(one, SIGTSTP);
    }
    ASSERT_SHOWS(terminal, "Stopped");
    EXPECT_TRUE(comes_true([&] { return working().empty(); }, 3)) << "a check is still running";
    type_and_see(terminal, {{"clear; stty -a | grep -o '.icanon'\r", " icanon"}});
  }
  type_and_see(terminal, {{"fg\r", "a loop that never ends?"}});
  EXPECT_TRUE(comes_true([&] { return terminal.screen().rfind(heading, 0) == 0; })) << terminal;
  EXPECT_SHOWS(terminal, all_keys);
  type_and_see(terminal, {{"q", "./learn goes on with"}});
}

TEST_F(Evening, LeavesNothingRunningAtCtrlZOfACommand) {
  save(beginning_with("for (volatile bool on = true; on;) {}"));
  ScreenRobot terminal = shell();
  ASSERT_SHOWS(terminal, "prompt>");
  terminal.type(typed(tool({"check", "01"})));
  ASSERT_TRUE(comes_true([&] { return !processes_with("exe", copy / "build/dev/lesson_01").empty(); }));
  type_and_see(terminal, {{"\x1a", "Stopped"}});
  EXPECT_TRUE(comes_true([&] { return working().empty(); }, 3)) << "something is still running";
  type_and_see(terminal, {{"clear; fg\r", "a loop that never ends?"}});
}

TEST_F(Evening, DoesNotStopAtCtrlZWhereNobodyCouldGoOn) {
  ScreenRobot& terminal = begin();
  terminal.type("\x1a");
  type_and_see(terminal, {{"l", "> now"}});
}

// ------------------------------------------------------------------------------------------------------------ styles

TEST_F(Evening, IsPlainTextInWordsWhereThatIsWanted) {
  const TerminalOptions usual = {60, 100}, dumb = {60, 100, {{"TERM", "dumb"}}};
  for (const auto& [options, arguments, cross] :
       {std::tuple{usual, std::vector<std::string>{"--plain"}, "FAILED "}, {dumb, {}, "✗ "}}) {
    save(mistaken("unscaled"));
    ScreenRobot terminal(tool(arguments), options);
    ASSERT_SHOWS(terminal, unscaled);
    EXPECT_SHOWS(terminal, cross + std::string("01 self_attention_v1"));
    type_and_see(terminal, {{"h", "hint 1 of 3"}, {"l" + key::up, "at: 00 warm_up"}});
    terminal.type(key::escape + "x");
    pause_for(400);  // or it would begin a word
    type_and_see(terminal, {{"?", "Enter checks again"}, {"q", "./learn goes on with"}});
    EXPECT_EQ(terminal.wait_for_exit(), 0) << terminal;
    EXPECT_THAT(terminal.transcript(), Not(HasSubstr("\x1b"))) << cross;
    EXPECT_THAT(terminal.transcript(), Not(HasSubstr(std::string(cross) == "✗ " ? "FAILED " : "✗")));
  }
}

TEST_F(Evening, IsAScreenWithoutColoursWithNoColor) {
  save(mistaken("unscaled"));
  ScreenRobot& terminal = begin({60, 100, {{"NO_COLOR", "1"}}}, unscaled);
  EXPECT_SHOWS(terminal, "✗ 01 self_attention_v1");
  EXPECT_FALSE(terminal.colored()) << terminal;
  type_and_see(terminal, {{"l", "> now"}});
  EXPECT_GONE(terminal, "likely");  // it is drawn over, not appended
}

TEST_F(Evening, IsAsciiInALocaleThatKnowsNothingElse) {
  ScreenRobot& terminal = begin({40, 100, {{"LC_ALL", "C"}}});
  for (const std::string key : {"h", "h", "h", "l", "r", "\x1b"}) {
    terminal.type(key);
    pause_for(100);
  }
  save(mistaken("unscaled"));
  ASSERT_SHOWS(terminal, "likely  the scores are not divided by sqrt D");
  EXPECT_SHOWS(terminal, "FAILED 01 self_attention_v1 - SelfAttentionV1.");
  EXPECT_TRUE(terminal.is_ascii()) << terminal;
}

TEST_F(Evening, PrintsCodeThatCanBeCopied) {
  std::string longest;
  for (const auto& line : lines_of(right)) {
    if (line.size() > longest.size()) longest = line;
  }
  ASSERT_GT(longest.size(), 60u);
  ScreenRobot printed(tool({"solution", "01"}), {40, 60});
  EXPECT_EQ(printed.wait_for_exit(), 0) << printed;
  EXPECT_THAT(printed.transcript(), HasSubstr(longest));
}

TEST_F(Evening, ShowsTheNewestHintInASmallTerminal) {
  save(mistaken("unscaled"));
  ScreenRobot& terminal = begin({20, 60}, unscaled);
  const std::string last = "That was the last hint.";
  type_and_see(terminal, {{"h", "hint 1 of 3"}, {"h", "hint 2 of 3"}, {"h", "hint 3 of 3"}});
  EXPECT_THAT(terminal.screen(), Not(HasSubstr(last)));
  type_and_see(terminal, {{"h", last}, {key::escape, unscaled}, {"h", "hint 3 of 3"}});
  EXPECT_THAT(terminal.screen(), Not(HasSubstr(last)));
}

TEST_F(Evening, FitsNarrowAndWideTerminals) {
  save(mistaken("unscaled"));
  for (const int columns : {60, 80, 200}) {
    ScreenRobot& terminal = begin({40, columns}, unscaled);
    const auto rows = lines_of(terminal.screen());
    EXPECT_THAT(rows.front(), StartsWith(heading));
    EXPECT_THAT(rows.back(), EndsWith("q quit"));  // no break in between
    for (const std::string label : {"likely  ", "where   ", "hint    ", "read   ", "write  "}) {
      EXPECT_NE(row_with(terminal, label), "") << label << "\n" << terminal;
    }
  }
}

TEST_F(Evening, ShowsTheDiagnosisOnTheFirstScreenOfASmallTerminal) {
  save(mistaken("unscaled"));
  ScreenRobot& watched = begin({20, 60}, unscaled);
  ScreenRobot checked(tool({"check", "01"}), {20, 60});
  EXPECT_EQ(checked.wait_for_exit(), 1) << checked;
  for (ScreenRobot* terminal : {&watched, &checked}) {
    const std::string screen = terminal->screen();
    const auto at = [&](const std::string& label) { return screen.find("\n  " + label); };
    ASSERT_NE(at("hint    "), std::string::npos) << *terminal;
    EXPECT_LT(screen.find("✗ 01"), at("likely  "));
    EXPECT_LT(at("likely  "), at("where   "));
    EXPECT_LT(at("where   "), at("hint    "));
    EXPECT_LT(at("hint    "), at("shape   "));
    EXPECT_LT(at("shape   "), at("got     "));
    EXPECT_THAT(screen, HasSubstr("1.888  0.1116")) << "the last row of the numbers\n" << *terminal;
    EXPECT_NE(at("where   forward, from self_attention_v1.cpp:"), std::string::npos) << *terminal;
  }
}

}  // namespace
}  // namespace attn::tests
