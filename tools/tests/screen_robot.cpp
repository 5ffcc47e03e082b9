#include "screen_robot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace attn::tests {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

winsize window_of(int rows, int columns) {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

/// The command in a clean environment. A test that runs in the background, or under nohup, ignores signals, and a
/// program inherits that: without --default-signal Ctrl-C would do nothing.
std::vector<std::string> in_environment(const std::vector<std::string>& command, const TerminalOptions& options) {
  std::map<std::string, std::string> environment = {{"TERM", "xterm-256color"}, {"LANG", "C.UTF-8"}};
  for (const char* name : {"PATH", "HOME", "TMPDIR", "TZ"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  for (const auto& [name, value] : options.environment) environment[name] = value;
  std::vector<std::string> words = {"env", "-i", "--default-signal", "-C", options.directory.string()};
  for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

/// Kills all processes of a session, also those that are forked meanwhile.
void kill_session(pid_t session) {
  std::set<pid_t> killed;
  bool found = true;
  while (found) {
    found = false;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t process = std::atoi(entry.path().filename().c_str());
      if (process <= 0 || getsid(process) != session || !killed.insert(process).second) continue;
      kill(process, SIGKILL);
      found = true;
    }
  }
}

steady_clock::time_point after(double seconds) {
  return steady_clock::now() +
         std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

ScreenRobot::ScreenRobot(const std::vector<std::string>& command, const TerminalOptions& options)
    : rows_(options.rows), columns_(options.columns), emulator_(vterm_new(rows_, columns_), vterm_free) {
  vterm_set_utf8(emulator_.get(), 1);
  VTermScreen* screen = vterm_obtain_screen(emulator_.get());
  vterm_screen_enable_altscreen(screen, 1);
  vterm_screen_reset(screen, 1);

  std::vector<std::string> words = in_environment(command, options);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const winsize size = window_of(rows_, columns_);
  pid_ = forkpty(&master_, nullptr, nullptr, &size);
  if (pid_ < 0) fail("forkpty");
  if (pid_ == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  fcntl(master_, F_SETFD, FD_CLOEXEC);  // another terminal's program must not hold this one open
  fcntl(master_, F_SETFL, O_NONBLOCK);
}

ScreenRobot::~ScreenRobot() {
  kill(pid_, SIGKILL);  // it may not have come to begin its session yet
  kill_session(pid_);
  waitpid(pid_, nullptr, 0);
  close(master_);
}

/// Waits for output at most that long, and takes in a piece of it.
bool ScreenRobot::read_some(milliseconds timeout) {
  if (closed_) {
    std::this_thread::sleep_for(timeout);
    return false;
  }
  pollfd readable = {master_, POLLIN, 0};
  if (poll(&readable, 1, static_cast<int>(timeout.count())) <= 0) return false;
  std::array<char, 1 << 14> bytes;
  const ssize_t count = read(master_, bytes.data(), bytes.size());
  if (count <= 0) {
    closed_ = count == 0 || errno == EIO;
    return false;
  }
  transcript_.append(bytes.data(), static_cast<std::size_t>(count));
  vterm_input_write(emulator_.get(), bytes.data(), static_cast<std::size_t>(count));
  return true;
}

/// Whether an update has begun and not ended.
bool ScreenRobot::is_half_drawn() const {
  const auto begun = transcript_.rfind("\x1b[?2026h");
  return begun != std::string::npos && transcript_.find("\x1b[?2026l", begun) == std::string::npos;
}

/// Takes in what was written until now, and the rest of an update. Not without end: a program may write faster than we
/// read, or stop in the middle.
void ScreenRobot::read_all() {
  for (int pieces = 0; pieces < 256 && read_some(milliseconds(0)); ++pieces) {
  }
  for (int pauses = 0; pauses < 50 && !closed_ && is_half_drawn(); ++pauses) read_some(milliseconds(20));
}

void ScreenRobot::type(const std::string& keys) {
  std::string left = keys;
  const auto is_written = [&] {
    const ssize_t count = write(master_, left.data(), left.size());
    if (count > 0) left.erase(0, static_cast<std::size_t>(count));
    return left.empty();
  };
  if (!wait_until(is_written, patience)) throw std::runtime_error("the program does not read what is typed");
}

/// Takes in output until the condition holds.
bool ScreenRobot::wait_until(const std::function<bool()>& condition, double seconds) {
  const auto deadline = after(seconds);
  for (;;) {
    read_all();
    if (condition()) return true;
    if (steady_clock::now() >= deadline) return false;
    read_some(milliseconds(20));  // short: a program can end without a word
  }
}

bool ScreenRobot::wait_for(const std::string& text, double seconds) {
  wait_until([&] { return screen_shows(text) || closed_; }, seconds);
  return screen_shows(text);
}

bool ScreenRobot::wait_until_gone(const std::string& text, double seconds) {
  wait_until([&] { return !screen_shows(text) || closed_; }, seconds);
  return !screen_shows(text);
}

/// The exit code, when the program has ended. It is left a zombie, so that its number belongs to nobody else as long as
/// the destructor may kill that session.
std::optional<int> ScreenRobot::exit_code() const {
  siginfo_t ended = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return {};
  return ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
}

std::optional<int> ScreenRobot::wait_for_exit(double seconds) {
  if (!wait_until([this] { return exit_code().has_value(); }, seconds)) return {};
  read_all();  // its last words
  return exit_code();
}

void ScreenRobot::resize(int rows, int columns) {
  const winsize size = window_of(rows, columns);
  read_all();  // was drawn for the old size
  rows_ = rows;
  columns_ = columns;
  vterm_set_size(emulator_.get(), rows, columns);
  if (ioctl(master_, TIOCSWINSZ, &size) != 0) fail("TIOCSWINSZ");
}

/// What the screen shows, as far as it was read: rows without trailing spaces.
std::string ScreenRobot::text() const {
  std::string text(static_cast<std::size_t>(rows_ * columns_ * 4 * VTERM_MAX_CHARS_PER_CELL), '\0');
  text.resize(
      vterm_screen_get_text(vterm_obtain_screen(emulator_.get()), text.data(), text.size(), {0, rows_, 0, columns_}));
  for (auto end = text.find(" \n"); end != std::string::npos; end = text.find(" \n", end > 0 ? end - 1 : 0)) {
    text.erase(end, 1);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string ScreenRobot::screen() {
  read_all();
  return text();
}

std::string ScreenRobot::transcript() {
  read_all();
  return transcript_;
}

bool ScreenRobot::is_ascii() {
  const std::string all = transcript();
  return std::all_of(all.begin(), all.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool ScreenRobot::colored() {
  read_all();
  VTermScreen* screen = vterm_obtain_screen(emulator_.get());
  for (int i = 0; i < rows_ * columns_; ++i) {
    VTermScreenCell cell;
    vterm_screen_get_cell(screen, {i / columns_, i % columns_}, &cell);
    if (!VTERM_COLOR_IS_DEFAULT_FG(&cell.fg) || !VTERM_COLOR_IS_DEFAULT_BG(&cell.bg)) return true;
  }
  return false;
}

std::ostream& operator<<(std::ostream& out, const ScreenRobot& terminal) {
  const auto code = terminal.exit_code();
  const std::string line(static_cast<std::size_t>(terminal.columns_), '-');
  return out << "the terminal shows (the program "
             << (code ? "ended with exit code " + std::to_string(*code) : "still runs") << "):\n"
             << line << "\n"
             << terminal.text() << "\n"
             << line << "\n";
}

void type_and_see(ScreenRobot& terminal, const std::vector<std::pair<std::string, std::string>>& steps) {
  for (const auto& [keys, text] : steps) {
    terminal.type(keys);
    ASSERT_SHOWS(terminal, text) << "after " << ::testing::PrintToString(keys);
  }
}

::testing::AssertionResult shows(const char*, const char*, ScreenRobot& terminal, const std::string& text) {
  if (terminal.wait_for(text, patience)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it does not show: " << text << "\n" << terminal;
}

::testing::AssertionResult gone(const char*, const char*, ScreenRobot& terminal, const std::string& text) {
  if (terminal.wait_until_gone(text, patience)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it still shows: " << text << "\n" << terminal;
}

}  // namespace attn::tests
