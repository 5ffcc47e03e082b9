#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "attn/shape.hpp"
#include "lesson/text.hpp"
#include "shared/attention_map.hpp"
#include "shared/map_words.hpp"

namespace attn {

namespace {

using namespace maps;
using arma::uword;

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

std::string attribute(const std::string& name, std::size_t value) {
  return " " + name + "=\"" + std::to_string(value) + "\"";
}

std::string text_at(const std::string& kind, std::size_t x, std::size_t y, const std::string& content) {
  return "<text class=\"" + kind + "\"" + attribute("x", x) + attribute("y", y) + ">" + content + "</text>\n";
}

// ------------------------------------------------------------------------------------------------------ colours

/// The colours of cells, from little to much; the first ones have their text in one colour, and the others in another.
struct Palette {
  std::array<const char*, 10> fills;
  std::size_t first_texts;
  const char* first_text;
  const char* last_text;
};

constexpr std::size_t steps = 10;
constexpr Palette light = {
    {"#f4f8fd", "#e1ecf7", "#cbdef0", "#abd0e6", "#82bbdb", "#59a1cf", "#4a93c6", "#1b6aaf", "#0b4d94", "#08306b"},
    7,
    "#111111",
    "#ffffff"};
constexpr Palette dark = {
    {"#161f2b", "#1b2d42", "#1f3d5c", "#245079", "#2b6597", "#4a90c4", "#5a9bcb", "#7ab1da", "#a5cdea", "#d6eaf8"},
    5,
    "#ffffff",
    "#111111"};

std::string rules(const Palette& palette, const std::string& page, const std::string& text, const std::string& line) {
  std::string css = "    .page { fill: " + page + " } text { fill: " + text + " } .cell { stroke: " + line + " }\n";
  for (std::size_t i = 0; i < steps; ++i) {
    css += "    .s" + std::to_string(i) + " { fill: " + palette.fills.at(i) + " } .t" + std::to_string(i) +
           " { fill: " + (i < palette.first_texts ? palette.first_text : palette.last_text) + " }\n";
  }
  return css;
}

std::string style_sheet() {
  return "  <style>\n    text { font-family: sans-serif; font-size: 13px }\n"
         "    .value { text-anchor: middle; font-size: 12px } .query { text-anchor: end } .upright { text-anchor: "
         "middle }\n"
         "    .head { font-weight: bold } .sentence { font-size: 18px; font-weight: bold }\n" +
         rules(light, "#ffffff", "#1a1a1a", "#d0d7de") + "    @media (prefers-color-scheme: dark) {\n" +
         rules(dark, "#0d1117", "#e6edf3", "#30363d") + "    }\n  </style>\n";
}

// ------------------------------------------------------------------------------------------------------- labels

constexpr std::size_t letter = 8;  // as wide as a column of text, about
constexpr std::size_t line_height = 16;
constexpr std::size_t gap = 16;
constexpr std::size_t most_wide = 1200;  // pixels for the panels of a row
constexpr std::size_t most_pictured = 64;

/// A token beside its row and above its column.
struct Label {
  enum class Way { level, stacked, slanting };  ///< above its column

  std::vector<Character> letters;  ///< of a token, which has to outlive this
  std::size_t width;               ///< in pixels, about
  std::size_t half_cell;
  bool wide;  ///< of Chinese characters, or others that are never turned
  Way way = Way::level;

  Label(const std::string& token, std::size_t cell)
      : letters(cut(characters_of(token, replacement), 14, {"…", U'…'})),
        width(width_of(letters) * letter),
        half_cell(cell / 2),
        wide(std::any_of(letters.begin(), letters.end(), [](const Character& c) { return c.columns == 2; })) {
    if (width + 4 > cell) way = wide ? Way::stacked : Way::slanting;
  }

  std::size_t height() const {
    if (way == Way::slanting) return width * 7 / 10 + line_height;
    return way == Way::stacked ? letters.size() * line_height : line_height;
  }

  /// How far it reaches to the right of the middle of its column.
  std::size_t reach() const { return way == Way::slanting ? width * 7 / 10 + line_height / 2 : half_cell; }

  /// Above a column with its middle at x, ending at y.
  std::string above(std::size_t x, std::size_t y) const {
    if (way == Way::slanting) {
      return "<text class=\"key\" transform=\"translate(" + std::to_string(x + 4) + " " + std::to_string(y) +
             ") rotate(-45)\">" + escaped(letters) + "</text>\n";
    }
    if (way == Way::level) return text_at("key upright", x, y, escaped(letters));
    std::string stack;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      stack += "<tspan" + attribute("x", x) + attribute("y", y - (letters.size() - 1 - i) * line_height) + ">" +
               escaped({letters[i]}) + "</tspan>";
    }
    return "<text class=\"key upright\">" + stack + "</text>\n";
  }
};

// ------------------------------------------------------------------------------------------------------- panels

/// Where things are in a panel.
struct Panel {
  std::vector<Label> labels;
  std::size_t cell;
  std::size_t left = 0;  ///< of the cells, beside the labels
  std::size_t top = 0;   ///< of the cells, below the panel's name and the labels
  std::size_t width = 0;
  std::size_t height = 0;

  explicit Panel(const std::vector<std::string>& tokens) : cell(tokens.size() > 8 ? 30 : 44) {
    for (const std::string& token : tokens) labels.emplace_back(token, cell);
    const auto slants = [](const Label& label) { return label.way == Label::Way::slanting; };
    if (std::any_of(labels.begin(), labels.end(), slants)) {  // then all words of the row do that
      for (Label& label : labels) label.way = label.wide ? label.way : Label::Way::slanting;
    }
    for (const Label& label : labels) {
      left = std::max(left, label.width + gap / 2);
      top = std::max(top, label.height() + line_height + gap);
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      width = std::max(width, left + i * cell + cell / 2 + labels[i].reach());
    }
    height = top + labels.size() * cell;
  }
};

std::string cell_svg(double weight, double most, std::size_t cell, std::size_t x, std::size_t y) {
  const std::string step = std::to_string(step_of(weight, most, steps));
  const std::string value = weight == 0 ? "0" : percent(weight) == "<1" ? "&lt;1" : percent(weight);
  return "    <rect class=\"cell s" + step + "\"" + attribute("x", x) + attribute("y", y) + attribute("width", cell) +
         attribute("height", cell) + "/>\n    " + text_at("value t" + step, x + cell / 2, y + cell / 2 + 4, value);
}

std::string panel_svg(const Panel& panel, const arma::mat& weights, double most, const std::string& name) {
  std::string svg = "    " + text_at("head", 0, line_height, name);
  for (std::size_t i = 0; i < panel.labels.size(); ++i) {
    const std::size_t middle = i * panel.cell + panel.cell / 2;
    svg += "    " + text_at("query", panel.left - gap / 2, panel.top + middle + 4, escaped(panel.labels[i].letters));
    svg += "    " + panel.labels[i].above(panel.left + middle, panel.top - gap / 2);
    for (std::size_t j = 0; j < panel.labels.size(); ++j) {
      svg += cell_svg(weights(i, j), most, panel.cell, panel.left + j * panel.cell, panel.top + i * panel.cell);
    }
  }
  return svg;
}

std::string colour_key(double most, std::size_t x, std::size_t y) {
  std::string svg = "  " + text_at("scale", x, y + 12, "0");
  for (std::size_t i = 0; i < steps; ++i) {
    svg += "  <rect class=\"s" + std::to_string(i) + "\"" + attribute("x", x + 16 + i * gap) + attribute("y", y) +
           attribute("width", gap) + attribute("height", gap) + "/>\n";
  }
  return svg + "  " + text_at("scale", x + 24 + steps * gap, y + 12, percent(most) + " %");
}

// ------------------------------------------------------------------------------------------------- the whole page

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

/// The tokens of a sentence as one, in at most so many columns.
std::string sentence_of(const std::vector<std::string>& tokens, std::size_t columns) {
  const std::string text = joined(tokens, " ");
  return escaped(cut(characters_of(text, replacement), columns, {"…", U'…'}));
}

std::string frame(std::size_t width, std::size_t height, const std::string& title, const std::string& described) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
         attribute("width", width) + attribute("height", height) + " viewBox=\"0 0 " + std::to_string(width) + " " +
         std::to_string(height) +
         "\" role=\"img\" aria-labelledby=\"title desc\">\n"
         "  <title id=\"title\">Attention: " +
         title + "</title>\n  <desc id=\"desc\">" + described + "</desc>\n" + style_sheet() +
         "  <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
}

/// @param captions lines below the panels
std::string picture(const arma::cube& weights, const std::vector<std::string>& tokens,
                    const std::vector<std::string>& captions) {
  const Panel panel(tokens);
  std::vector<std::pair<std::string, arma::mat>>
      panels;  // the mean of the heads, where there are several, and each head
  if (weights.n_slices > 1) {
    panels.emplace_back("mean of " + std::to_string(weights.n_slices) + " heads", arma::mean(weights, 2));
  }
  for (uword h = 0; h < weights.n_slices; ++h) panels.emplace_back("head " + std::to_string(h), weights.slice(h));
  const std::size_t across = std::clamp<std::size_t>((most_wide + gap) / (panel.width + gap), 1, panels.size());
  const std::size_t down = (panels.size() + across - 1) / across;
  constexpr std::size_t top = 48;
  const std::size_t below = top + down * (panel.height + gap);

  std::size_t width = across * (panel.width + gap) - gap;
  std::string described;
  for (const std::string& caption : captions) {
    width = std::max(width, caption.size() * 13 / 2);
    described += caption + " ";
  }
  const std::size_t height = below + gap + captions.size() * 20 + 2 * gap;
  const double most = largest(weights);
  std::string svg = frame(width + 2 * gap, height, sentence_of(tokens, 1000), described + description(weights, tokens));
  svg += "  " + text_at("sentence", gap, 28, sentence_of(tokens, width / 11));
  for (std::size_t p = 0; p < panels.size(); ++p) {
    svg += "  <g class=\"panel\" transform=\"translate(" + std::to_string(gap + p % across * (panel.width + gap)) +
           " " + std::to_string(top + p / across * (panel.height + gap)) + ")\">\n" +
           panel_svg(panel, panels[p].second, most, panels[p].first) + "  </g>\n";
  }
  svg += colour_key(most, gap, below);
  for (std::size_t i = 0; i < captions.size(); ++i) {
    svg += "  " + text_at("caption", gap, below + 2 * gap + 8 + i * 20, captions[i]);
  }
  return svg + "</svg>\n";
}

std::string empty_picture() {
  const std::string caption = "An empty sentence: it has no tokens, and attends to nothing.";
  return frame(420, 48, caption, caption) + "  " + text_at("caption", gap, 28, caption) + "</svg>\n";
}

}  // namespace

std::string attention_map_svg(const arma::cube& weights, const std::vector<std::string>& tokens,
                              const std::string& origin) {
  const bool fits = weights.n_rows == tokens.size() && weights.n_cols == tokens.size() && weights.n_slices > 0;
  require_square(shape_text(weights), fits, tokens.size(), " x H");
  if (tokens.empty()) return empty_picture();

  std::vector<std::string> captions = {"Percent of a token's attention (row) that goes to each token (column).",
                                       origin};
  const std::size_t shown = std::min(tokens.size(), most_pictured);
  if (shown == tokens.size()) return picture(weights, tokens, captions);
  captions.push_back("The first " + std::to_string(shown) + " of " + std::to_string(tokens.size()) + " tokens.");
  return picture(weights.subcube(0, 0, 0, shown - 1, shown - 1, weights.n_slices - 1),
                 {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(shown)}, captions);
}

}  // namespace attn
