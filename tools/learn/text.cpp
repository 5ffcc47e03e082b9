#include "learn/text.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace attn::learn {

namespace {

/// A character: its bytes and the columns it takes.
struct Character {
  std::string bytes;
  char32_t code = 0;
  int columns = 1;
};

int width_of(char32_t code) {
  static constexpr std::pair<char32_t, char32_t> none[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  static constexpr std::pair<char32_t, char32_t> two[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                                          {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                                          {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  const auto within = [code](const auto& range) { return code >= range.first && code <= range.second; };
  if (std::any_of(std::begin(none), std::end(none), within)) return 0;
  return std::any_of(std::begin(two), std::end(two), within) ? 2 : 1;
}

/// The characters of a text; a byte that is not UTF-8 is one of its own.
std::vector<Character> characters(const std::string& text) {
  std::vector<Character> all;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    std::size_t length = first < 0x80 ? 1 : (first >> 5) == 6 ? 2 : (first >> 4) == 14 ? 3 : (first >> 3) == 30 ? 4 : 1;
    if (at + length > text.size()) length = 1;
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) >> 6) != 2) length = 1;
    }
    char32_t code = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    all.push_back({text.substr(at, length), code, width_of(code)});
    at += length;
  }
  return all;
}

std::string first_columns(const std::string& text, int columns) {
  std::string kept;
  for (const auto& character : characters(text)) {
    columns -= character.columns;
    if (columns < 0) break;
    kept += character.bytes;
  }
  return kept;
}

/// As it can be shown without moving the cursor or changing colours, whatever a learner's code or program wrote: tabs
/// become spaces, and what is no character a question mark.
std::string harmless(const std::string& line) {
  constexpr int tab = 8;
  std::string shown;
  int column = 0;
  for (const auto& character : characters(line)) {
    if (character.code == '\r') continue;  // lines as Windows ends them
    if (character.code == '\t') {
      const int spaces = tab - column % tab;
      shown.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    const bool no_character = character.bytes.size() == 1 && character.code >= 0x80;
    shown += control || no_character ? "?" : character.bytes;
    column += character.columns;
  }
  return shown;
}

/// Where the text of a line begins: behind its label, if it has one, or behind its indent.
int text_column(const std::string& line, int columns) {
  const auto indent = line.find_first_not_of(' ');
  if (indent == std::string::npos) return 0;
  const auto label_end = line.find(' ', indent);
  if (label_end != std::string::npos && line.compare(label_end, 2, "  ") == 0) {
    const auto begin = line.find_first_not_of(' ', label_end);
    if (begin != std::string::npos && columns_of(line.substr(0, begin)) <= columns / 3) {
      return columns_of(line.substr(0, begin));
    }
  }
  const bool listed = line.compare(indent, 2, "- ") == 0;
  return std::min(static_cast<int>(indent) + (listed ? 2 : 0), columns / 2);
}

/// One line, broken.
void wrap_line(const std::string& line, int columns, std::vector<std::string>& out) {
  const std::string indent(static_cast<std::size_t>(text_column(line, columns)), ' ');
  std::string rest = line;
  while (columns_of(rest) > columns) {
    const std::string fits = first_columns(rest, columns);
    const auto text_begin = rest.find_first_not_of(' ');
    auto cut = rest[fits.size()] == ' ' ? fits.size() : fits.rfind(' ');
    const bool no_space = cut == std::string::npos || cut <= std::max(text_begin, indent.size());
    if (no_space) cut = fits.size();
    out.push_back(rest.substr(0, cut));
    const auto next = rest.find_first_not_of(' ', cut);
    if (next == std::string::npos) return;
    rest = indent + rest.substr(next);
  }
  out.push_back(rest);
}

/// Which lines of two texts belong together: a longest common subsequence.
std::vector<std::pair<int, int>> common_lines(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<int>> longest(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      pairs.emplace_back(i++, j++);
    } else if (longest[i + 1][j] >= longest[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

/// Code that is too wide for its half goes on in the next row, further in.
std::vector<std::string> cell(const std::string& line, int columns) {
  const auto indent = std::min<std::size_t>(line.find_first_not_of(' '), static_cast<std::size_t>(columns) / 2);
  std::vector<std::string> rows;
  std::string rest = line;
  while (columns_of(rest) > columns) {
    std::string fits = first_columns(rest, columns);
    const auto space = fits.rfind(' ');
    if (space != std::string::npos && space > fits.size() / 2) fits.resize(space + 1);  // rather between words
    rows.push_back(fits);
    rest = std::string(line.empty() ? 0 : indent + 2, ' ') + rest.substr(rows.back().size());
  }
  rows.push_back(rest);
  return rows;
}

}  // namespace

int columns_of(const std::string& text) {
  int columns = 0;
  for (const auto& character : characters(text)) columns += character.columns;
  return columns;
}

std::string padded(const std::string& text, int columns) {
  const std::string kept = first_columns(text, columns);
  return kept + std::string(static_cast<std::size_t>(std::max(0, columns - columns_of(kept))), ' ');
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> paragraphs_of(const std::string& markdown) {
  std::vector<std::string> lines;
  bool in_code = false;
  bool in_prose = false;  // the line before, and so one that may be joined
  for (const auto& line : lines_of(markdown)) {
    if (line.rfind("```", 0) == 0) {
      in_code = !in_code;
      in_prose = false;
      continue;
    }
    const bool blank = line.find_first_not_of(' ') == std::string::npos;
    const bool listed = line.rfind("- ", 0) == 0 || line.rfind("| ", 0) == 0;
    if (in_prose && !blank && !listed) {
      lines.back() += " " + line.substr(line.find_first_not_of(' '));
    } else {
      lines.push_back(line);
    }
    in_prose = !in_code && !blank && line.rfind("| ", 0) != 0;
  }
  return lines;
}

std::vector<std::string> wrapped(const std::string& text, int columns) {
  std::vector<std::string> out;
  for (const auto& line : lines_of(text)) wrap_line(harmless(line), std::max(columns, 20), out);
  return out;
}

std::string in_words(const std::string& text) {
  std::string words;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 4, "✗ ") == 0) {
      words += "FAILED ";
      at += 4;
    } else if (text.compare(at, 4, "✓ ") == 0) {
      words += "passed ";
      at += 4;
    } else {
      words += text[at++];
    }
  }
  return words;
}

std::string in_ascii(const std::string& text) {
  static const std::map<std::string, std::string> spellings = {
      {"·", "-"},   {"√", "sqrt "}, {"ᵀ", "^T"}, {"−", "-"},   {"²", "^2"}, {"³", "^3"}, {"⁹", "^9"}, {"…", "..."},
      {"∞", "inf"}, {"→", "->"},    {"≠", "!="}, {"±", "+-"},  {"≤", "<="}, {"≥", ">="}, {"≈", "~"},  {"×", "x"},
      {"▸", ">"},   {"–", "-"},     {"—", "-"},  {"‘", "'"},   {"’", "'"},  {"“", "\""}, {"”", "\""}, {"ä", "ae"},
      {"ö", "oe"},  {"ü", "ue"},    {"é", "e"},  {"Σ", "sum"}, {"∑", "sum"}};
  std::string ascii;
  for (const auto& character : characters(in_words(text))) {
    const auto spelling = spellings.find(character.bytes);
    if (spelling != spellings.end()) {
      ascii += spelling->second;
    } else {
      ascii += character.code < 0x80 ? character.bytes : "?";
    }
  }
  return ascii;
}

std::string bar(int done, int of, int columns) {
  const int inside = std::max(1, columns - 2);
  const int filled = of > 0 ? done * inside / of : 0;
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(inside - filled), '.') + "]";
}

std::vector<std::string> side_by_side(const std::string& left, const std::string& right, int columns) {
  const int half = std::max(10, (columns - 3) / 2);
  const auto a = lines_of(left);
  const auto b = lines_of(right);
  std::vector<std::string> rows;
  const auto add = [&](const std::string* one, const char* mark, const std::string* other) {
    const auto cells = cell(one == nullptr ? "" : harmless(*one), half);
    const auto others = cell(other == nullptr ? "" : harmless(*other), half);
    for (std::size_t i = 0; i < std::max(cells.size(), others.size()); ++i) {
      const std::string l = i < cells.size() ? cells[i] : "";
      rows.push_back(padded(l, half) + " " + mark + " " + (i < others.size() ? others[i] : ""));
    }
  };
  auto pairs = common_lines(a, b);
  pairs.emplace_back(a.size(), b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  for (const auto& [next_i, next_j] : pairs) {
    const auto end_i = static_cast<std::size_t>(next_i);
    const auto end_j = static_cast<std::size_t>(next_j);
    while (i < end_i && j < end_j) add(&a[i++], "|", &b[j++]);
    while (i < end_i) add(&a[i++], "<", nullptr);
    while (j < end_j) add(nullptr, ">", &b[j++]);
    if (i < a.size()) add(&a[i++], " ", &b[j++]);
  }
  return rows;
}

std::string counted(int number, const std::string& thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

}  // namespace attn::learn
