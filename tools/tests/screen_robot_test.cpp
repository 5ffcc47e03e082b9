// The terminal that other tests look through: it shows what a person would see, and leaves nothing running.
#include "screen_robot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace attn::tests {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr auto hold = "; read -r _";  // a script that goes on until Enter

ScreenRobot::Options small(int rows = 5, int columns = 20) {
  ScreenRobot::Options options;
  options.rows = rows;
  options.columns = columns;
  return options;
}

std::vector<std::string> sh(const std::string& script) { return {"sh", "-c", script}; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Waits until the process is gone; ours are adopted, and buried, by somebody else.
bool ends(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(ScreenRobot, ShowsRowsWithoutTrailingSpaces) {
  ScreenRobot terminal(sh("printf 'one  \\n  two\\n'"), small(3));
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  EXPECT_EQ(terminal.screen(), "one\n  two\n");
}

TEST(ScreenRobot, ShowsWhereTheCursorMoved) {
  ScreenRobot terminal(sh("printf 'wrong\\033[3;5Hthere\\033[1;1Hright'"), small(4));
  terminal.wait_for_exit();
  EXPECT_EQ(terminal.screen(), "right\n\n    there\n");
}

TEST(ScreenRobot, ForgetsWhatWasCleared) {
  ScreenRobot terminal(sh("printf 'old'; read -r _; printf '\\033[2J\\033[Hnew'" + std::string(hold)), small());
  ASSERT_SHOWS(terminal, "old");
  terminal.type(key::enter);
  EXPECT_SHOWS(terminal, "new");
  EXPECT_GONE(terminal, "old");
  EXPECT_THAT(terminal.transcript(), AllOf(HasSubstr("old"), HasSubstr("\x1b[2J")));
}

TEST(ScreenRobot, BringsBackWhatStoodBehindAFullScreenProgram) {
  ScreenRobot terminal(sh("echo before; printf '\\033[?1049h\\033[Hfull'; read -r _; printf '\\033[?1049l'"), small());
  ASSERT_SHOWS(terminal, "full");
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("before")));
  terminal.type(key::enter);
  EXPECT_SHOWS(terminal, "before");
  EXPECT_GONE(terminal, "full");
}

TEST(ScreenRobot, ScrollsWhenItIsFull) {
  ScreenRobot terminal(sh("printf '1\\n2\\n3\\n4'"), small(3));
  terminal.wait_for_exit();
  EXPECT_EQ(terminal.screen(), "2\n3\n4");
}

TEST(ScreenRobot, ShowsWideCharacters) {
  ScreenRobot terminal(sh("printf '我喜欢 x\\033[2;5H你 ✗ √E'"), small(3));
  terminal.wait_for_exit();
  EXPECT_EQ(terminal.screen(), "我喜欢 x\n    你 ✗ √E\n");
}

TEST(ScreenRobot, GivesAWideCharacterTwoColumns) {
  ScreenRobot terminal(sh("printf '我喜欢\\033[1;5Hx'"), small(1));
  terminal.wait_for_exit();
  EXPECT_EQ(terminal.screen(), "我喜x");
}

TEST(ScreenRobot, SeesColorOfTextAndOfBackground) {
  for (const std::string& code : std::vector<std::string>{"31", "44", "38;5;208", "38;2;1;2;3"}) {
    ScreenRobot terminal(sh("printf 'plain \\033[" + code + "mcolor\\033[0m'"), small());
    terminal.wait_for_exit();
    EXPECT_TRUE(terminal.colored()) << code;
  }
}

TEST(ScreenRobot, SeesNoColorWhereThereIsNone) {
  ScreenRobot terminal(sh("printf '\\033[31mred\\033[0m\\r\\033[K\\033[1mbold\\033[7mreverse'"), small());
  terminal.wait_for_exit();
  EXPECT_FALSE(terminal.colored());
  EXPECT_THAT(terminal.screen(), StartsWith("boldreverse\n"));
}

TEST(ScreenRobot, WaitsForTextThatComesLater) {
  ScreenRobot terminal(sh("sleep 0.3; echo late; sleep 0.3; printf '\\033[2J'" + std::string(hold)), small());
  EXPECT_TRUE(terminal.wait_for("late"));
  EXPECT_TRUE(terminal.wait_until_gone("late"));
}

TEST(ScreenRobot, ShowsAnUpdateWhenItIsWhole) {
  ScreenRobot terminal(sh("printf '\\033[?2026hone\\r\\n'; sleep 0.2; printf 'two\\033[?2026l'" + std::string(hold)),
                       small(2));
  ASSERT_SHOWS(terminal, "one");
  EXPECT_EQ(terminal.screen(), "one\ntwo");
}

TEST(ScreenRobot, DoesNotWaitForTheRestOfAnUpdateForever) {
  ScreenRobot terminal(sh("printf '\\033[?2026hone'" + std::string(hold)), small());
  EXPECT_SHOWS(terminal, "one");
}

TEST(ScreenRobot, FindsTextOnlyWithinARow) {
  ScreenRobot terminal(sh("echo in two; echo rows"), small());
  EXPECT_TRUE(terminal.wait_for("rows"));
  EXPECT_FALSE(terminal.wait_for("two\nrows", 0.1));
}

TEST(ScreenRobot, GivesUpInTime) {
  ScreenRobot terminal(sh("echo stays" + std::string(hold)), small());
  ASSERT_SHOWS(terminal, "stays");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(terminal.wait_for("never", 0.2));
  EXPECT_FALSE(terminal.wait_until_gone("stays", 0.2));
  EXPECT_EQ(terminal.wait_for_exit(0.2), std::nullopt);
  EXPECT_GE(seconds_since(start), 0.6);
  EXPECT_LT(seconds_since(start), 5);
}

TEST(ScreenRobot, DoesNotWaitForAProgramThatHasEnded) {
  ScreenRobot terminal(sh("echo done"), small());
  terminal.wait_for_exit();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(terminal.wait_for("never", 60));
  EXPECT_FALSE(terminal.wait_until_gone("done", 60));
  EXPECT_LT(seconds_since(start), 10);
}

TEST(ScreenRobot, ReadsAllThatWasWrittenBeforeTheEnd) {
  ScreenRobot terminal(sh("seq 1 20000"), small());
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  EXPECT_THAT(terminal.screen(), HasSubstr("20000"));
  EXPECT_THAT(terminal.transcript(), AllOf(StartsWith("1\r\n2\r\n"), EndsWith("19999\r\n20000\r\n")));
}

TEST(ScreenRobot, LooksAtAProgramThatNeverStopsWriting) {
  ScreenRobot terminal({"yes", "again"}, small());
  EXPECT_SHOWS(terminal, "again");
  EXPECT_THAT(terminal.screen(), HasSubstr("again"));
}

TEST(ScreenRobot, TypesKeysAsTheyAre) {
  ScreenRobot terminal(sh("stty raw -echo; printf ready; dd bs=1 count=8 2>/dev/null | cat -v"), small());
  ASSERT_SHOWS(terminal, "ready");
  terminal.type(key::up + key::down + key::enter + key::ctrl_c);
  EXPECT_SHOWS(terminal, "^[[A^[[B^M^C");
  ScreenRobot second(sh("stty raw -echo; printf ready; dd bs=1 count=1 2>/dev/null | cat -v"), small());
  ASSERT_SHOWS(second, "ready");
  second.type(key::escape);
  EXPECT_SHOWS(second, "^[");
}

TEST(ScreenRobot, SaysThatNobodyReadsWhatIsTyped) {
  ScreenRobot terminal(sh("stty raw; printf ready; exec sleep 100"), small());
  ASSERT_SHOWS(terminal, "ready");
  EXPECT_THAT([&] { terminal.type(std::string(1 << 20, 'x'), 0.3); },
              ThrowsMessage<std::runtime_error>(HasSubstr("does not read")));
}

TEST(ScreenRobot, AnswersWhereTheCursorIs) {
  ScreenRobot terminal(sh("stty raw -echo; printf '\\033[3;7H\\033[6n'; dd bs=1 count=6 2>/dev/null | cat -v"),
                       small());
  EXPECT_SHOWS(terminal, "^[[3;7R");
}

TEST(ScreenRobot, InterruptsWithCtrlC) {
  ScreenRobot terminal({"sh", "-c", "echo ready; exec sleep 100"}, small());
  ASSERT_SHOWS(terminal, "ready");
  terminal.type(key::ctrl_c);
  EXPECT_EQ(terminal.wait_for_exit(), 128 + SIGINT) << terminal;
}

TEST(ScreenRobot, InterruptsWithCtrlCThoughTheTestsIgnoreIt) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const auto before = std::signal(SIGINT, SIG_IGN);
  ScreenRobot terminal({"sh", "-c", "echo ready; exec sleep 100"}, small());
  std::signal(SIGINT, before);
  sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
  ASSERT_SHOWS(terminal, "ready");
  terminal.type(key::ctrl_c);
  EXPECT_EQ(terminal.wait_for_exit(), 128 + SIGINT) << terminal;
}

TEST(ScreenRobot, LetsAProgramHandleCtrlC) {
  ScreenRobot terminal(sh("trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done"), small());
  ASSERT_SHOWS(terminal, "ready");
  terminal.type(key::ctrl_c);
  EXPECT_EQ(terminal.wait_for_exit(), 7) << terminal;
  EXPECT_SHOWS(terminal, "caught");
}

TEST(ScreenRobot, TellsTheExitCodeAgainAndAgain) {
  ScreenRobot terminal(sh("exit 3"), small());
  EXPECT_EQ(terminal.wait_for_exit(), 3);
  EXPECT_EQ(terminal.wait_for_exit(0), 3);
}

TEST(ScreenRobot, SaysThatThereIsNoSuchProgram) {
  ScreenRobot terminal({"/no-such-program"}, small(2, 60));
  EXPECT_EQ(terminal.wait_for_exit(), 127);
  EXPECT_SHOWS(terminal, "no-such-program: No such file or directory");
}

TEST(ScreenRobot, StartsWithItsSize) {
  ScreenRobot terminal({"stty", "size"}, small(7, 33));
  EXPECT_SHOWS(terminal, "7 33");
  ScreenRobot usual({"stty", "size"});
  EXPECT_SHOWS(usual, "30 100");
}

TEST(ScreenRobot, TellsItsNewSizeWithASignal) {
  ScreenRobot terminal(sh("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done"), small());
  ASSERT_SHOWS(terminal, "ready");
  for (const auto& [rows, columns] : {std::pair(12, 40), std::pair(3, 15), std::pair(50, 200)}) {
    terminal.resize(rows, columns);
    EXPECT_SHOWS(terminal, std::to_string(rows) + " " + std::to_string(columns));
  }
}

TEST(ScreenRobot, DrawsInItsNewSize) {
  ScreenRobot terminal(sh("printf '\\033[?1049h'; read -r _; printf '\\033[2J\\033[7;30Hcorner'; read -r _"), small());
  terminal.resize(7, 40);
  terminal.type(key::enter);
  EXPECT_SHOWS(terminal, std::string(29, ' ') + "corner");
  EXPECT_THAT(terminal.screen(), EndsWith("\n" + std::string(29, ' ') + "corner"));
}

TEST(ScreenRobot, DrawsWhatCameBeforeAResizeInTheOldSize) {
  ScreenRobot terminal(sh("printf 'a row of twenty five letters'"), small(5, 20));
  siginfo_t ended = {};
  waitid(P_PID, static_cast<id_t>(terminal.pid()), &ended, WEXITED | WNOWAIT);  // it has written, and nobody has read
  terminal.resize(5, 40);
  EXPECT_THAT(terminal.screen(), StartsWith("a row of twenty five\n letters\n"));
}

TEST(ScreenRobot, StartsInAFolderWithACleanEnvironment) {
  ScreenRobot::Options options = small(20, 200);
  options.directory = "/usr";
  options.environment = {{"GREETING", "hello"}, {"TERM", "dumb"}};
  setenv("ATTN_LEAK", "leaked", 1);
  setenv("TZ", "UTC-3:30", 1);
  ScreenRobot terminal(sh("pwd; env | sort; tty >/dev/null && echo a terminal"), options);
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  unsetenv("ATTN_LEAK");
  EXPECT_THAT(terminal.screen(), AllOf(StartsWith("/usr\n"), HasSubstr("GREETING=hello\n"), HasSubstr("TERM=dumb\n"),
                                       HasSubstr("LANG=C.UTF-8\n"), HasSubstr("TZ=UTC-3:30\n"), HasSubstr("PATH="),
                                       HasSubstr("a terminal"), Not(HasSubstr("leaked"))));
}

TEST(ScreenRobot, IsNotHeldOpenByAnotherTerminalsProgram) {
  ScreenRobot first(sh("echo first"), small());
  ScreenRobot second(sh("ls -l /proc/$$/fd; echo listed"), small(20, 100));
  EXPECT_SHOWS(second, "listed");
  EXPECT_THAT(second.screen(), Not(HasSubstr("ptmx")));
}

TEST(ScreenRobot, KillsAProgramThatIgnoresEverything) {
  pid_t process = 0;
  {
    ScreenRobot terminal(sh("trap '' HUP INT TERM QUIT; echo ready; while :; do sleep 100; done"), small());
    ASSERT_SHOWS(terminal, "ready");
    terminal.type(key::ctrl_c);
    EXPECT_EQ(terminal.wait_for_exit(0.2), std::nullopt);
    process = terminal.pid();
    EXPECT_EQ(getsid(process), process);
  }
  EXPECT_EQ(kill(process, 0), -1);
}

TEST(ScreenRobot, KillsAProgramThatHasHardlyBegun) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) ScreenRobot({"sleep", "100"}, small());
  EXPECT_LT(seconds_since(start), 60);
}

TEST(ScreenRobot, KillsWhatItsProgramLeftBehind) {
  pid_t left = 0;
  {  // in a process group of its own (set -m), deaf to the hang-up, and its parent has ended
    ScreenRobot terminal(
        sh("set -m; (trap '' HUP; exec sleep 100) </dev/null >/dev/null 2>&1 & echo \"left $!\"; exit 0"), small());
    EXPECT_EQ(terminal.wait_for_exit(), 0);
    ASSERT_SHOWS(terminal, "left ");
    std::istringstream words(terminal.screen().substr(terminal.screen().find("left ") + 5));
    words >> left;
    ASSERT_GT(left, 0);
    EXPECT_EQ(kill(left, 0), 0);
  }
  EXPECT_TRUE(ends(left));
}

TEST(ScreenRobot, ClosesItsFiles) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  { ScreenRobot terminal(sh("true"), small()); }
  EXPECT_EQ(open_files(), before);
}

TEST(ScreenRobot, DrawsItsScreenInAFrame) {
  ScreenRobot terminal(sh("echo '我 x'; exit 4"), small(2, 6));
  terminal.wait_for_exit();
  std::ostringstream out;
  out << terminal;
  EXPECT_EQ(out.str(),
            "the terminal shows (the program ended with exit code 4):\n"
            "┌──────┐\n"
            "│我 x  │\n"
            "│      │\n"
            "└──────┘\n");
}

TEST(ScreenRobot, ShowsItsScreenWhenAnExpectationFails) {
  static ScreenRobot* terminal = nullptr;
  ScreenRobot the_terminal(sh("echo something else"), small(2));
  terminal = &the_terminal;
  the_terminal.wait_for_exit();
  EXPECT_NONFATAL_FAILURE(EXPECT_SHOWS(*terminal, "a welcome"), "it does not show: a welcome");
  EXPECT_NONFATAL_FAILURE(EXPECT_SHOWS(*terminal, "a welcome"), "│something else      │");
  EXPECT_FATAL_FAILURE(ASSERT_SHOWS(*terminal, "a welcome"), "│something else      │");
  EXPECT_NONFATAL_FAILURE(EXPECT_GONE(*terminal, "something"), "it still shows: something");
  EXPECT_NONFATAL_FAILURE(EXPECT_GONE(*terminal, "something"), "│something else      │");
}

TEST(ScreenRobot, RejectsWhatItCannotStart) {
  const auto rejects = [](const std::vector<std::string>& command, const ScreenRobot::Options& options,
                          const std::string& words) {
    EXPECT_THAT([&] { ScreenRobot(command, options); }, ThrowsMessage<std::invalid_argument>(HasSubstr(words)));
  };
  rejects({}, small(), "command is empty");
  rejects({"true"}, small(0, 80), "0 x 80, expected 1 x 1");
  rejects({"true"}, small(25, -1), "25 x -1, expected 1 x 1");
  ScreenRobot::Options nowhere = small();
  nowhere.directory = "/proc/no/such/folder";
  rejects({"true"}, nowhere, "directory is /proc/no/such/folder");
  ScreenRobot terminal({"true"}, small());
  EXPECT_THAT([&] { terminal.resize(0, 80); }, ThrowsMessage<std::invalid_argument>(HasSubstr("0 x 80, expected")));
}

}  // namespace
}  // namespace attn::tests
