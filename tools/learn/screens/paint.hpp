#pragma once

#include <string>
#include <vector>

/// Which part of a text is painted how, by what its words say. Colour only repeats them. Without escape sequences.
namespace attn::learn {

using Lines = std::vector<std::string>;

/// How a piece of text is meant to look.
enum class Paint {
  usual,
  strong,     ///< what helps or leads on: bold
  dim,        ///< labels, and what one need not read
  good,       ///< green
  bad,        ///< red
  error,      ///< bold and red
  attention,  ///< magenta, as compilers have warnings: yellow cannot be read on white
  other,      ///< cyan: what is not as in the other column
  cursor,     ///< reversed, as wide as the screen
};

/// What a text is.
enum class Look {
  report,      ///< of checks or of a compiler, and all that is made of sentences
  header,      ///< its first line is a title
  footer,      ///< with a bar, files, and keys with their words
  list,        ///< of lessons; ">" is the cursor
  comparison,  ///< as side_by_side() makes it
  help,        ///< on the command line
};

struct Piece {
  std::string text;
  Paint paint = Paint::usual;
  std::string link = {};  ///< the file that it names, below the course's folder; empty: none
};
using Row = std::vector<Piece>;

/// Lines as rows of at most `columns` columns, painted. What is broken into rows keeps its paint, and what only counts
/// what else is wrong ("also failing") is cut instead of broken.
std::vector<Row> painted(const Lines& lines, Look look, int columns);

/// A row without its paint.
std::string text_of(const Row& row);

}  // namespace attn::learn
