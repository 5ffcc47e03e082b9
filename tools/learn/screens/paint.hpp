#pragma once

#include <string>
#include <vector>

#include "lesson/line.hpp"

/// Lines as the rows of a terminal, with roles and links but without escape sequences.
namespace attn::learn {

struct Piece {
  std::string text;
  Role role = Role::plain;
  std::string link = {};  ///< the file that it names, below the course's folder; empty: none
};
using Row = std::vector<Piece>;

/// Lines as rows of at most `columns` columns. What is broken into rows keeps its role. A file of the course that a line
/// names is a link.
std::vector<Row> painted(const Lines& lines, int columns);

/// A row without its roles.
std::string text_of(const Row& row);

}  // namespace attn::learn
