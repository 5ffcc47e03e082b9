// The terminal that other tests look through. A fault that would make those fail needs no test here: these are about the
// faults that would let them pass, or leave something running.
#include "screen_robot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

namespace attn::tests {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto hold = "; read -r _";  // a script that goes on until Enter

TerminalOptions sized(int rows = 5, int columns = 20) { return {rows, columns}; }

std::vector<std::string> sh(const std::string& script) { return {"sh", "-c", script}; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Waits until the process is gone; ours are adopted, and buried, by another process.
bool ends(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (kill(process, 0) != 0 && errno == ESRCH) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(ScreenRobot, ShowsWhatAPersonWouldSee) {
  const struct {
    std::string what, written, shown;
  } cases[] = {
      {"trailing spaces are cut", "one  \\n  two\\n", "one\n  two\n"},
      {"the cursor moves", "wrong\\033[3;5Hthere\\033[1;1Hright", "right\n\n    there"},
      {"what was cleared is gone", "old\\033[2J\\033[Hnew", "new\n\n"},
      {"after a full-screen program", "before\\033[?1049h\\033[Hfull\\033[?1049l", "before\n\n"},
      {"it scrolls when it is full", "1\\n2\\n3\\n4", "2\n3\n4"},
      {"wide characters", "我喜欢 x\\033[2;5H你 ✗ √E", "我喜欢 x\n    你 ✗ √E\n"},
      {"a wide character takes two columns", "我喜欢\\033[1;5Hx", "我喜x\n\n"},
  };
  for (const auto& [what, written, shown] : cases) {
    ScreenRobot terminal(sh("printf '" + written + "'"), sized(3));
    EXPECT_EQ(terminal.wait_for_exit(), 0) << what;
    EXPECT_EQ(terminal.screen(), shown) << what;
  }
}

TEST(ScreenRobot, SeesColorOfTextAndOfBackground) {
  const auto colored = [](const std::string& written) {
    ScreenRobot terminal(sh("printf '" + written + "'"), sized());
    terminal.wait_for_exit();
    return terminal.colored();
  };
  for (const std::string code : {"31", "44", "38;5;208", "38;2;1;2;3"}) {
    EXPECT_TRUE(colored("plain \\033[" + code + "mcolor\\033[0m")) << code;
  }
  EXPECT_FALSE(colored("\\033[31mred\\033[0m\\r\\033[K\\033[1mbold\\033[7mreverse"));
}

TEST(ScreenRobot, ShowsAnUpdateWhenItIsWholeOrStops) {
  ScreenRobot whole(sh("printf '\\033[?2026hone\\r\\n'; sleep 0.2; printf 'two\\033[?2026l'" + std::string(hold)),
                    sized(2));
  ASSERT_SHOWS(whole, "one");
  EXPECT_EQ(whole.screen(), "one\ntwo");
  ScreenRobot stopped(sh("printf '\\033[?2026hone'" + std::string(hold)), sized());
  EXPECT_SHOWS(stopped, "one");
}

TEST(ScreenRobot, GivesUpInTime) {
  ScreenRobot terminal(sh("echo stays" + std::string(hold)), sized());
  ASSERT_SHOWS(terminal, "stays");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(terminal.wait_for("never", 0.2));
  EXPECT_FALSE(terminal.wait_until_gone("stays", 0.2));
  EXPECT_EQ(terminal.wait_for_exit(0.2), std::nullopt);
  EXPECT_GE(seconds_since(start), 0.6);
  terminal.type(key::enter);
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  EXPECT_FALSE(terminal.wait_for("never")) << "it has ended, so it need not be waited for";
  EXPECT_LT(seconds_since(start), 30);
}

TEST(ScreenRobot, ShowsItsScreenWhenAnExpectationFails) {
  static ScreenRobot* terminal = nullptr;
  ScreenRobot the_terminal(sh("echo something else"), sized(2));
  terminal = &the_terminal;
  the_terminal.wait_for_exit();
  EXPECT_NONFATAL_FAILURE(EXPECT_SHOWS(*terminal, "a welcome"), "it does not show: a welcome");
  EXPECT_FATAL_FAILURE(ASSERT_SHOWS(*terminal, "a welcome"), "\nsomething else\n");
  EXPECT_NONFATAL_FAILURE(EXPECT_GONE(*terminal, "something"), "it still shows: something");
}

TEST(ScreenRobot, ReadsAllThatWasWrittenBeforeTheEnd) {
  ScreenRobot terminal(sh("seq 1 20000"), sized());
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  EXPECT_THAT(terminal.transcript(), AllOf(StartsWith("1\r\n2\r\n"), EndsWith("19999\r\n20000\r\n")));
}

TEST(ScreenRobot, StartsInAFolderWithACleanEnvironment) {
  const TerminalOptions options = {20, 200, {{"GREETING", "hello"}, {"TERM", "dumb"}}, "/usr"};
  setenv("ATTN_LEAK", "leaked", 1);
  ScreenRobot terminal(sh("pwd; env | sort; tty >/dev/null && echo a terminal"), options);
  EXPECT_EQ(terminal.wait_for_exit(), 0);
  unsetenv("ATTN_LEAK");
  EXPECT_THAT(terminal.screen(), AllOf(StartsWith("/usr\n"), HasSubstr("GREETING=hello\n"), HasSubstr("TERM=dumb\n"),
                                       HasSubstr("LANG=C.UTF-8\n"), HasSubstr("a terminal"), Not(HasSubstr("leaked"))));
}

TEST(ScreenRobot, KillsWhatItsProgramLeftBehind) {
  pid_t left = 0;
  {  // in a process group of its own (set -m), ignoring all but SIGKILL, and its parent has ended
    ScreenRobot terminal(sh("set -m; (trap '' HUP INT TERM QUIT; exec sleep 100) </dev/null >/dev/null 2>&1 & "
                            "echo \"left $!\"; exit 0"),
                         sized());
    EXPECT_EQ(terminal.wait_for_exit(), 0);
    ASSERT_SHOWS(terminal, "left ");
    std::istringstream words(terminal.screen().substr(terminal.screen().find("left ") + 5));
    words >> left;
    ASSERT_GT(left, 0);
    EXPECT_EQ(kill(left, 0), 0);
  }
  EXPECT_TRUE(ends(left));
}

}  // namespace
}  // namespace attn::tests
