#pragma once

#include <string>

/// What the terminal that standard output goes to can show.
namespace attn {

/// A variable of the environment; empty when it is not set.
std::string environment(const std::string& name);

/// The terminal's size; 0 where it is not known, or where there is no terminal.
struct TerminalSize {
  int rows = 0;
  int columns = 0;
};
TerminalSize terminal_size();

/// How text should look there.
struct TextStyle {
  bool plain = false;    ///< no colour, no links, no cursor movement
  bool colours = false;  ///< besides bold, dim and reversed text, which are none
  bool words = false;    ///< a word where others see a symbol
  bool ascii = false;
  bool light = false;  ///< the background, where the terminal says so: without that, dark
  int columns = 0;     ///< of the terminal; 0 where there is none, and nothing is wrapped

  /// What was asked for: plain and in words with --plain, plain with TERM=dumb and where standard output is not a
  /// terminal; no colours with NO_COLOR; ASCII in a locale that is set and is not UTF-8.
  static TextStyle of_output(bool asked_plain = false);

  /// A text spelled and wrapped as this style wants it.
  std::string operator()(const std::string& text) const;
  std::string spelled(const std::string& text) const;

  /// The width for tables, also where there is no terminal.
  int table_columns() const { return columns > 0 ? columns : 100; }
};

}  // namespace attn
