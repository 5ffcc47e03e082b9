#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

struct VTerm;  // libvterm's, kept out of the tests

namespace attn::tests {

/// How many seconds we wait for what must come: long, since it costs something only where a test fails, and a busy
/// machine's disk has kept programs waiting for more than a minute.
constexpr double patience = 200;

/// What special keys send.
namespace key {
inline const std::string enter = "\r";
inline const std::string escape = "\x1b";
inline const std::string ctrl_c = "\x03";
inline const std::string up = "\x1b[A";
inline const std::string down = "\x1b[B";
}  // namespace key

/// A terminal's size, and where and how the program in it starts.
struct TerminalOptions {
  int rows = 30;
  int columns = 100;
  /// On top of a clean environment: our PATH, HOME, TMPDIR and TZ; TERM=xterm-256color, LANG=C.UTF-8.
  std::map<std::string, std::string> environment = {};
  std::filesystem::path directory = ".";
};

/// A program in a terminal: what it draws is seen as a person would see it, and keys are typed to it.
///
///     ScreenRobot terminal({"./learn", "watch"}, options);
///     ASSERT_SHOWS(terminal, "waiting");
///     terminal.type("q");
///     EXPECT_EQ(terminal.wait_for_exit(), 0) << terminal;
///
/// The program runs in a session of its own, with default signal handling whatever the tests themselves run under.
class ScreenRobot {
 public:
  /// Starts the program (looked up in PATH) with its arguments. When it cannot be run it ends with exit code 127, and
  /// the screen says why.
  explicit ScreenRobot(const std::vector<std::string>& command, const TerminalOptions& options = {});

  /// Kills every process of the session that still runs, whatever it ignores and whatever group it is in.
  ~ScreenRobot();

  ScreenRobot(const ScreenRobot&) = delete;
  ScreenRobot& operator=(const ScreenRobot&) = delete;

  /// Sends these bytes as if they were typed.
  /// @throws std::runtime_error when the program does not read them.
  void type(const std::string& keys);

  /// What one would see now: the rows, trailing spaces cut, joined by newlines. Never half an update, where the program
  /// tells where one begins and ends (with the escape sequences of "synchronized output"), unless it stops there.
  std::string screen();

  /// Every byte that was written to the terminal so far: to look for escape sequences.
  std::string transcript();

  /// Whether all of these are ASCII.
  bool is_ascii();

  /// Waits until a row of the screen shows the text. Stops early when the program has ended and can show no more.
  /// @return whether it shows it.
  bool wait_for(const std::string& text, double seconds = patience);

  /// Waits until no row of the screen shows the text.
  /// @return whether it is gone.
  bool wait_until_gone(const std::string& text, double seconds = patience);

  /// Changes the terminal's size; the program gets SIGWINCH.
  void resize(int rows, int columns);

  /// Waits until the program ends.
  /// @return its exit code, or 128 + n when signal n ended it; nothing when it still runs.
  std::optional<int> wait_for_exit(double seconds = patience);

  /// The program's process, which is also its session.
  pid_t pid() const { return pid_; }

  /// Whether any cell of the screen has a colour that is not the terminal's default, as text or as background.
  bool colored();

  /// The screen as it was last looked at: `EXPECT_EQ(...) << terminal`.
  friend std::ostream& operator<<(std::ostream& out, const ScreenRobot& terminal);

 private:
  bool read_some(std::chrono::milliseconds timeout);
  void read_all();
  bool is_half_drawn() const;
  bool wait_until(const std::function<bool()>& condition, double seconds);
  std::optional<int> exit_code() const;
  std::string text() const;
  bool screen_shows(const std::string& part) const { return text().find(part) != std::string::npos; }

  int rows_ = 0;
  int columns_ = 0;
  std::unique_ptr<VTerm, void (*)(VTerm*)> emulator_;
  std::string transcript_;
  pid_t pid_ = -1;
  int master_ = -1;
  bool closed_ = false;  // no process has the terminal open any more
};

/// Types keys, and expects after each what it brings to the screen: `type_and_see(terminal, {{"h", "hint 1 of 3"}})`.
void type_and_see(ScreenRobot& terminal, const std::vector<std::pair<std::string, std::string>>& steps);

/// For EXPECT_SHOWS: waits for the text; when it does not come, the message shows the whole screen.
::testing::AssertionResult shows(const char*, const char*, ScreenRobot& terminal, const std::string& text);

/// For EXPECT_GONE: waits until the text is gone; when it stays, the message shows the whole screen.
::testing::AssertionResult gone(const char*, const char*, ScreenRobot& terminal, const std::string& text);

}  // namespace attn::tests

/// The terminal shows the text, now or after a while. ASSERT_SHOWS ends the test when it does not.
#define EXPECT_SHOWS(terminal, text) EXPECT_PRED_FORMAT2(::attn::tests::shows, terminal, text)
#define ASSERT_SHOWS(terminal, text) ASSERT_PRED_FORMAT2(::attn::tests::shows, terminal, text)

/// The terminal does not show the text, or not any more after a while.
#define EXPECT_GONE(terminal, text) EXPECT_PRED_FORMAT2(::attn::tests::gone, terminal, text)
#define ASSERT_GONE(terminal, text) ASSERT_PRED_FORMAT2(::attn::tests::gone, terminal, text)
