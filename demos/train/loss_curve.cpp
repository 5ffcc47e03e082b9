#include "loss_curve.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

namespace attn::training {

namespace {

constexpr std::size_t rows = 8;
constexpr std::size_t most_columns = 60;

/// The mean of each part of the steps.
std::vector<double> means_of(const std::vector<double>& losses) {
  const std::size_t columns = std::min(most_columns, losses.size());
  std::vector<double> means;
  for (std::size_t c = 0; c < columns; ++c) {
    const auto begin = static_cast<std::ptrdiff_t>(c * losses.size() / columns);
    const auto end = static_cast<std::ptrdiff_t>((c + 1) * losses.size() / columns);
    means.push_back(std::accumulate(losses.begin() + begin, losses.begin() + end, 0.0) /
                    static_cast<double>(end - begin));
  }
  return means;
}

/// A cell that is filled from below, from 0 to 1.
std::string cell(double share, bool ascii) {
  static const std::array<std::string, 9> eighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const std::array<std::string, 4> thirds = {" ", ".", ":", "#"};
  const auto step = [&](std::size_t steps) {
    return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(steps) + 0.5);
  };
  return ascii ? thirds.at(step(3)) : eighths.at(step(8));
}

}  // namespace

std::string loss_curve(const std::vector<double>& losses, bool ascii) {
  const std::vector<double> means = means_of(losses);
  const double most = std::max(*std::max_element(means.begin(), means.end()), 1e-9);
  std::string text;
  for (std::size_t row = rows; row-- > 0;) {
    char label[32];
    std::snprintf(label, sizeof label, "%6.2f ", most);
    std::string line = row + 1 == rows ? label : row == 0 ? "  0.00 " : "       ";
    line += ascii ? "|" : "│";
    for (const double mean : means) line += cell(mean / most * rows - static_cast<double>(row), ascii);
    while (line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  const std::string last = "step " + std::to_string(losses.size());
  const std::size_t blanks = means.size() > last.size() + 1 ? means.size() - last.size() - 1 : 1;
  return text + "        1" + std::string(blanks, ' ') + last + "\n";
}

}  // namespace attn::training
