#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lesson/line.hpp"
#include "system/text_style.hpp"

/// Lines as the rows of a terminal: first with roles and links, then with escape sequences.
namespace attn::learn {

struct Piece {
  std::string text;
  Role role = Role::plain;
  std::string link = {};  ///< the file that it names, below the course's folder; empty: none
};
using Row = std::vector<Piece>;

struct Painting {
  std::string gap = "…";      ///< marks where quoted code is cut
  bool keep_folders = false;  ///< for a terminal that makes the links itself
  bool keep_code = false;     ///< code is to be copied: its rows may be wider than the terminal
};

/// Lines as rows of at most `columns` columns. What is broken into rows keeps its role. A file of the course that a line
/// names is a link. Code that a compiler quotes is cut around its caret instead. A line that ends with its place, and is too
/// wide, names the file without the folder: the link has that.
std::vector<Row> painted(const Lines& lines, int columns, const Painting& how = {});

/// A row without its roles.
std::string text_of(const Row& row);

/// How the tool's output should look: painted, and with links.
struct Style : TextStyle {
  std::string links;  ///< what the address of a file of the course begins with; empty: no links

  /// @param root the course's folder, for links; empty: none
  static Style of_output(bool asked_plain, const std::filesystem::path& root = {});

  /// A text, or lines, as this style wants it: spelled, wrapped and painted; code is not wrapped.
  std::string operator()(const std::string& text) const;
  std::string operator()(const Lines& lines) const;

  /// Lines spelled, wrapped and painted; and a row of them as it is written to a terminal.
  std::vector<Row> rows_of(const Lines& lines, bool keep_code = false) const;
  std::string drawn(const Row& row) const;
};

}  // namespace attn::learn
