#include "train/curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "lesson/text.hpp"

namespace attn::training {

namespace {

constexpr std::size_t most_columns = 60;

/// The mean of each part of `steps` steps, as far as there are finite losses.
std::vector<double> means_of(const std::vector<double>& losses, std::size_t steps, std::size_t columns) {
  std::vector<double> means;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t begin = c * steps / columns;
    const std::size_t end = std::max(begin + 1, (c + 1) * steps / columns);
    if (end > losses.size()) break;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += losses[i];
    if (!std::isfinite(sum)) break;
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

/// Rows of cells between labels, from the highest value down to 0, and below them the number of the last step.
/// @param cell_of what is at a row, counted from below, and a column
template <typename CellOf>
std::string framed(std::size_t rows, std::size_t columns, double most, std::size_t steps, bool ascii,
                   const CellOf& cell_of) {
  std::string text;
  for (std::size_t row = rows; row-- > 0;) {
    const std::string label = row + 1 == rows ? with_decimals(most, 2) : row == 0 ? "0.00" : "";
    std::string line(6 - std::min<std::size_t>(6, label.size()), ' ');
    line += label + (ascii ? " |" : " │");
    for (std::size_t column = 0; column < columns; ++column) line += cell_of(row, column);
    while (line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  const std::string last = "step " + std::to_string(steps);
  const std::size_t blanks = columns > last.size() + 1 ? columns - last.size() - 1 : 1;
  return text + "        1" + std::string(blanks, ' ') + last + "\n";
}

/// The cell of a line in a column, which comes from the height before and goes to this one.
std::string cell_of_line(std::size_t row, std::size_t before, std::size_t here, bool ascii) {
  if (row > std::max(before, here) || row < std::min(before, here)) return " ";
  if (before == here) return ascii ? "-" : "─";
  if (row != before && row != here) return ascii ? "|" : "│";
  if (ascii) return row == std::max(before, here) ? "." : "'";
  if (row == here) return here < before ? "╰" : "╭";
  return here < before ? "╮" : "╯";
}

std::size_t steps_of(const TwoCurves& curves) { return std::max(curves.right.size(), curves.wrong.size()); }

/// What the highest row stands for.
double most_of(const TwoCurves& curves, const std::vector<double>& right, const std::vector<double>& wrong) {
  double most = curves.guessing;
  for (const auto* means : {&right, &wrong}) {
    for (const double mean : *means) most = std::max(most, std::min(mean, 2 * curves.guessing));
  }
  return most;
}

}  // namespace

std::string loss_curve(const std::vector<double>& losses, bool ascii) {
  constexpr std::size_t rows = 8;
  const std::vector<double> means = means_of(losses, losses.size(), std::min(most_columns, losses.size()));
  const double most = std::max(*std::max_element(means.begin(), means.end()), 1e-9);
  const auto row_of = [&](std::size_t column) {
    return static_cast<std::size_t>(std::clamp(means[column] / most, 0.0, 1.0) * (rows - 1) + 0.5);
  };
  return framed(rows, means.size(), most, losses.size(), ascii, [&](std::size_t row, std::size_t column) {
    return cell_of_line(row, row_of(column == 0 ? 0 : column - 1), row_of(column), ascii);
  });
}

std::string curves_text(const TwoCurves& curves, bool ascii) {
  constexpr std::size_t rows = 12;
  const std::size_t steps = steps_of(curves);
  const std::size_t columns = std::min(most_columns, steps);
  const auto right = means_of(curves.right, steps, columns);
  const auto wrong = means_of(curves.wrong, steps, columns);
  const double most = most_of(curves, right, wrong);
  const std::array<std::string, 3> marks = {ascii ? "o" : "•", ascii ? "x" : "×", "#"};

  const auto is_higher = [&](double mean) { return mean > most; };
  const bool higher =
      std::any_of(right.begin(), right.end(), is_higher) || std::any_of(wrong.begin(), wrong.end(), is_higher);
  const std::string beyond = higher ? "   (highest row: " + with_decimals(most, 2) + " and above)" : "";
  const auto row_of = [&](double mean) {
    return static_cast<std::size_t>(std::clamp(mean / most, 0.0, 1.0) * (rows - 1) + 0.5);
  };
  const auto mark_at = [&](std::size_t row, std::size_t column) -> std::string {
    const bool has_right = column < right.size() && row_of(right[column]) == row;
    const bool has_wrong = column < wrong.size() && row_of(wrong[column]) == row;
    return has_right && has_wrong ? marks[2] : has_right ? marks[0] : has_wrong ? marks[1] : " ";
  };
  return framed(rows, columns, most, steps, ascii, mark_at) + "        " + marks[0] + " " + curves.right_name + "   " +
         marks[1] + " " + curves.wrong_name + "   " + marks[2] + " both" + beyond + "\n";
}

std::string curves_svg(const TwoCurves& curves, const std::string& title, const std::string& wrong) {
  constexpr double left = 48, top = 40, width = 480, height = 220;
  const auto number = [](double value) { return with_decimals(value, 2); };
  const std::size_t steps = steps_of(curves);
  const std::size_t columns = std::min<std::size_t>(120, steps);
  const auto right_means = means_of(curves.right, steps, columns);
  const auto wrong_means = means_of(curves.wrong, steps, columns);
  const double most = most_of(curves, right_means, wrong_means);
  const auto y_of = [&](double loss) { return top + height * (1 - std::min(loss / most, 1.0)); };
  const auto text_at = [&](double x, double y, const std::string& text, const std::string& kind) {
    return "<text class=\"" + kind + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" + text + "</text>\n";
  };
  const auto level = [&](double loss, const std::string& label) {
    const std::string y = number(y_of(loss));
    return "<line class=\"level\" x1=\"" + number(left) + "\" y1=\"" + y + "\" x2=\"" + number(left + width) +
           "\" y2=\"" + y + "\"/>\n" + text_at(left - 6, y_of(loss) + 4, label, "value");
  };
  const auto curve = [&](const std::vector<double>& means, const std::string& kind) {
    std::string points;
    for (std::size_t c = 0; c < means.size(); ++c) {
      const double x = left + width * (static_cast<double>(c) + 0.5) / static_cast<double>(columns);
      points += (c == 0 ? "" : " ") + number(x) + "," + number(y_of(means[c]));
    }
    return "<polyline class=\"" + kind + "\" points=\"" + points + "\"/>\n";
  };
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 560 330\" width=\"560\" height=\"330\" "
         "role=\"img\">\n"
         "<title>" +
         title +
         "</title>\n<style>\n"
         "  text { font: 13px sans-serif; fill: #1a1a1a } .value { text-anchor: end } .end { text-anchor: end }\n"
         "  .page { fill: #ffffff } .level { stroke: #d0d7de } polyline { fill: none; stroke-width: 2 }\n"
         "  .right { stroke: #1b6aaf } .wrong { stroke: #c2410c; stroke-dasharray: 6 3 }\n"
         "  @media (prefers-color-scheme: dark) {\n"
         "    text { fill: #e6edf3 } .page { fill: #0d1117 } .level { stroke: #30363d }\n"
         "    .right { stroke: #5a9bcb } .wrong { stroke: #fb923c }\n"
         "  }\n</style>\n"
         "<rect class=\"page\" width=\"560\" height=\"330\"/>\n" +
         text_at(left, 22, "loss of each step: " + title, "heading") + level(0, "0") +
         level(curves.guessing, number(curves.guessing)) + curve(right_means, "right") + curve(wrong_means, "wrong") +
         text_at(left, top + height + 18, "step 1", "heading") +
         text_at(left + width, top + height + 18, "step " + std::to_string(steps), "end") +
         "<polyline class=\"right\" points=\"48,300 78,300\"/>\n" + text_at(84, 304, "right", "heading") +
         "<polyline class=\"wrong\" points=\"148,300 178,300\"/>\n" + text_at(184, 304, wrong, "heading") + "</svg>\n";
}

}  // namespace attn::training
