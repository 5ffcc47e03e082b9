#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "attn/shape.hpp"
#include "shared/attention_map.hpp"
#include "shared/map_words.hpp"

namespace attn {

namespace {

using namespace maps;

/// The blues of attention_map_svg, as near as a terminal's 256 colours come, from little to much: on a dark background
/// each is brighter than the one before, on a light one darker. Next to nothing has none.
struct Colour {
  int background;
  int text;
};
constexpr int white = 231;
constexpr int black = 16;
constexpr std::size_t colours = 9;
constexpr std::array<Colour, colours> palette = {{{17, white},
                                                  {18, white},
                                                  {24, white},
                                                  {25, white},
                                                  {31, black},
                                                  {74, black},
                                                  {117, black},
                                                  {153, black},
                                                  {195, black}}};

/// @param step from 1
std::string painted(std::size_t step, const std::string& text, const TextStyle& style) {
  const Colour colour = palette.at(style.light ? colours - step : step - 1);
  return "\x1b[48;5;" + std::to_string(colour.background) + ";38;5;" + std::to_string(colour.text) + "m" + text +
         "\x1b[0m";
}

std::string dim(const std::string& text) { return "\x1b[2m" + text + "\x1b[0m"; }

std::vector<std::string> shades(const TextStyle& style) {
  if (style.ascii) return {" ", ".", ":", ";", "=", "+", "*", "#", "%", "@"};
  return {" ", "░", "▒", "▓", "█"};
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

constexpr std::size_t longest_label = 14;
constexpr std::size_t most_tokens = 40;
constexpr std::size_t longest_downwards = 8;

/// How a map is laid out: for how many tokens, and how wide each part is.
struct Layout {
  enum class Heads { words, downwards, numbers };

  std::vector<std::vector<Character>> labels;  ///< of the tokens that are shown
  std::size_t widest = 0;                      ///< of the labels
  std::size_t cell = 0;                        ///< columns for a weight
  bool figures = true;                         ///< weights are percentages, not only colours or shades
  Heads heads = Heads::words;
  const TextStyle& style;
  Character mark;  ///< where a label was cut

  Layout(const std::vector<std::string>& tokens, const TextStyle& given)
      : style(given), mark(given.ascii ? Character{"~", U'~'} : Character{"…", U'…'}) {
    for (std::size_t i = 0; i < std::min(tokens.size(), most_tokens); ++i) {
      std::vector<Character> label = characters_of(tokens[i], {"?", U'?'});
      if (style.ascii) {
        std::replace_if(
            label.begin(), label.end(), [](const Character& c) { return c.code >= 0x80; }, Character{"?", U'?'});
      }
      labels.push_back(cut(std::move(label), longest_label, mark));
      widest = std::max(widest, width_of(labels.back()));
    }
    place(static_cast<std::size_t>(std::max(style.table_columns(), 60)));
  }

  std::size_t rows() const { return labels.size(); }

 private:
  void place(std::size_t columns) {
    const std::size_t least = style.colours ? 4 : 5;  // "100" and a space, or a shade too
    const std::size_t available = columns - widest - 1;
    cell = std::min(available / rows(), std::max<std::size_t>(6, widest + 2));
    if (cell >= least) return;
    figures = false;
    const std::size_t for_cells = available - 6;  // the row's largest weight: "| 100%"
    cell = rows() * 2 <= for_cells ? 2 : 1;
    if (rows() > for_cells) labels.resize(for_cells);
    const auto narrow = [](const auto& label) {
      return std::all_of(label.begin(), label.end(), [](const Character& c) { return c.columns < 2; });
    };
    const bool fits = cell == 2 || std::all_of(labels.begin(), labels.end(), narrow);
    heads = fits ? Heads::downwards : Heads::numbers;
  }
};

std::string joined(const std::vector<Character>& characters) {
  std::string text;
  for (const Character& character : characters) text += character.bytes;
  return text;
}

/// Words over their columns: as they are, or as much as there is room for.
std::string head_of_words(const Layout& layout) {
  std::string text = spaces(layout.widest + 1);
  for (const auto& label : layout.labels) {
    std::vector<Character> name = label;
    while (width_of(name) > layout.cell - 1) name.pop_back();
    text += spaces(layout.cell - 1 - width_of(name)) + joined(name) + " ";
  }
  return text + "\n";
}

/// Words written downwards, each over its column and ending above it.
std::string head_downwards(const Layout& layout) {
  std::vector<std::vector<std::string>> words;  // of letters as wide as a cell
  std::size_t height = 0;
  for (const auto& label : layout.labels) {
    words.emplace_back();
    for (const Character& letter : label) {
      if (letter.columns == 0 && !words.back().empty()) {
        words.back().back() += letter.bytes;
      } else {
        words.back().push_back(std::string(letter.bytes) +
                               spaces(layout.cell - std::min(layout.cell, static_cast<std::size_t>(letter.columns))));
      }
    }
    if (words.back().size() > longest_downwards) {
      words.back().resize(longest_downwards - 1);
      words.back().push_back(std::string(layout.mark.bytes) + spaces(layout.cell - 1));
    }
    height = std::max(height, words.back().size());
  }
  std::string text;
  for (std::size_t line = height; line > 0; --line) {
    text += spaces(layout.widest + 1);
    for (const auto& word : words) text += word.size() < line ? spaces(layout.cell) : word[word.size() - line];
    text += "\n";
  }
  return text;
}

std::string head_of_numbers(const Layout& layout) {
  std::string text = spaces(layout.widest + 1);
  for (std::size_t j = 1; j <= layout.rows(); ++j) text += std::to_string(j % 10);
  return text + "\n";
}

std::string head(const Layout& layout) {
  if (layout.heads == Layout::Heads::words) return head_of_words(layout);
  return layout.heads == Layout::Heads::downwards ? head_downwards(layout) : head_of_numbers(layout);
}

/// A weight as a percentage, and its colour or shade.
std::string cell_with_figure(const Layout& layout, double weight, double most) {
  const std::string value = percent(weight);
  const std::string text = spaces(layout.cell - 1 - value.size()) + value;
  if (!layout.style.colours) {
    const auto marks = shades(layout.style);
    return text + (std::isnan(weight) ? " " : marks[step_of(weight, most, marks.size())]);
  }
  const std::size_t step = std::isnan(weight) ? 0 : step_of(weight, most, colours + 1);
  if (step > 0) return painted(step, text + " ", layout.style);
  return (weight < 0.005 ? dim(text) : text) + " ";  // what is masked, and next to nothing, recedes
}

/// A weight as a colour or shade alone: nothing where it is 0, and a dot for next to nothing.
std::string cell_of_shade(const Layout& layout, double weight, double most) {
  if (std::isnan(weight)) return std::string(layout.cell, '?');
  if (weight == 0) return spaces(layout.cell);
  const auto marks = shades(layout.style);
  const std::size_t step = step_of(weight, most, layout.style.colours ? colours + 1 : marks.size());
  if (step == 0) {
    const std::string dot = (layout.style.ascii ? "'" : "·") + spaces(layout.cell - 1);
    return layout.style.colours ? dim(dot) : dot;
  }
  if (layout.style.colours) return painted(step, spaces(layout.cell), layout.style);
  std::string text;
  for (std::size_t i = 0; i < layout.cell; ++i) text += marks[step];
  return text;
}

/// A weight as it is shown in its cell.
std::string cell_text(const Layout& layout, double weight, double most) {
  return layout.figures ? cell_with_figure(layout, weight, most) : cell_of_shade(layout, weight, most);
}

std::string row_text(const Layout& layout, std::size_t i, const arma::rowvec& row, double most) {
  const auto& label = layout.labels[i];
  std::string text = joined(label) + spaces(layout.widest - width_of(label) + 1);
  for (std::size_t j = 0; j < layout.rows(); ++j) text += cell_text(layout, row(j), most);
  const bool nothing = !row.has_nan() && arma::abs(row).max() == 0;
  if (layout.figures) return text + (nothing ? "\n^ attends to no token: all weights are 0\n" : "\n");
  const arma::vec finite = row.elem(arma::find_finite(row));
  return text + "| " + (nothing ? "none" : finite.is_empty() ? "NaN" : percent(finite.max()) + "%") + "\n";
}

std::string colour_key(const Layout& layout, double most) {
  const TextStyle& style = layout.style;
  std::string text = "0 ";
  if (!style.colours) {
    const auto marks = shades(style);
    text += std::accumulate(marks.begin() + 1, marks.end(), std::string());
  } else {
    for (std::size_t step = 1; step <= colours; ++step) text += painted(step, "  ", style);
  }
  const std::string dot = style.ascii ? "'" : "·";
  return text + " " + percent(most) + " %   (" + (layout.figures ? "- is 0" : "nothing is 0, " + dot + " nearly") +
         ")\n";
}

}  // namespace

std::string attention_map_text(const arma::mat& weights, const std::vector<std::string>& tokens,
                               const TextStyle& style) {
  const bool fits = weights.n_rows == tokens.size() && weights.n_cols == tokens.size();
  require_square(shape_text(weights), fits, tokens.size(), "");
  if (tokens.empty()) return "(an empty sentence: it has no tokens, and attends to nothing)\n";

  const Layout layout(tokens, style);
  const double most = largest(weights);
  std::string text = head(layout);
  for (std::size_t i = 0; i < layout.rows(); ++i) text += row_text(layout, i, weights.row(i), most);
  if (layout.rows() < tokens.size()) {
    text += "(the first " + std::to_string(layout.rows()) + " of " + std::to_string(tokens.size()) +
            " tokens, and what they attend to)\n";
  }
  if (layout.heads == Layout::Heads::numbers) text += "columns: last digit of the row's number, from 1\n";
  if (!layout.figures) text += "after a row its largest weight\n";
  return text + colour_key(layout, most);
}

}  // namespace attn
