#pragma once

#include <string>
#include <vector>

#include "lesson/line.hpp"

/// Text as it stands in a terminal: measured in columns, not in bytes. All text is UTF-8.
namespace attn {

/// Whether a character belongs to a name in code: a letter, a digit or "_".
bool is_word(char c);

/// The names and numbers in a text: all that consists of such characters.
std::vector<std::string> words_in(const std::string& text);

bool begins_with(const std::string& text, const std::string& beginning);

/// Parts as one text, with something between them.
std::string joined(const std::vector<std::string>& parts, const std::string& between);

/// A text with every occurrence of a part replaced.
std::string replaced(const std::string& text, const std::string& part, const std::string& with);

/// How many columns it takes: a Chinese character two, a combining mark none.
int columns_of(const std::string& text);

/// The beginning that fits, with spaces behind it up to the width.
std::string padded(const std::string& text, int columns);

/// A number with spaces before it up to the width.
std::string right_aligned(int number, int columns);

/// A line as it can be shown without moving the cursor or changing colours: tabs become spaces; control characters and
/// bytes that are not valid UTF-8, question marks.
/// @param column where it begins
std::string harmless(const std::string& line, int column = 0);

/// The same of each line of a text, such as a message that names a file of somebody else's.
std::string harmless_text(const std::string& text);

/// A word of a command to copy: in quotes where a shell would read it as something else, such as a name with a space.
std::string shell_word(const std::string& text);

/// A line that is too wide is cut, and ends with "...".
std::string cut(const std::string& line, int columns);

/// What stands in the columns from `begin` to before `end`; half of a wide character is a space.
std::string columns_between(const std::string& line, int begin, int end);

/// The lines of a text, without their newlines.
std::vector<std::string> lines_of(const std::string& text);

/// Prose from Markdown: what is code in it without its backticks, in bold.
Line with_code(const std::string& prose, Role role = Role::plain);

/// The lines of Markdown as they are shown: the lines of a paragraph joined, so that they can be wrapped to any width;
/// code, tables and lists as they stand; no code fences, and no backticks in prose.
Lines paragraphs_of(const std::string& markdown);

/// Lines broken between words where they are too wide; what follows a break stands under the text, or, in a line that
/// begins with a label ("  likely  ..."), under what the label is about. A word that is too wide is cut. Every line is
/// made harmless(). No row is wider than `columns`, or 2.
std::vector<std::string> wrapped(const std::string& text, int columns);

/// The same without a meaning that only a symbol carries: "✗ " becomes "FAILED ", "✓ " becomes "passed ".
std::string in_words(const std::string& text);

/// The same in ASCII, for terminals that know nothing else, and in words: "√D" becomes "sqrt D". What has no such
/// spelling becomes a question mark.
std::string in_ascii(const std::string& text);

/// "██████░░░░" of so many columns; in ASCII and in words "######....".
Line bar(int done, int of, int columns);

/// Two texts beside each other, equal lines in one row. Between them stands "|" where they differ, "<" or ">" where
/// only one has the line. Tabs and control characters as in wrapped(). No row is wider than `columns`, or 7. Lines of
/// texts that are far longer than an answer are not matched.
Lines side_by_side(const std::string& left, const std::string& right, int columns);

/// Where two texts differ, one below the other: each change with some lines before and after it, those of the left one marked
/// "-", those of the right one "+", and the numbers of its first lines above it. Empty where the texts are equal.
Lines unified_diff(const std::string& left, const std::string& right);

/// "12 minutes", "1 minute".
std::string counted(int number, const std::string& thing);

/// "45 minutes", "1 hour", "32.7 hours".
std::string hours_text(int minutes);

/// "0.50" for 0.5 with two decimals.
std::string with_decimals(double value, int decimals);

/// "12.4 minutes".
std::string minutes_text(double minutes);

}  // namespace attn
