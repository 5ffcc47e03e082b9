#include "screen_robot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace attn::tests {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::uint32_t behind_wide_character = 0xFFFFFFFF;  // the second cell of a wide one

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

winsize window_of(int rows, int columns) {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

std::vector<std::string> environment_of(const ScreenRobot::Options& options) {
  std::map<std::string, std::string> environment = {{"TERM", "xterm-256color"}, {"LANG", "C.UTF-8"}};
  for (const char* name : {"PATH", "HOME", "TMPDIR", "TZ"}) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  for (const auto& [name, value] : options.environment) environment[name] = value;
  std::vector<std::string> assignments;
  for (const auto& [name, value] : environment) assignments.push_back(name + "=" + value);
  return assignments;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child: becomes the program. A test that runs in the background, or under nohup, ignores signals, and a
/// program inherits that: Ctrl-C would do nothing.
[[noreturn]] void become(char** arguments, char** environment, const fs::path& directory) {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  environ = environment;
  if (chdir(directory.c_str()) == 0) execvp(arguments[0], arguments);
  std::perror(arguments[0]);
  _exit(127);
}

/// The processes of a session that are not dead yet.
std::vector<pid_t> alive_in_session(pid_t session) {
  std::vector<pid_t> alive;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat, '\0');
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));  // after "pid (its name)"
    char state = 0;
    pid_t parent = 0, group = 0, its_session = 0;
    if (!(fields >> state >> parent >> group >> its_session)) continue;  // gone in between
    if (its_session == session && state != 'Z' && state != 'X') alive.push_back(std::stoi(name));
  }
  return alive;
}

void kill_session(pid_t session) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(5);
  while (steady_clock::now() < deadline) {  // again, for what was forked meanwhile
    const auto alive = alive_in_session(session);
    if (alive.empty()) return;
    for (const pid_t process : alive) kill(process, SIGKILL);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

steady_clock::time_point after(double seconds) {
  return steady_clock::now() +
         std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

ScreenRobot::ScreenRobot(std::vector<std::string> command) : ScreenRobot(std::move(command), Options()) {}

ScreenRobot::ScreenRobot(std::vector<std::string> command, Options options)
    : rows_(options.rows), columns_(options.columns), emulator_(nullptr, vterm_free) {
  const winsize size = window_of(rows_, columns_);
  const fs::path directory = options.directory.empty() ? "." : options.directory;
  std::vector<std::string> assignments = environment_of(options);
  const std::vector<char*> environment = pointers_to(assignments);
  const std::vector<char*> arguments = pointers_to(command);

  emulator_.reset(vterm_new(rows_, columns_));
  vterm_set_utf8(emulator_.get(), 1);
  VTermScreen* screen = vterm_obtain_screen(emulator_.get());
  vterm_screen_enable_altscreen(screen, 1);
  vterm_screen_reset(screen, 1);

  pid_ = forkpty(&master_, nullptr, nullptr, &size);
  if (pid_ < 0) fail("forkpty");
  if (pid_ == 0) become(const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()), directory);
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

/// The row as it stands, as wide as the terminal.
std::string ScreenRobot::row(int row) const {
  VTermScreen* screen = vterm_obtain_screen(emulator_.get());
  std::string text;
  for (int column = 0; column < columns_; ++column) {
    VTermScreenCell cell;
    vterm_screen_get_cell(screen, {row, column}, &cell);
    if (cell.chars[0] == behind_wide_character) continue;
    std::array<char, 4 * VTERM_MAX_CHARS_PER_CELL> bytes;
    const std::size_t size =
        vterm_screen_get_text(screen, bytes.data(), bytes.size(), {row, row + 1, column, column + 1});
    text += size == 0 ? " " : std::string(bytes.data(), size);
  }
  return text;
}

bool ScreenRobot::screen_shows(const std::string& text) const {
  for (int i = 0; i < rows_; ++i) {
    if (row(i).find(text) != std::string::npos) return true;
  }
  return false;
}

std::string ScreenRobot::screen() {
  read_all();
  std::string text;
  for (int i = 0; i < rows_; ++i) {
    const std::string whole = row(i);
    text += whole.substr(0, whole.find_last_not_of(' ') + 1) + (i + 1 < rows_ ? "\n" : "");
  }
  return text;
}

std::string ScreenRobot::transcript() {
  read_all();
  return transcript_;
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
  std::string line;
  for (int i = 0; i < terminal.columns_; ++i) line += "─";
  const auto code = terminal.exit_code();
  out << "the terminal shows (the program " << (code ? "ended with exit code " + std::to_string(*code) : "still runs")
      << "):\n┌" << line << "┐\n";
  for (int i = 0; i < terminal.rows_; ++i) out << "│" << terminal.row(i) << "│\n";
  return out << "└" << line << "┘\n";
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
