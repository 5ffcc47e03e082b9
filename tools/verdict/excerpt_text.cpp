#include "verdict/excerpt_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "verdict/words.hpp"

namespace attn::judge {

namespace {

using Cell = Excerpt::Cell;
using Rows = std::vector<std::string>;

std::string cell_text(double number) {
  constexpr int digits = 4;
  return std::isnan(number) ? "NaN" : number_text(number == 0 ? 0 : number, digits);  // without the sign of -0
}

/// The cells as rows of text, each column as wide as its widest cell.
Rows table(const Excerpt& excerpt, const std::function<std::string(const Cell&)>& text) {
  Rows rows(excerpt.cells.size());
  for (std::size_t column = 0; column < excerpt.cells.front().size(); ++column) {
    std::size_t width = 0;
    for (const auto& row : excerpt.cells) width = std::max(width, text(row[column]).size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::string cell = text(excerpt.cells[row][column]);
      rows[row] += (column == 0 ? "" : "  ") + std::string(width - cell.size(), ' ') + cell;
    }
  }
  return rows;
}

std::string range_text(const std::string& what, std::size_t first, std::size_t count) {
  return what + " " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

void append(std::vector<Statement>& lines, const std::string& label, const Rows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) lines.push_back({row == 0 ? label : "", rows[row]});
}

}  // namespace

std::vector<Statement> table_lines(const std::string& label, const Excerpt& excerpt) {
  std::vector<Statement> lines;
  if (excerpt.cells.empty()) return lines;
  append(lines, label, table(excerpt, [](const Cell& cell) { return cell_text(cell.got); }));
  return lines;
}

std::vector<Statement> excerpt_lines(const Excerpt& excerpt) {
  constexpr std::size_t narrow = 46;  // fits beside a label in a terminal of 60 columns
  if (excerpt.cells.empty() || excerpt.cells.front().empty()) return {};
  const Rows got = table(excerpt, [](const Cell& cell) { return cell_text(cell.got) + (cell.differs ? "*" : " "); });
  const Rows want = table(excerpt, [](const Cell& cell) { return cell_text(cell.expected); });
  const std::string between = "  want  ";

  std::vector<Statement> lines;
  if (!excerpt.whole) {
    lines.push_back({"part", range_text("rows", excerpt.row, got.size()) + ", " +
                                 range_text("columns", excerpt.column, excerpt.cells.front().size())});
  }
  if (got[0].size() + between.size() + want[0].size() > narrow) {
    append(lines, "got", got);
    append(lines, "want", want);
    return lines;
  }
  Rows both;
  for (std::size_t row = 0; row < got.size(); ++row) {
    both.push_back(got[row] + (row == 0 ? between : std::string(between.size(), ' ')) + want[row]);
  }
  append(lines, "got", both);
  return lines;
}

}  // namespace attn::judge
