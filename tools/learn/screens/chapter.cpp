#include "learn/screens/chapter.hpp"

#include <algorithm>
#include <numeric>
#include <regex>
#include <sstream>
#include <vector>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

using Cells = std::vector<std::string>;

bool is_fence(const std::string& line) { return begins_with(line, "```"); }
bool is_row(const std::string& line) { return begins_with(line, "|"); }

/// Text without the marks of code, of emphasis and of links. What is code stays as it is.
std::string without_marks(const std::string& text) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  static const std::regex emphasis(R"(\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*)");
  std::string plain;
  bool in_code = false;
  std::string part;
  const auto end_part = [&] {
    plain += in_code ? part : std::regex_replace(std::regex_replace(part, link, "$1"), emphasis, "$1$2");
    part.clear();
  };
  for (const char c : std::regex_replace(text, link, "$1")) {  // also around code
    if (c == '`') {
      end_part();
      in_code = !in_code;
    } else {
      part += c;
    }
  }
  end_part();
  return replaced(plain, "**", "");  // around code
}

/// The cells of "| a | b |"; "\|" does not end one.
Cells cells_of(const std::string& row) {
  Cells cells;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
      cell += row[++i];
    } else if (row[i] != '|') {
      cell += row[i];
    } else {
      const auto begin = std::min(cell.find_first_not_of(' '), cell.size());
      cells.push_back(without_marks(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin)));
      cell.clear();
    }
  }
  return cells;
}

int longest_word(const std::string& text) {
  int longest = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) longest = std::max(longest, columns_of(word));
  return longest;
}

const std::string between = " | ";

/// How wide the columns of a table are: as wide as their text, or where that does not fit, the widest ones narrower, as long
/// as their words fit.
std::vector<int> widths_of(const std::vector<Cells>& rows, int columns) {
  std::vector<int> widths(rows.front().size()), words(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], columns_of(row[i]));
      words[i] = std::max(words[i], longest_word(row[i]));
    }
  }
  const int room = columns - static_cast<int>(between.size() * (widths.size() - 1));
  while (std::accumulate(widths.begin(), widths.end(), 0) > room) {
    std::size_t widest = widths.size();
    for (const bool whole_words : {true, false}) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (whole_words && widths[i] <= words[i]) continue;
        if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
      }
      if (widest < widths.size()) break;
    }
    if (widths[widest] <= 2) break;
    --widths[widest];
  }
  return widths;
}

/// A table, its first row underlined, its cells broken between words.
std::vector<std::string> table_rows(const std::vector<std::string>& lines, int columns) {
  std::vector<Cells> rows;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i != 1) rows.push_back(cells_of(lines[i]));  // the second one is "|---|---|"
  }
  if (rows.front().empty()) return lines;
  const auto widths = widths_of(rows, columns);
  std::vector<std::string> text;
  for (const auto& row : rows) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      cells.push_back(wrapped(i < row.size() ? row[i] : "", widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string shown;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        shown += (i == 0 ? "" : between) + padded(line < cells[i].size() ? cells[i][line] : "", widths[i]);
      }
      shown.erase(shown.find_last_not_of(' ') + 1);
      text.push_back(shown);
    }
    if (&row != &rows.front()) continue;
    std::string underline;
    for (const int width : widths) {
      underline += (underline.empty() ? "" : "-|-") + std::string(static_cast<std::size_t>(width), '-');
    }
    text.push_back(underline);
  }
  return text;
}

/// The lines of a table that begins at one of these; moves behind it.
std::vector<std::string> take_table(const std::vector<std::string>& lines, std::size_t& at) {
  std::vector<std::string> table;
  while (at < lines.size() && is_row(lines[at])) table.push_back(lines[at++]);
  return table;
}

void add(std::string& text, const std::vector<std::string>& rows) {
  for (const auto& row : rows) text += row + "\n";
}

/// Whether a line begins a block of its own, so that it does not go on with the one before.
bool begins_block(const std::string& line) {
  static const std::regex item(R"( *(- |\d+\. |#|\|).*)");
  return line.find_first_not_of(' ') == std::string::npos || is_fence(line) || std::regex_match(line, item);
}

}  // namespace

std::string without_comments(const std::string& markdown) {
  std::string text;
  std::size_t done = 0;
  for (auto at = markdown.find("<!--"); at != std::string::npos; at = markdown.find("<!--", done)) {
    const auto end = markdown.find("-->\n", at);
    if (end == std::string::npos) break;
    text.append(markdown, done, at - done);
    done = end + 4;
  }
  return text.append(markdown, done);
}

std::string unfolded(const std::string& chapter) {
  static const std::regex summary("<details><summary>(.*)</summary>");
  static const std::regex picture(R"(!\[(.*)\]\(.*\))");
  std::string text;
  for (const auto& line : lines_of(without_comments(chapter))) {
    std::smatch part;
    if (line == "</details>") continue;
    if (begins_with(line, "<details>") && std::regex_match(line, part, summary)) {
      text += "**" + part[1].str() + "**\n";
    } else if (begins_with(line, "![") && std::regex_match(line, part, picture)) {
      text += "Picture: " + part[1].str() + "\n";
    } else {
      text += line + "\n";
    }
  }
  return text;
}

std::string chapter_text(const std::string& markdown, int columns) {
  const std::vector<std::string> lines = lines_of(markdown);
  std::string text;
  bool in_code = false;
  for (std::size_t at = 0; at < lines.size();) {
    const std::string& line = lines[at];
    if (is_fence(line) || in_code) {
      if (is_fence(line)) in_code = !in_code;
      if (!is_fence(line)) add(text, line.empty() ? std::vector<std::string>{""} : wrapped("  " + line, columns));
      ++at;
    } else if (is_row(line)) {
      add(text, table_rows(take_table(lines, at), columns));
    } else {
      std::string paragraph = line;
      const bool joins = !begins_block(line) || std::regex_search(line, std::regex(R"(^ *(- |\d+\. ))"));
      for (++at; joins && at < lines.size() && !begins_block(lines[at]); ++at) {
        paragraph += " " + lines[at].substr(lines[at].find_first_not_of(' '));
      }
      add(text, paragraph.empty() ? std::vector<std::string>{""} : wrapped(without_marks(paragraph), columns));
    }
  }
  return text;
}

std::string with_narrow_tables(const std::string& markdown, int columns) {
  const auto lines = lines_of(markdown);
  std::string text;
  bool in_code = false;
  for (std::size_t at = 0; at < lines.size();) {
    if (is_fence(lines[at])) in_code = !in_code;
    if (in_code && !is_fence(lines[at]) && columns_of(lines[at]) > columns) {
      add(text, wrapped(lines[at++], columns));
    } else if (in_code || !is_row(lines[at])) {
      text += lines[at++] + "\n";
    } else {
      const auto table = take_table(lines, at);
      const auto rows = table_rows(table, columns);
      const auto wide = table_rows(table, 10'000);
      if (rows == wide) {
        add(text, table);
      } else {
        text += "```\n";
        add(text, rows);
        text += "```\n";
      }
    }
  }
  return text;
}

std::string with_narrow_rows(const std::string& formatted, int columns) {
  static const std::regex sequence("\x1b\\[[0-9;]*m");
  std::string text;
  for (std::string row : lines_of(formatted)) {
    const std::string indent(std::min(row.find_first_not_of(' '), row.size()), ' ');
    while (columns_of(std::regex_replace(row, sequence, "")) > columns) {
      std::size_t fits = 0;  // the last space to break at
      for (auto at = row.find(' ', indent.size()); at != std::string::npos; at = row.find(' ', at + 1)) {
        if (columns_of(std::regex_replace(row.substr(0, at), sequence, "")) > columns) break;
        fits = at;
      }
      if (fits == 0) break;
      text += row.substr(0, fits) + "\n";
      row = indent + row.substr(fits + 1);
    }
    text += row + "\n";
  }
  return text;
}

}  // namespace attn::learn
