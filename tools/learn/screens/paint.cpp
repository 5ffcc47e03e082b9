#include "learn/screens/paint.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "lesson/text.hpp"
#include "lesson/utf8.hpp"

namespace attn::learn {

namespace {

constexpr auto none = std::string::npos;

/// One line, and how each of its bytes is painted.
struct Inked {
  explicit Inked(std::string line) : text(std::move(line)), paint(text.size()), link(text.size()) {}

  void ink(std::size_t begin, std::size_t end, Paint with) {
    for (; begin < std::min(end, text.size()); ++begin) paint[begin] = with;
  }

  std::string text;
  std::vector<Paint> paint;
  std::vector<std::size_t> link;  ///< the number of a link, from 1; 0 is none
  std::vector<std::string> links;
  bool cut = false;  ///< where it is too wide, instead of broken
};

bool is_in(char c, const char* characters) { return c != '\0' && std::string(characters).find(c) != none; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool begins_with(const std::string& text, const std::string& beginning, std::size_t at = 0) {
  return text.compare(at, beginning.size(), beginning) == 0;
}

std::size_t end_of_digits(const std::string& text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// Behind ":22:43" or ":22"; `at` where there is none.
std::size_t end_of_position(const std::string& text, std::size_t at) {
  for (int numbers = 0; numbers < 2 && at < text.size() && text[at] == ':'; ++numbers) {
    const auto end = end_of_digits(text, at + 1);
    if (end == at + 1) break;
    at = end;
  }
  return at;
}

/// Files of the course that the line names become links, with the line's number where one follows.
void ink_links(Inked& line) {
  const std::string& text = line.text;
  for (const std::string folder : {"lessons/", "solutions/", "tests/", "include/attn/", ".learn/interview/"}) {
    for (auto at = text.find(folder); at != none; at = text.find(folder, at + 1)) {
      if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || is_in(text[at - 1], "/_.")))
        continue;
      auto end = at;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || is_in(text[end], "_./-")))
        ++end;
      while (text[end - 1] == '.') --end;
      if (text.find('.', at + folder.size()) >= end) continue;  // a folder
      line.links.push_back(text.substr(at, end - at));
      const auto numbered = end_of_position(text, end);
      std::fill(line.link.begin() + static_cast<std::ptrdiff_t>(at),
                line.link.begin() + static_cast<std::ptrdiff_t>(numbered), line.links.size());
    }
  }
}

/// "lessons/x.cpp:22:43: error: message" of a compiler. @return whether the line is one
bool ink_diagnostic(Inked& line) {
  static const std::initializer_list<std::pair<const char*, Paint>> kinds = {{": fatal error: ", Paint::error},
                                                                             {": error: ", Paint::error},
                                                                             {": warning: ", Paint::attention},
                                                                             {": note: ", Paint::dim}};
  for (const auto& [kind, paint] : kinds) {
    const auto at = line.text.find(kind);
    if (at == none || at == 0 || line.text.find(' ') < at || !is_digit(line.text[at - 1])) continue;
    const auto message = at + std::string(kind).size();
    line.ink(0, at, Paint::strong);
    line.ink(at + 2, message - 2, paint);
    line.ink(message, none, paint == Paint::error ? Paint::strong : Paint::usual);
    return true;
  }
  if (begins_with(line.text, "In file included from ") || begins_with(line.text, "                 from ")) {
    line.ink(0, none, Paint::dim);
    return true;
  }
  return false;
}

/// "   22 |   code" and "      |   ^~~~" of a compiler. @return whether the line is one
bool ink_excerpt(Inked& line) {
  const auto number = line.text.find_first_not_of(' ');
  if (number == none || number == 0) return false;
  const auto number_end = end_of_digits(line.text, number);
  const auto gutter = line.text.find_first_not_of(' ', number_end);
  if (gutter == none || line.text[gutter] != '|') return false;
  line.ink(0, gutter + 1, Paint::dim);
  if (number_end == number) line.ink(gutter + 1, none, Paint::good);
  return true;
}

/// Where the label of "  label   text" ends; npos where there is none.
std::size_t label_end(const std::string& text) {
  const auto begin = begins_with(text, "  ") ? 2U : 0U;
  auto end = static_cast<std::size_t>(begin);
  while (end < text.size() && is_lower(text[end])) ++end;
  const auto what = text.find_first_not_of(' ', end);
  return end > begin && what != none && what >= end + 2 ? end : none;
}

std::string label_of(const std::string& text) {
  const auto end = label_end(text);
  if (end == none) return {};
  const auto begin = text.find_first_not_of(' ');
  return text.substr(begin, end - begin);
}

/// Blocks of a bar or a strip: what is done, and what is not.
void ink_blocks(Inked& line) {
  const auto begin = line.text.find_first_not_of(' ');
  if (begin == none) return;
  const auto end = std::min(line.text.find(' ', begin), line.text.size());
  const bool ascii = end - begin >= 5 && std::min(line.text.find_first_not_of("#.", begin), line.text.size()) >= end;
  for (const auto& character : utf8::characters(line.text)) {
    const auto at = static_cast<std::size_t>(character.bytes.data() - line.text.data());
    const bool done = character.bytes == "█" || character.bytes == "■" || (ascii && at < end && line.text[at] == '#');
    const bool open = character.bytes == "░" || character.bytes == "□" || (ascii && at < end && line.text[at] == '.');
    if (done || open) line.ink(at, at + character.bytes.size(), done ? Paint::good : Paint::dim);
  }
}

/// Keys and their words, two spaces between them: "n next  p previous". @return whether the line is of that kind
bool ink_keys(Inked& line) {
  std::vector<std::size_t> keys;
  for (std::size_t at = 0; at < line.text.size();) {
    const bool one_key = is_lower(line.text[at]) || is_digit(line.text[at]) || line.text[at] == '?';
    if (!one_key || at + 1 >= line.text.size() || line.text[at + 1] != ' ') return false;
    keys.push_back(at);
    const auto gap = line.text.find("  ", at);
    at = gap == none ? line.text.size() : gap + 2;
  }
  for (const auto at : keys) line.ink(at, at + 1, Paint::strong);
  return !keys.empty();
}

/// Where a lesson stands, in a line of the list: "> passed  01 self_attention_v1".
void ink_standing(Inked& line) {
  const auto ink_word = [&](const std::string& word, Paint paint) {
    if (begins_with(line.text, word + "  ", 2)) line.ink(2, 2 + word.size(), paint);
  };
  if (line.text.size() < 3 || (line.text[0] != ' ' && line.text[0] != '>') || line.text[1] != ' ') return;
  ink_word("passed", Paint::good);
  ink_word("no longer passes", Paint::attention);
  ink_word("now", Paint::strong);
}

/// What differs in two texts beside each other: the mark between them is behind the left half.
void ink_difference(Inked& line, int columns) {
  const int mark_column = std::max(2, (columns - 3) / 2) + 1;
  int column = 0;
  for (const auto& character : utf8::characters(line.text)) {
    if (column == mark_column) {
      const auto at = static_cast<std::size_t>(character.bytes.data() - line.text.data());
      if (!is_in(line.text[at], "|<>")) return;
      line.ink(0, at, Paint::other);
      line.ink(at, at + 1, Paint::dim);
      line.ink(at + 1, none, Paint::good);
      return;
    }
    column += character.columns;
  }
}

/// Paints line by line; some of it depends on the lines before.
class Painter {
 public:
  Painter(const Lines& lines, Look look, int columns) : look_(look), columns_(columns) {
    is_named_ = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return label_of(line) == "likely"; });
  }

  Inked next(const std::string& text) {
    Inked line(harmless(text));
    switch (look_) {
      case Look::header: line.ink(0, none, first_ ? Paint::strong : Paint::dim); break;
      case Look::footer: paint_footer(line); break;
      case Look::list: paint_list(line); break;
      case Look::comparison: ink_difference(line, columns_); break;
      case Look::report: paint_report(line); break;
      case Look::help: paint_help(line); break;
    }
    if (look_ != Look::comparison && look_ != Look::header) ink_links(line);
    first_ = false;
    return line;
  }

 private:
  static void paint_footer(Inked& line) {
    if (ink_keys(line)) return;
    const auto label = label_end(line.text);
    if (label != none) line.ink(0, label, Paint::dim);
    ink_blocks(line);
  }

  static void paint_help(Inked& line) {
    if (const auto label = label_end(line.text); label != none) line.ink(0, label, Paint::strong);
  }

  static void paint_list(Inked& line) {
    ink_standing(line);
    if (begins_with(line.text, ">")) line.ink(0, none, Paint::cursor);
  }

  void paint_report(Inked& line) {
    if (line.text.empty()) also_failing_ = false;
    if (line.text == "also failing") also_failing_ = true;
    if (also_failing_) {
      line.cut = true;
      return line.ink(0, none, Paint::dim);
    }
    if (ink_diagnostic(line) || ink_excerpt(line) || paint_head(line)) return;
    if (const auto label = label_end(line.text); label != none) return paint_labelled(line, label);
    ink_standing(line);
    ink_blocks(line);
  }

  /// What begins with the result: a check, a lesson; or is a heading. @return whether the line is one
  static bool paint_head(Inked& line) {
    const std::string rest = line.text.substr(std::min(line.text.find_first_not_of(' '), line.text.size()));
    if (begins_with(rest, "✗ ") || begins_with(rest, "FAILED ")) {
      line.ink(0, none, Paint::bad);
    } else if (begins_with(rest, "✓ ") || (begins_with(rest, "passed ") && !begins_with(rest, "passed  "))) {
      line.ink(0, none, Paint::good);
    } else if (begins_with(rest, "Well done.")) {
      line.ink(0, none, Paint::good);
    } else if (begins_with(rest, "Welcome!")) {
      line.ink(0, none, Paint::strong);
    } else if (rest.size() > 5 && is_digit(rest[0]) && is_digit(rest[1]) && rest[2] == '.' && is_digit(rest[3])) {
      line.ink(0, none, Paint::strong);  // "01.2 forward", over its hints
    } else {
      return false;
    }
    return true;
  }

  /// The sentence that helps most is the loudest.
  void paint_labelled(Inked& line, std::size_t label) const {
    const std::string word = label_of(line.text);
    line.ink(0, label, Paint::dim);
    if (word == "likely" || word == "mistake" || (word == "note" && !is_named_)) line.ink(0, none, Paint::strong);
    ink_standing(line);
  }

  Look look_;
  int columns_;
  bool first_ = true;
  bool is_named_ = false;  ///< a mistake is
  bool also_failing_ = false;
};

/// A row of a line in pieces, the next of whose bytes is `at`. Breaking lines changes nothing but spaces.
Row pieces_of(const std::string& row, const Inked& line, std::size_t& at) {
  Row pieces;
  const std::size_t begin = row.find_first_not_of(' ');
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool indent = i < begin && at != i;  // of a row behind a break
    while (!indent && row[i] != ' ' && at < line.text.size() && line.text[at] == ' ') ++at;
    const bool known = !indent && at < line.text.size() && line.text[at] == row[i];
    const Paint paint = known ? line.paint[at] : Paint::usual;
    const std::string link = known && line.link[at] > 0 ? line.links[line.link[at] - 1] : "";
    if (pieces.empty() || pieces.back().paint != paint || pieces.back().link != link)
      pieces.push_back({"", paint, link});
    pieces.back().text += row[i];
    at += known ? 1 : 0;
  }
  return pieces;
}

}  // namespace

std::vector<Row> painted(const Lines& lines, Look look, int columns) {
  std::vector<Row> rows;
  Painter painter(lines, look, columns);
  for (const auto& text : lines) {
    const Inked line = painter.next(text);
    const Paint first = line.paint.empty() ? Paint::usual : line.paint.front();
    if (line.text.empty()) rows.emplace_back();
    if (line.cut) {
      rows.push_back({{cut(line.text, columns), first, ""}});
      continue;
    }
    std::size_t at = 0;
    for (const auto& row : wrapped(line.text, columns)) {
      rows.push_back(first == Paint::cursor ? Row{{padded(row, columns), first, ""}} : pieces_of(row, line, at));
    }
  }
  return rows;
}

std::string text_of(const Row& row) {
  std::string text;
  for (const auto& piece : row) text += piece.text;
  return text;
}

}  // namespace attn::learn
