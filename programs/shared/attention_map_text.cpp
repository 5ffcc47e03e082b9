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

/// From little to much, of a terminal's 256 colours: each brighter than the one before, and the text on it in black or
/// white, whatever the terminal's own colours are.
struct Colour {
  int background;
  int text;
};
constexpr int white = 231;
constexpr int black = 16;
constexpr std::array<Colour, 9> palette = {{{53, white},
                                            {54, white},
                                            {24, white},
                                            {30, black},
                                            {36, black},
                                            {71, black},
                                            {77, black},
                                            {148, black},
                                            {226, black}}};

/// The only escape sequences of the maps.
std::string painted(std::size_t step, const std::string& text) {
  return "\x1b[48;5;" + std::to_string(palette.at(step).background) + ";38;5;" + std::to_string(palette.at(step).text) +
         "m" + text + "\x1b[0m";
}

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

/// A weight as it is shown in its cell.
std::string cell_text(const Layout& layout, double weight, double most) {
  const bool unusual = std::isnan(weight) || weight == 0;
  std::string text;
  if (layout.figures) {
    const std::string value = percent(weight);
    text = spaces(layout.cell - 1 - value.size()) + value;
  } else if (unusual) {
    text = std::string(layout.cell, weight == 0 ? '-' : '?');
  }
  if (layout.style.colours) {
    if (layout.figures) text += " ";
    if (text.empty()) text = spaces(layout.cell);
    return unusual ? text : painted(step_of(weight, most, palette.size()), text);
  }
  const auto marks = shades(layout.style);
  const std::string& shade = marks[step_of(weight, most, marks.size())];
  if (layout.figures) return text + shade;
  for (std::size_t i = 0; i < layout.cell && !unusual; ++i) text += shade;
  return text;
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

std::string colour_key(const TextStyle& style, double most) {
  std::string text = "0 ";
  if (!style.colours) {
    const auto marks = shades(style);
    text += std::accumulate(marks.begin() + 1, marks.end(), std::string());
  } else {
    for (std::size_t step = 0; step < palette.size(); ++step) text += painted(step, "  ");
  }
  return text + " " + percent(most) + " %   (- is 0)\n";
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
  return text + colour_key(style, most);
}

}  // namespace attn
