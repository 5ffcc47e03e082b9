#include "lesson/text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "lesson/utf8.hpp"

namespace attn {

namespace {

using utf8::character_at;
using utf8::characters;

std::string first_columns(const std::string& text, int columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    const auto character = character_at(text, end);
    columns -= character.columns;
    if (columns < 0) break;
    end += character.bytes.size();
  }
  return text.substr(0, end);
}

/// How wide the mark of an item of a list is: "- " or "12. ".
int mark_columns(const std::string& item) {
  const auto end = std::min(item.find_first_not_of("0123456789"), item.size());
  if (item.compare(0, 2, "- ") == 0) return 2;
  return end > 0 && item.compare(end, 2, ". ") == 0 ? static_cast<int>(end) + 2 : 0;
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
  return std::min(static_cast<int>(indent) + mark_columns(line.substr(indent)), columns / 2);
}

/// Appends a line in rows of at most `columns` columns, 2 or more. A row ends before a space that is at least `least`
/// columns in, or else wherever it is full; all but the first begin `indent` columns in. Every row takes at least one
/// character that is not its indentation, so this ends, in time linear in the line.
void add_rows(const std::string& line, int columns, int indent, int least, std::vector<std::string>& rows) {
  if (columns_of(line) <= columns) {
    rows.push_back(line);
    return;
  }
  const auto all = characters(line);
  const auto is_space = [&](std::size_t at) { return at < all.size() && all[at].code == ' '; };
  const auto skip_spaces = [&](std::size_t at) {
    while (is_space(at)) ++at;
    return at;
  };
  const int deepest = std::min(columns / 2, columns - 2);  // leaves room for the widest character
  std::size_t begin = skip_spaces(0);
  if (begin == all.size()) rows.emplace_back();  // nothing but spaces
  int column = static_cast<int>(std::min(begin, static_cast<std::size_t>(deepest)));
  while (begin < all.size()) {
    std::string row(static_cast<std::size_t>(column), ' ');
    column += all[begin].columns;
    std::size_t end = begin + 1;
    std::size_t space = 0;  // the last one to break at
    for (; end < all.size() && column + all[end].columns <= columns; ++end) {
      if (is_space(end) && column >= least) space = end;
      column += all[end].columns;
    }
    if (end < all.size() && !is_space(end) && space != 0) end = space;
    for (; begin < end; ++begin) row += all[begin].bytes;
    rows.push_back(row);
    begin = skip_spaces(end);
    column = std::min(indent, deepest);
  }
}

/// Which lines of two texts belong together: a longest common subsequence. None where that would take too long: a file
/// of so many lines is not an answer to compare.
std::vector<std::pair<std::size_t, std::size_t>> common_lines(const std::vector<std::string>& a,
                                                              const std::vector<std::string>& b) {
  constexpr std::size_t most_cells = 4'000'000;  // 16 MB, some hundredths of a second
  if (a.size() * b.size() > most_cells) return {};
  std::vector<std::vector<int>> longest(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = a[i] == b[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
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
  const auto indent = static_cast<int>(std::min(line.find_first_not_of(' '), line.size()));
  std::vector<std::string> rows;
  add_rows(line, columns, indent + 2, columns / 2, rows);
  return rows;
}

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_word(text[i])) continue;
    if (i == 0 || !is_word(text[i - 1])) words.emplace_back();
    words.back() += text[i];
  }
  return words;
}

bool begins_with(const std::string& text, const std::string& beginning) { return text.rfind(beginning, 0) == 0; }

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string replaced(const std::string& text, const std::string& part, const std::string& with) {
  std::string result;
  std::size_t done = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, done)) {
    result.append(text, done, at - done).append(with);
    done = at + part.size();
  }
  return result.append(text, done);
}

std::string harmless(const std::string& line, int column) {
  constexpr int tab = 8;
  std::string shown;
  for (const auto& character : characters(line)) {
    if (character.code == '\r') continue;  // lines as Windows ends them
    if (character.code == '\t') {
      const int spaces = tab - column % tab;
      shown.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    shown += character.printable() ? character.bytes : std::string_view("?");
    column += character.columns;
  }
  return shown;
}

std::string harmless_text(const std::string& text) {
  std::string shown;
  for (const auto& line : lines_of(text)) shown += harmless(line) + "\n";
  if (!shown.empty()) shown.pop_back();
  return shown;
}

std::string shell_word(const std::string& text) {
  const std::string plain = "_-./+@:,%=";
  const bool is_plain = std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 || plain.find(static_cast<char>(c)) != std::string::npos;
  });
  return is_plain && !text.empty() ? text : "'" + replaced(text, "'", "'\\''") + "'";
}

std::string cut(const std::string& line, int columns) {
  return columns_of(line) <= columns ? line
                                     : first_columns(line, std::max(columns - 3, 0)) + first_columns("...", columns);
}

std::string columns_between(const std::string& line, int begin, int end) {
  std::string text;
  int column = 0;
  for (const auto& character : characters(line)) {
    const int next = column + character.columns;
    if (column >= begin && next <= end) {
      text += character.bytes;
    } else if (column < end && next > begin) {
      text += ' ';
    }
    column = next;
  }
  return text;
}

int columns_of(const std::string& text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = character_at(text, at);
    columns += character.columns;
    at += character.bytes.size();
  }
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

Line with_code(const std::string& prose, Role role) {
  Line line;
  const auto add = [&](const std::string& text, Role of) {
    if (!text.empty()) line.spans.push_back({text, of});
  };
  std::size_t done = 0;
  for (auto open = prose.find('`'); open != std::string::npos; open = prose.find('`', done)) {
    const auto close = prose.find('`', open + 1);
    if (close == std::string::npos) break;
    add(prose.substr(done, open - done), role);
    add(prose.substr(open + 1, close - open - 1), Role::important);
    done = close + 1;
  }
  add(prose.substr(done), role);
  return line;
}

Lines paragraphs_of(const std::string& markdown) {
  std::vector<std::pair<std::string, bool>> lines;  // and whether each is code
  bool in_code = false;
  bool in_prose = false;  // the line before, and so one that may be joined
  for (const auto& line : lines_of(markdown)) {
    if (begins_with(line, "```")) {
      in_code = !in_code;
      in_prose = false;
      continue;
    }
    const bool blank = line.find_first_not_of(' ') == std::string::npos;
    const auto digits = line.find_first_not_of("0123456789");
    const bool numbered = digits != 0 && digits != std::string::npos && line.compare(digits, 2, ". ") == 0;
    const bool listed = numbered || begins_with(line, "- ") || begins_with(line, "| ");
    if (in_prose && !blank && !listed) {
      lines.back().first += " " + line.substr(line.find_first_not_of(' '));
    } else {
      lines.emplace_back(line, in_code);
    }
    in_prose = !in_code && !blank && !begins_with(line, "| ");
  }
  Lines shown;
  for (const auto& [text, code] : lines) shown.push_back(code ? Line(text, Role::code) : with_code(text));
  return shown;
}

std::vector<std::string> wrapped(const std::string& text, int columns) {
  std::vector<std::string> out;
  const int width = std::max(columns, 2);
  for (const auto& line : lines_of(text)) {
    const std::string shown = harmless(line);
    const int indent = text_column(shown, width);
    add_rows(shown, width, indent, indent + 1, out);
  }
  return out;
}

std::string in_words(const std::string& text) {
  static const std::pair<const char*, const char*> spellings[] = {{"✗ ", "FAILED "}, {"✓ ", "passed "}, {"█", "#"},
                                                                  {"░", "."},        {"■", "#"},        {"□", "."}};
  std::string words = text;
  for (const auto& [symbol, spelling] : spellings) words = replaced(words, symbol, spelling);
  return words;
}

std::string in_ascii(const std::string& text) {
  static const std::map<std::string_view, std::string_view> spellings = {
      {"·", "-"},   {"√", "sqrt "}, {"ᵀ", "^T"},  {"−", "-"},     {"¹", "^1"}, {"²", "^2"}, {"³", "^3"},
      {"⁹", "^9"},  {"…", "..."},   {"∞", "inf"}, {"γ", "gamma"}, {"μ", "mu"}, {"→", "->"}, {"≠", "!="},
      {"±", "+-"},  {"≤", "<="},    {"≥", ">="},  {"≈", "~"},     {"×", "x"},  {"▸", ">"},  {"–", "-"},
      {"—", "-"},   {"‘", "'"},     {"’", "'"},   {"“", "\""},    {"”", "\""}, {"ä", "ae"}, {"ö", "oe"},
      {"ü", "ue"},  {"é", "e"},     {"Σ", "sum"}, {"∑", "sum"},   {"ć", "c"},  {"č", "c"},  {"π", "pi"},
      {"Φ", "Phi"}, {"σ", "sigma"}, {"∘", "o"},   {"Ġ", "G"}};
  const std::string words = in_words(text);
  std::string ascii;
  for (const auto& character : characters(words)) {
    const auto spelling = spellings.find(character.bytes);
    if (spelling != spellings.end()) {
      ascii += spelling->second;
    } else {
      ascii += character.code < 0x80 ? character.bytes : std::string_view("?");
    }
  }
  return ascii;
}

Line bar(int done, int of, int columns) {
  const int width = std::max(1, columns);
  const int filled = of > 0 ? done * width / of : 0;
  Line blocks;
  for (int i = 0; i < width; ++i) {
    blocks.spans.push_back(i < filled ? Span{"█", Role::passed} : Span{"░", Role::label});
  }
  return blocks;
}

Lines side_by_side(const std::string& left, const std::string& right, int columns) {
  const int half = std::max(2, (columns - 3) / 2);
  const auto a = lines_of(left);
  const auto b = lines_of(right);
  Lines rows;
  const auto add = [&](const std::string* one, const std::string& mark, const std::string* other) {
    const auto cells = cell(one == nullptr ? "" : harmless(*one), half);
    const auto others = cell(other == nullptr ? "" : harmless(*other), half);
    for (std::size_t i = 0; i < std::max(cells.size(), others.size()); ++i) {
      const std::string l = padded(i < cells.size() ? cells[i] : "", half) + " ";
      const std::string r = " " + (i < others.size() ? others[i] : "");
      rows.push_back(mark == " " ? Line(l + mark + r, Role::same)
                                 : Line({{l, Role::left}, {mark, Role::label}, {r, Role::right}}));
    }
  };
  auto pairs = common_lines(a, b);
  pairs.emplace_back(a.size(), b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  for (const auto& [end_i, end_j] : pairs) {
    while (i < end_i && j < end_j) add(&a[i++], "|", &b[j++]);
    while (i < end_i) add(&a[i++], "<", nullptr);
    while (j < end_j) add(nullptr, ">", &b[j++]);
    if (i < a.size()) add(&a[i++], " ", &b[j++]);
  }
  return rows;
}

Lines unified_diff(const std::string& left, const std::string& right) {
  constexpr std::size_t context = 3;  // lines, as diff -u has
  const auto a = lines_of(left);
  const auto b = lines_of(right);
  struct Row {
    char mark;
    std::size_t in_a, in_b;
  };
  std::vector<Row> rows;
  auto pairs = common_lines(a, b);
  pairs.emplace_back(a.size(), b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  for (const auto& [end_i, end_j] : pairs) {
    for (; i < end_i; ++i) rows.push_back({'-', i, j});
    for (; j < end_j; ++j) rows.push_back({'+', i, j});
    if (i < a.size()) rows.push_back({' ', i++, j++});
  }
  Lines lines;
  std::size_t shown = 0;  // rows before this one
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].mark == ' ') continue;
    const std::size_t first = std::max(shown, row - std::min(row, context));
    if (lines.empty() || first > shown) {
      if (!lines.empty()) lines.emplace_back();
      lines.emplace_back(
          "line " + std::to_string(rows[first].in_a + 1) + ", reference line " + std::to_string(rows[first].in_b + 1),
          Role::label);
    }
    std::size_t end = row + 1;  // of the change, and the same lines after it
    while (end < rows.size() && rows[end].mark != ' ') ++end;
    const std::size_t last = std::min(rows.size(), end + context);
    for (std::size_t k = first; k < last && (k < end || rows[k].mark == ' '); ++k) {
      const auto& [mark, in_a, in_b] = rows[k];
      lines.emplace_back(std::string(1, mark) + " " + harmless(mark == '+' ? b[in_b] : a[in_a], 2),
                         mark == '-'   ? Role::left
                         : mark == '+' ? Role::right
                                       : Role::same);
      shown = k + 1;
    }
    row = end - 1;
  }
  return lines;
}

std::string counted(int number, const std::string& thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string right_aligned(int number, int columns) {
  const std::string text = std::to_string(number);
  return std::string(static_cast<std::size_t>(std::max(0, columns - columns_of(text))), ' ') + text;
}

std::string hours_text(int minutes) {
  if (minutes < 60) return counted(minutes, "minute");
  const int tenths = (minutes * 10 + 30) / 60;
  const std::string fraction = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
  return std::to_string(tenths / 10) + fraction + (tenths == 10 ? " hour" : " hours");
}

std::string with_decimals(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string minutes_text(double minutes) { return with_decimals(minutes, 1) + " minutes"; }

}  // namespace attn
