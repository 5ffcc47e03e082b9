#include "attention_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "attn/shape.hpp"
#include "lesson/utf8.hpp"

namespace attn {

namespace {

using arma::uword;

using utf8::Character;

/// The characters of a token, with a replacement for those that cannot be shown: a learner's tokenize() may give any
/// bytes. XML excludes U+FFFE and U+FFFF, too.
std::vector<Character> characters_of(const std::string& token, const Character& replacement) {
  std::vector<Character> characters = utf8::characters(token);
  for (Character& character : characters) {
    if (!character.printable() || character.code == 0xFFFE || character.code == 0xFFFF) character = replacement;
  }
  return characters;
}

std::size_t width_of(const std::vector<Character>& characters) {
  std::size_t width = 0;
  for (const Character& character : characters) width += static_cast<std::size_t>(character.columns);
  return width;
}

/// At most so many columns wide; what was cut is shown as "~" or another mark one column wide.
std::vector<Character> cut(std::vector<Character> characters, std::size_t columns, const Character& mark) {
  if (width_of(characters) <= columns) return characters;
  while (!characters.empty() && width_of(characters) + 1 > columns) characters.pop_back();
  characters.push_back(mark);
  return characters;
}

std::string joined(const std::vector<Character>& characters) {
  std::string text;
  for (const Character& character : characters) text += character.bytes;
  return text;
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

void require_square(const std::string& actual, bool fits, std::size_t tokens, const std::string& slices) {
  if (fits) return;
  const std::string count = std::to_string(tokens);
  throw std::invalid_argument("weights is " + actual + ", expected " + count + " x " + count + slices +
                              ", as there are " + count + " tokens");
}

/// "40" for 0.4; "<1" for next to nothing, "-" for nothing.
std::string percent(double weight) {
  if (std::isnan(weight)) return "NaN";
  if (weight == 0) return "-";
  if (weight > 0 && weight < 0.005) return "<1";
  return std::to_string(std::lround(100 * std::clamp(weight, -9.0, 9.0)));
}

char shade(double weight) {
  static const std::string shades = " .:;=+*#%@";
  if (!(weight > 0)) return ' ';
  return shades[std::min<std::size_t>(9, static_cast<std::size_t>(std::min(weight, 1.0) * 10))];
}

/// A token as it labels a row or a column of a text map.
struct Label {
  std::string text;
  std::size_t width;
};

Label label_of(const std::string& token, std::size_t columns) {
  const std::vector<Character> name = cut(characters_of(token, {"?", U'?'}), columns, {"~", U'~'});
  return {joined(name), width_of(name)};
}

constexpr std::size_t terminal_width = 72;
constexpr std::size_t most_rows = 40;

/// How a text map is laid out: for how many tokens, and how wide each part is.
struct Layout {
  std::vector<Label> labels;  ///< of the tokens that are shown
  std::size_t digits;         ///< of their largest number
  std::size_t widest = 0;     ///< of the labels
  std::size_t cell;           ///< columns for a weight
  bool names;                 ///< columns are headed by names, not numbers
  bool only_shades;           ///< one letter per weight

  explicit Layout(const std::vector<std::string>& tokens) {
    const std::size_t shown = std::min(tokens.size(), most_rows);
    for (std::size_t i = 0; i < shown; ++i) {
      labels.push_back(label_of(tokens[i], 14));
      widest = std::max(widest, labels.back().width);
    }
    digits = std::to_string(shown).size();
    const std::size_t available = terminal_width - left();
    const std::size_t named_cell = std::max<std::size_t>(6, widest + 2);
    names = shown * named_cell <= available;
    only_shades = shown * 6 > available;
    cell = names ? named_cell : only_shades ? 1 : 6;
  }

  std::size_t left() const { return digits + 1 + widest; }  ///< "3 example"
};

std::string head_line(const Layout& layout) {
  std::string text = spaces(layout.left()) + (layout.only_shades ? " " : "");
  for (std::size_t j = 0; j < layout.labels.size(); ++j) {
    const std::string number = std::to_string(j + 1);
    if (layout.only_shades) {
      text += number.back();
    } else if (layout.names) {
      text += spaces(layout.cell - layout.labels[j].width) + layout.labels[j].text;
    } else {
      text += spaces(layout.cell - number.size()) + number;
    }
  }
  return text + "\n";
}

std::string line_start(const Layout& layout, std::size_t i) {
  const std::string number = std::to_string(i + 1);
  return spaces(layout.digits - number.size()) + number + " " + layout.labels[i].text +
         spaces(layout.widest - layout.labels[i].width);
}

bool is_zero(const arma::rowvec& row) { return !row.has_nan() && arma::abs(row).max() == 0; }

/// A cell for every weight.
std::string percent_line(const Layout& layout, std::size_t i, const arma::rowvec& row) {
  std::string text = line_start(layout, i);
  for (std::size_t j = 0; j < layout.labels.size(); ++j) {
    const std::string value = percent(row(j));
    text += spaces(layout.cell - value.size() - 1) + value + shade(row(j));
  }
  if (is_zero(row)) text += "\n" + spaces(layout.digits + 1) + "^ attends to no token: all weights are 0";
  return text + "\n";
}

/// A letter for every weight, and the largest in figures.
std::string shade_line(const Layout& layout, std::size_t i, const arma::rowvec& row) {
  std::string text = line_start(layout, i) + "|";
  for (std::size_t j = 0; j < layout.labels.size(); ++j) {
    text += std::isnan(row(j)) ? '?' : row(j) == 0 ? '-' : shade(row(j) / row.max());
  }
  if (is_zero(row)) return text + "| no token\n";
  const uword most = row.index_max();
  return text + "| " + percent(row(most)) + "% at " + std::to_string(most + 1) + "\n";
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- as text

std::string attention_map_text(const arma::mat& weights, const std::vector<std::string>& tokens) {
  const bool fits = weights.n_rows == tokens.size() && weights.n_cols == tokens.size();
  require_square(shape_text(weights), fits, tokens.size(), "");
  if (tokens.empty()) return "(an empty sentence: it has no tokens, and attends to nothing)\n";

  const Layout layout(tokens);
  std::string text = head_line(layout);
  for (std::size_t i = 0; i < layout.labels.size(); ++i) {
    const arma::rowvec row = weights.row(i);
    text += layout.only_shades ? shade_line(layout, i, row) : percent_line(layout, i, row);
  }
  if (layout.labels.size() < tokens.size()) {
    text += "(the first " + std::to_string(layout.labels.size()) + " of " + std::to_string(tokens.size()) +
            " tokens, and which of these they attend to)\n";
  }
  if (!layout.only_shades) return text + "percent of a row's attention; shades .:;=+*#%@ from 10 to 90; - is 0\n";
  return text +
         "columns: last digit of a token's number; after a row its largest weight\n"
         "shades .:;=+*#%@ from a tenth of it to all of it; - is 0\n";
}

// ---------------------------------------------------------------------------------------------------- as a picture

namespace {

const Character replacement = {"\xEF\xBF\xBD", 0xFFFD};

std::string escaped(const std::vector<Character>& characters) {
  std::string text;
  for (const Character& character : characters) {
    switch (character.code) {
      case U'&': text += "&amp;"; break;
      case U'<': text += "&lt;"; break;
      case U'>': text += "&gt;"; break;
      case U'"': text += "&quot;"; break;
      case U'\'': text += "&apos;"; break;
      default: text += character.bytes;
    }
  }
  return text;
}

std::string whole(const std::string& token) { return escaped(characters_of(token, replacement)); }
std::string short_label(const std::string& token) {
  return escaped(cut(characters_of(token, replacement), 14, {"…", U'…'}));
}

std::string attribute(const std::string& name, std::size_t value) {
  return " " + name + "=\"" + std::to_string(value) + "\"";
}

/// What a head does, in a sentence for each token: for readers who cannot see the picture.
std::string description(const arma::cube& weights, const std::vector<std::string>& tokens) {
  std::string text;
  for (uword h = 0; h < weights.n_slices; ++h) {
    text += "Head " + std::to_string(h) + ":";
    for (uword i = 0; i < weights.n_rows; ++i) {
      const arma::rowvec row = weights.slice(h).row(i);
      const uword most = row.index_max();
      text += (i == 0 ? " " : ", ") + whole(tokens[i]);
      text += row.has_nan() || row.max() <= 0
                  ? " attends to no token"
                  : " attends most to " + whole(tokens[most]) + " (" + percent(row(most)) + " percent)";
    }
    text += ". ";
  }
  return text;
}

constexpr std::size_t cell = 44;
constexpr std::size_t margin = 116;  // for the labels, left of a panel and above it
constexpr std::size_t gap = 16;
constexpr std::size_t most_pictured = 64;

std::string cell_svg(double weight, std::size_t x, std::size_t y) {
  const double ink = std::isnan(weight) ? 0 : std::clamp(weight, 0.0, 1.0);
  const std::string value = weight == 0 ? "0" : escaped(characters_of(percent(weight), replacement));
  const std::string style = ink > 0.55 ? "value light" : "value";
  return "    <rect class=\"cell\"" + attribute("x", x) + attribute("y", y) + attribute("width", cell) +
         attribute("height", cell) + " fill-opacity=\"" + std::to_string(ink).substr(0, 5) + "\"/>\n" +
         "    <text class=\"" + style + "\"" + attribute("x", x + cell / 2) + attribute("y", y + cell / 2 + 4) + ">" +
         value + "</text>\n";
}

std::string panel_svg(const arma::mat& weights, const std::vector<std::string>& tokens, uword head) {
  std::string svg = "    <text class=\"head\"" + attribute("x", 0) + attribute("y", 14) + ">head " +
                    std::to_string(head) + "</text>\n";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t middle = margin + i * cell + cell / 2;
    const std::string label = ">" + short_label(tokens[i]) + "</text>\n";
    svg += "    <text class=\"query\"" + attribute("x", margin - 8) + attribute("y", middle + 4) + label;
    svg += "    <text class=\"key\" transform=\"translate(" + std::to_string(middle + 4) + " " +
           std::to_string(margin - 8) + ") rotate(-60)\"" + label;
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      svg += cell_svg(weights(i, j), margin + j * cell, margin + i * cell);
    }
  }
  return svg;
}

/// @param caption the text above the panels
std::string picture(const arma::cube& weights, const std::vector<std::string>& tokens, const std::string& caption) {
  const std::size_t across = std::clamp<std::size_t>(weights.n_slices, 1, tokens.size() > 8 ? 1 : 2);
  const std::size_t down = (weights.n_slices + across - 1) / across;
  const std::size_t side = margin + tokens.size() * cell + 48;  // a slanting label reaches beyond its column
  const std::size_t width = std::max<std::size_t>(gap + across * (side + gap), 420);
  const std::size_t top = 64;
  const std::size_t height = top + (tokens.empty() ? 0 : down * (side + gap));

  std::string sentence;
  for (const std::string& token : tokens) sentence += (sentence.empty() ? "" : " ") + whole(token);
  std::string svg = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
                    attribute("width", width) + attribute("height", height) + " viewBox=\"0 0 " +
                    std::to_string(width) + " " + std::to_string(height) +
                    "\" role=\"img\" aria-labelledby=\"title desc\">\n";
  svg += "  <title id=\"title\">Attention: " + (tokens.empty() ? caption : sentence) + "</title>\n";
  svg += "  <desc id=\"desc\">" + caption + " " + description(weights, tokens) + "</desc>\n";
  svg +=
      "  <style>\n    text { font-family: sans-serif; font-size: 13px; fill: #1a1a1a }\n"
      "    .cell { fill: #1f4e9c; stroke: #c8c8c8 }\n    .value { text-anchor: middle; font-size: 12px }\n"
      "    .light { fill: #ffffff }\n    .query { text-anchor: end }\n    .head { font-weight: bold }\n  "
      "</style>\n";
  svg += "  <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  svg += "  <text" + attribute("x", gap) + attribute("y", 24) + ">" + caption + "</text>\n";
  for (uword h = 0; h < weights.n_slices && !tokens.empty(); ++h) {
    svg += "  <g transform=\"translate(" + std::to_string(gap + h % across * (side + gap)) + " " +
           std::to_string(top + h / across * (side + gap)) + ")\">\n" + panel_svg(weights.slice(h), tokens, h) +
           "  </g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string attention_map_svg(const arma::cube& weights, const std::vector<std::string>& tokens) {
  const bool fits = weights.n_rows == tokens.size() && weights.n_cols == tokens.size() && weights.n_slices > 0;
  require_square(shape_text(weights), fits, tokens.size(), " x H");

  if (tokens.empty()) {
    return picture(arma::cube(), tokens, "An empty sentence: it has no tokens, and attends to nothing.");
  }
  const std::string caption = "A row shows how many percent a token (left) takes from each token (top).";
  const std::size_t shown = std::min(tokens.size(), most_pictured);
  if (shown == tokens.size()) return picture(weights, tokens, caption);
  return picture(weights.subcube(0, 0, 0, shown - 1, shown - 1, weights.n_slices - 1),
                 {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(shown)},
                 caption + " The first " + std::to_string(shown) + " of " + std::to_string(tokens.size()) + " tokens.");
}

}  // namespace attn
