#include "two_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace attn::training {

namespace {

constexpr std::size_t rows = 12;
constexpr std::size_t most_columns = 60;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::size_t steps_of(const TwoCurves& curves) { return std::max(curves.right.size(), curves.wrong.size()); }

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

/// What the highest row stands for.
double most_of(const TwoCurves& curves, const std::vector<double>& right, const std::vector<double>& wrong) {
  double most = curves.guessing;
  for (const auto* means : {&right, &wrong}) {
    for (const double mean : *means) most = std::max(most, std::min(mean, 2 * curves.guessing));
  }
  return most;
}

}  // namespace

std::string curves_text(const TwoCurves& curves, bool ascii) {
  const std::size_t steps = steps_of(curves);
  const std::size_t columns = std::min(most_columns, steps);
  const auto right = means_of(curves.right, steps, columns);
  const auto wrong = means_of(curves.wrong, steps, columns);
  const double most = most_of(curves, right, wrong);
  const std::array<std::string, 3> marks = {ascii ? "o" : "•", ascii ? "x" : "×", "#"};

  const auto row_of = [&](double mean) {
    return static_cast<std::size_t>(std::clamp(mean / most, 0.0, 1.0) * (rows - 1) + 0.5);
  };
  std::string text;
  for (std::size_t row = rows; row-- > 0;) {
    std::string line = row + 1 == rows ? "  " + number(most) + " " : row == 0 ? "  0.00 " : "       ";
    line += ascii ? "|" : "│";
    for (std::size_t c = 0; c < columns; ++c) {
      const bool has_right = c < right.size() && row_of(right[c]) == row;
      const bool has_wrong = c < wrong.size() && row_of(wrong[c]) == row;
      line += has_right && has_wrong ? marks[2] : has_right ? marks[0] : has_wrong ? marks[1] : " ";
    }
    while (line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  const std::string last = "step " + std::to_string(steps);
  const std::size_t blanks = columns > last.size() + 1 ? columns - last.size() - 1 : 1;
  text += "        1" + std::string(blanks, ' ') + last + "\n";
  return text + "        " + marks[0] + " right   " + marks[1] + " with the mistake   " + marks[2] + " both\n";
}

std::string curves_svg(const TwoCurves& curves, const std::string& title, const std::string& wrong) {
  constexpr double left = 48, top = 40, width = 480, height = 220;
  const std::size_t steps = steps_of(curves);
  const std::size_t columns = std::min<std::size_t>(120, steps);
  const auto right_means = means_of(curves.right, steps, columns);
  const auto wrong_means = means_of(curves.wrong, steps, columns);
  const double most = most_of(curves, right_means, wrong_means);
  const auto y_of = [&](double loss) { return top + height * (1 - std::min(loss / most, 1.0)); };
  const auto text_at = [](double x, double y, const std::string& text, const std::string& kind) {
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
