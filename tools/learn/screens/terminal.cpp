#include "learn/screens/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include "lesson/text.hpp"
#include "run/process.hpp"

namespace attn::learn {

namespace {

// Escape sequences that every terminal of the last forty years knows (ECMA-48).
constexpr const char* home = "\x1b[H";
constexpr const char* clear_screen = "\x1b[2J";
constexpr const char* clear_line = "\x1b[K";
constexpr const char* hide_cursor = "\x1b[?25l";
constexpr const char* show_cursor = "\x1b[?25h";

// Between these, a terminal that knows them ("synchronized output") shows nothing half drawn; others ignore them.
constexpr const char* begin_update = "\x1b[?2026h";
constexpr const char* end_update = "\x1b[?2026l";

constexpr int ctrl_z = 26;
constexpr int rest_of_a_key_ms = 25;  // an arrow is Esc and more; over a slow line the rest comes later

termios usual_mode;
volatile std::sig_atomic_t taken = 0;
volatile std::sig_atomic_t to_redraw = 0;
volatile std::sig_atomic_t to_suspend = 0;
volatile std::sig_atomic_t continued = 0;
bool cursor_hidden = false;

/// Gives the terminal back before the program dies of a signal.
void die(int signal) {
  if (taken != 0) {
    tcsetattr(STDIN_FILENO, TCSANOW, &usual_mode);
    if (cursor_hidden) {
      (void)!::write(STDOUT_FILENO, show_cursor, std::strlen(show_cursor));
      (void)!::write(STDOUT_FILENO, "\n", 1);
    }
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void pass_over(int) {}
void note_redraw(int) { to_redraw = 1; }
void note_suspend(int) { to_suspend = 1; }
void note_continued(int) { to_redraw = continued = 1; }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);  // without SA_RESTART: poll() returns
}

/// Whether the last key is Esc, or the beginning of an arrow or another key whose rest may still come.
bool ends_within_a_key(const std::string& bytes) {
  const auto escape = bytes.rfind('\x1b');
  if (escape == std::string::npos) return false;
  const std::string rest = bytes.substr(escape + 1);
  return rest.empty() || rest == "O" ||
         (rest[0] == '[' && rest.find_first_not_of("0123456789;", 1) == std::string::npos);
}

bool is_digit(Key key) { return key >= '0' && key <= '9'; }
bool is_letter(Key key) { return key > ' ' && key < 0x7f && !is_digit(key); }

}  // namespace

Terminal::Terminal(Style style) : style_(std::move(style)) {
  handle(SIGWINCH, note_redraw);
  handle(SIGCONT, note_continued);
  handle(SIGTSTP, note_suspend);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) handle(signal, die);
  take();
}

Terminal::~Terminal() { give_back(); }

bool Terminal::available() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

void Terminal::measure() {
  const TerminalSize size = terminal_size();
  if (size.rows > 0) rows_ = size.rows;
  if (size.columns > 0) style_.columns = size.columns;
}

void Terminal::set_mode() const {
  termios mode = usual_mode;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);  // keys as they come, Ctrl-C among them
  mode.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &mode);
}

void Terminal::take() {
  measure();
  tcgetattr(STDIN_FILENO, &usual_mode);
  set_mode();
  cursor_hidden = !style_.plain;
  taken = 1;
  last_.clear();
  if (!style_.plain) write(std::string(hide_cursor) + home + clear_screen);
}

void Terminal::give_back() {
  if (taken == 0) return;
  taken = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &usual_mode);
  if (!style_.plain) write(std::string(show_cursor) + "\n");
}

void Terminal::write(const std::string& text) const {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return;
    written += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
}

Key Terminal::wait(std::chrono::milliseconds most, const std::vector<int>& fds) {
  if (!pending_.empty()) return next_key();
  std::vector<pollfd> waiting = {{STDIN_FILENO, POLLIN, 0}};
  for (const int fd : fds) waiting.push_back({fd, POLLIN, 0});
  const int ready = poll(waiting.data(), waiting.size(), static_cast<int>(most.count()));
  if (to_suspend != 0) return keys::suspend;
  if (to_redraw != 0) {
    if (continued != 0) set_mode();  // a shell may have had the terminal meanwhile
    to_redraw = continued = 0;
    measure();
    last_.clear();
    return keys::redraw;
  }
  if (ready <= 0 || waiting[0].revents == 0) return keys::none;
  if (!read_keys()) return keys::closed;
  return pending_.empty() ? keys::none : next_key();
}

/// @return false when there will be no more keys
bool Terminal::read_keys() {
  pollfd more{STDIN_FILENO, POLLIN, 0};
  do {
    char bytes[64];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return !pending_.empty();
    pending_.append(bytes, static_cast<std::size_t>(n));
  } while (ends_within_a_key(pending_) && poll(&more, 1, rest_of_a_key_ms) > 0);
  return true;
}

Key Terminal::next_key() {
  static const std::pair<const char*, Key> sequences[] = {
      {"\x1b[A", keys::up},       {"\x1bOA", keys::up},         {"\x1b[B", keys::down}, {"\x1bOB", keys::down},
      {"\x1b[5~", keys::page_up}, {"\x1b[6~", keys::page_down}, {"\x1b[H", keys::home}, {"\x1bOH", keys::home},
      {"\x1b[1~", keys::home},    {"\x1b[7~", keys::home},      {"\x1b[F", keys::end},  {"\x1bOF", keys::end},
      {"\x1b[4~", keys::end},     {"\x1b[8~", keys::end}};
  for (const auto& [sequence, known] : sequences) {
    if (!begins_with(pending_, sequence)) continue;
    pending_.erase(0, std::strlen(sequence));
    return known;
  }
  const auto first = static_cast<unsigned char>(pending_.front());
  const bool other_sequence = begins_with(pending_, "\x1b[") || begins_with(pending_, "\x1bO");
  if (other_sequence || first >= 0x80) {  // some other key: not one of ours
    pending_.clear();
    return keys::none;
  }
  pending_.erase(0, 1);
  if (first == ctrl_z) return keys::suspend;
  if (first == '\n') return keys::enter;
  return static_cast<Key>(first >= 'A' && first <= 'Z' ? first - 'A' + 'a' : first);
}

void Terminal::begin_word_with(Key key) {
  if (is_letter(key)) in_word_until_ = std::chrono::steady_clock::now() + pause_in_word;
}

bool Terminal::is_in_word(Key key) {
  const bool within = std::chrono::steady_clock::now() < in_word_until_;
  if (is_digit(key)) return within;
  if (!is_letter(key)) {
    in_word_until_ = {};
    return within && key == keys::enter;
  }
  constexpr std::size_t more = 2;  // letters that came with this one: faster than anybody presses keys
  const bool begins = pending_.size() >= more && is_letter(pending_[0]) && is_letter(pending_[1]) &&
                      pending_.find_first_not_of(static_cast<char>(key)) != std::string::npos;
  if (within || begins) begin_word_with(key);
  return within || begins;
}

void Terminal::suspend() {
  lend([] {
    handle(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP);  // as the terminal would: the whole job, and nothing where no shell is there to go on with it
    handle(SIGTSTP, note_suspend);
    to_suspend = 0;
  });
}

bool Terminal::scroll(Key key) {
  switch (key) {
    case keys::up: --first_; break;
    case keys::down: ++first_; break;
    case keys::page_up: first_ -= page_; break;
    case keys::page_down:
    case ' ': first_ += page_; break;
    case keys::home: first_ = 0; break;
    case keys::end: first_ = std::numeric_limits<int>::max(); break;  // layout() knows how far
    default: return false;
  }
  return true;
}

void Terminal::keep_on_screen(int line) { first_ = std::clamp(first_, std::max(0, line - page_ + 1), line); }

/// The rows of a page; on a screen, as many as it has, with the body from where it was scrolled to.
std::vector<Row> Terminal::layout(const Page& page) {
  auto top = style_.rows_of(page.header);
  auto body = style_.rows_of(page.body);
  auto bottom = style_.rows_of(page.footer);
  Lines status = page.status;
  const auto all_rows = [&] { return top.size() + body.size() + 1 + style_.rows_of(status).size() + bottom.size(); };
  while (!style_.plain && status.size() > 1 && all_rows() > static_cast<std::size_t>(rows_)) status.pop_back();
  status.insert(status.begin(), "");
  const auto above_footer = style_.rows_of(status);
  bottom.insert(bottom.begin(), above_footer.begin(), above_footer.end());
  if (style_.plain) {
    first_ = 0;
  } else {
    constexpr std::size_t least = 3;
    const auto rows = static_cast<std::size_t>(std::max(rows_, 4));
    while (bottom.size() > 1 && top.size() + bottom.size() + least > rows) bottom.erase(bottom.begin());  // keys stay
    while (top.size() > 1 && top.size() + bottom.size() + least > rows) top.pop_back();
    const auto space = std::max<std::size_t>(1, rows - std::min(rows, top.size() + bottom.size()));
    page_ = static_cast<int>(std::max<std::size_t>(2, space)) - 1;
    first_ = std::clamp(first_, 0, static_cast<int>(std::max(body.size(), space) - space));
    body.erase(body.begin(), body.begin() + first_);
    if (body.size() > space) {
      const auto hidden = static_cast<int>(body.size() - space + 1);
      body.resize(space - 1);
      body.push_back(
          {{wrapped("... " + counted(hidden, "more line") + " (arrow down)", columns()).front(), Role::label, ""}});
    }
    body.resize(space);
  }
  top.insert(top.end(), body.begin(), body.end());
  top.insert(top.end(), bottom.begin(), bottom.end());
  return top;
}

void Terminal::show(const Page& page) {
  std::string text;
  for (const auto& row : layout(page)) {
    if (style_.plain) {
      text += style_.drawn(row) + "\n";
    } else {  // cleared first: after a line as wide as the screen, that would take its last character
      text += (text.empty() ? "" : "\r\n") + std::string(clear_line) + style_.drawn(row);
    }
  }
  if (text != last_) write(style_.plain ? text + "\n" : std::string(begin_update) + home + text + end_update);
  last_ = text;
}

int Terminal::lend(const std::vector<std::string>& command, const std::string& directory) {
  int exit_code = 0;
  lend([&] {
    handle(SIGINT, pass_over);  // Ctrl-C in there is not for us; a program that is started has the usual handlers
    handle(SIGQUIT, pass_over);
    handle(SIGTSTP, SIG_DFL);  // but Ctrl-Z is: the shell waits for us
    exit_code = judge::run(command, directory);
    handle(SIGINT, die);
    handle(SIGQUIT, die);
    handle(SIGTSTP, note_suspend);
  });
  return exit_code;
}

void Terminal::lend(const std::function<void()>& work) {
  struct Lent {
    explicit Lent(Terminal& lender) : terminal(lender) { terminal.give_back(); }
    ~Lent() { terminal.take(); }
    Terminal& terminal;
  };
  const Lent lent(*this);
  work();
}

}  // namespace attn::learn
