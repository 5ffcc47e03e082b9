#pragma once

#include <filesystem>
#include <string>

#include "learn/screens/paint.hpp"

namespace attn::learn {

/// How output should look.
struct Style {
  bool plain = false;    ///< no colour, no links, no cursor movement
  bool colours = false;  ///< besides bold, dim and reversed text, which are none
  bool words = false;    ///< a word where others see a symbol
  bool ascii = false;
  int columns = 0;    ///< of the terminal; 0 where there is none, and nothing is wrapped
  std::string links;  ///< what the address of a file of the course begins with; empty: no links

  /// What was asked for: plain and in words with --plain, plain with TERM=dumb and where standard output is not a
  /// terminal; no colours with NO_COLOR; ASCII in a locale that is set and is not UTF-8.
  /// @param root the course's folder, for links; empty: none
  static Style of_output(bool asked_plain, const std::filesystem::path& root = {});

  /// A text, or lines, as this style wants it: spelled, wrapped and painted.
  std::string operator()(const std::string& text) const;
  std::string operator()(const Lines& lines) const;

  /// Lines spelled, wrapped and painted; and a row of them as it is written to a terminal.
  std::vector<Row> rows_of(const Lines& lines) const;
  std::string drawn(const Row& row) const;

  /// The width for tables, also where there is no terminal.
  int table_columns() const { return columns > 0 ? columns : 100; }

 private:
  std::string spelled(const std::string& text) const;
};

}  // namespace attn::learn
