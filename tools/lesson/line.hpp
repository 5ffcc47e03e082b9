#pragma once

#include <optional>
#include <string>
#include <vector>

/// Lines of text whose parts have roles. A fact stays data until it is shown: a terminal styles a line by its roles, an
/// editor opens its place, and everything else prints its text.
namespace attn {

/// A line of one of the course's files.
struct Place {
  std::string file;  ///< "lessons/00_warm_up/linear.cpp"
  int line = 0;      ///< from 1; 0 where it is not known
  int column = 0;    ///< from 1; 0 where it is not known

  /// "lessons/00_warm_up/linear.cpp:31".
  std::string text() const { return line == 0 ? file : file + ":" + std::to_string(line); }
};

/// What a part of a line is.
enum class Role {
  plain,      ///< a sentence, a number
  important,  ///< a title, the name of a mistake, a key to press
  label,      ///< names what follows, or is of little interest
  aside,      ///< of little interest: a line that begins with it is cut where it is too wide
  passed,     ///< a result
  failed,     ///< a result
  error,      ///< of a compiler
  warning,    ///< of a compiler, or of a result that is no longer what it was
  caret,      ///< below the code that a compiler quotes
  code,       ///< a line of code: to be copied, so it is not broken where it is printed
  hint,       ///< the command that shows the hints
  selected,   ///< the line of a list where the cursor is
  same,       ///< of two texts beside each other: what is equal
  left,       ///< of two texts beside each other: the left one where they differ
  right,      ///< of two texts beside each other: the right one where they differ
};

/// A part of a line.
struct Span {
  std::string text;
  Role role = Role::plain;
};

struct Line {
  Line() = default;
  Line(const char* text) : Line(std::string(text)) {}
  Line(std::string text, Role role = Role::plain);
  Line(std::vector<Span> parts, std::optional<Place> where = {}) : spans(std::move(parts)), place(std::move(where)) {}

  std::string text() const;

  std::vector<Span> spans;     ///< from left to right
  std::optional<Place> place;  ///< that it is about
};

using Lines = std::vector<Line>;

/// "  label   text", where only the label is one. @param label with the spaces around it
Line labelled(const std::string& label, const std::string& text, Role role = Role::plain);

/// Texts as lines.
Lines as_lines(const std::vector<std::string>& texts);

void append(Lines& lines, const Lines& more);

/// As text, each line with its newline.
std::string text_of(const Lines& lines);

}  // namespace attn
