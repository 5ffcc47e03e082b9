#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "learn/screens/style.hpp"

/// All that has to do with terminals: keys, size, drawing. Nothing else in the tool writes escape sequences, but for the
/// colours and links of style.cpp.
namespace attn::learn {

/// A key that was pressed: a printable one is its own letter, in lower case.
using Key = int;

namespace keys {
constexpr Key none = 0;
constexpr Key ctrl_c = 3;
constexpr Key enter = '\r';
constexpr Key escape = 27;
constexpr Key up = 1001;
constexpr Key down = 1002;
constexpr Key page_up = 1003;
constexpr Key page_down = 1004;
constexpr Key home = 1005;
constexpr Key end = 1006;
constexpr Key redraw = 1007;   ///< no key, but the screen has to be drawn again
constexpr Key closed = 1008;   ///< there will be no more keys: the terminal is gone
constexpr Key suspend = 1009;  ///< Ctrl-Z: stop what runs, then call Terminal::suspend()
}  // namespace keys

/// What a screen shows: the header, the status and the footer stay where they are, the body scrolls between them. Of the
/// status, a body that needs the room leaves no more than the first line.
struct Page {
  Lines header;
  Lines body;
  Lines status;
  Lines footer;
};

/// A terminal that gives single keys and is drawn on as a whole. Its destructor, and the way out through any signal
/// that ends the program, leave it as it was.
class Terminal {
 public:
  explicit Terminal(Style style);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Whether keyboard and screen are a terminal at all.
  static bool available();

  const Style& style() const { return style_; }
  int columns() const { return style_.columns; }

  /// Waits until a key is pressed, one of `fds` is readable, or the time is over.
  Key wait(std::chrono::milliseconds most, const std::vector<int>& fds = {});

  /// Whether a key belongs to a word, which is typed or pasted here by mistake and not meant as keys: to "./learn". A
  /// digit neither begins nor ends one.
  bool is_in_word(Key key);

  /// What is typed up to the next pause is a word, if this is a letter: one that is no key.
  void begin_word_with(Key key);

  /// Shows a page. Of a body that is too long, what was scrolled to, with a line that counts what follows. In plain
  /// style the page is written below the one before, unless nothing of it changed.
  void show(const Page& page);

  /// Scrolls the body of the next page. @return false where the key does not scroll
  bool scroll(Key key);
  void scroll_to(int row) { first_ = row; }

  /// Scrolls until this line of the body is seen.
  void keep_on_screen(int line);

  /// Stops this program, as Ctrl-Z does to any other; returns when it is continued.
  void suspend();

  /// Runs a program that wants the terminal for itself, such as an editor. @return its exit code
  int lend(const std::vector<std::string>& command, const std::string& directory);

  /// Gives the terminal back while this runs, which may have a Terminal of its own.
  void lend(const std::function<void()>& work);

 private:
  bool read_keys();
  Key next_key();
  std::vector<Row> layout(const Page& page);
  void take();
  void set_mode() const;
  void give_back();
  void measure();
  void write(const std::string& text) const;

  static constexpr std::chrono::milliseconds pause_in_word{300};

  Style style_;
  int rows_ = 24;
  int first_ = 0;        ///< the line that the body begins with
  int page_ = 1;         ///< how many lines of the body there was room for
  std::string pending_;  ///< bytes of keys that were read and not returned yet
  std::string last_;     ///< what was shown last
  std::chrono::steady_clock::time_point in_word_until_;
};

}  // namespace attn::learn
