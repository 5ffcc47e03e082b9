// The drawings of lesson 10's demonstration.
#include "shared/attention_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <stdexcept>
#include <utility>

#include "lesson/text.hpp"

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using Tokens = std::vector<std::string>;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Tokens many(std::size_t size) {
  Tokens tokens;
  for (std::size_t i = 0; i < size; ++i) tokens.push_back("word" + std::to_string(i));
  return tokens;
}

arma::mat evenly(arma::uword size) { return arma::mat(size, size, arma::fill::ones) / static_cast<double>(size); }

TextStyle style_of(int columns, bool plain, bool ascii = false) {
  TextStyle style;
  style.columns = columns;
  style.plain = plain;
  style.colours = !plain;
  style.ascii = ascii;
  return style;
}

const TextStyle in_ascii = style_of(72, true, true);
const TextStyle in_shades = style_of(72, true);
const TextStyle in_colour = style_of(72, false);

/// The text without the sequences that colour it.
std::string without_colour(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
    } else {
      plain += text[at];
    }
  }
  return plain;
}

/// The pairs of background and text colour, in the order in which the cells are shown.
std::vector<std::pair<int, int>> colours_of(const std::string& text) {
  static const std::regex sequence("\x1b\\[48;5;([0-9]+);38;5;([0-9]+)m");
  std::vector<std::pair<int, int>> colours;
  for (std::sregex_iterator found(text.begin(), text.end(), sequence), end; found != end; ++found) {
    colours.emplace_back(std::stoi((*found)[1]), std::stoi((*found)[2]));
  }
  return colours;
}

/// The relative luminance (WCAG 2) of one of the 216 colours of a terminal's cube.
double luminance(int colour) {
  const auto linear = [](int step) {
    const double value = (step == 0 ? 0 : 55 + 40 * step) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const int cube = colour - 16;
  return 0.2126 * linear(cube / 36) + 0.7152 * linear(cube / 6 % 6) + 0.0722 * linear(cube % 6);
}

TEST(AttentionMapText, ShowsPercentagesAndShadesByName) {
  const auto lines = lines_of(attention_map_text({{0.25, 0.75}, {0.96, 0.04}}, {"this", "is"}, in_ascii));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "      this    is ");
  EXPECT_EQ(lines[1], "this    25:   75#");  // rows look, columns are looked at
  EXPECT_EQ(lines[2], "is      96@    4 ");
  EXPECT_THAT(lines[3], HasSubstr(" 96 %"));
}

TEST(AttentionMapText, ScalesToItsLargestWeight) {
  EXPECT_THAT(attention_map_text({{0.02, 0.01}, {0.001, 0}}, {"a", "b"}, in_shades),
              AllOf(HasSubstr(" 2█"), HasSubstr(" 1▒"), HasSubstr("<1 "), HasSubstr("0 ░▒▓█ 2 %")));
  const auto pale = colours_of(attention_map_text({{0.02, 0.01}, {0.001, 0.002}}, {"a", "b"}, in_colour));
  const auto strong = colours_of(attention_map_text({{0.4, 0.2}, {0.02, 0.04}}, {"a", "b"}, in_colour));
  EXPECT_EQ(pale, strong);
}

TEST(AttentionMapText, ColoursCellsSoThatTheirTextCanBeRead) {
  arma::mat weights(1, 1, arma::fill::ones);
  const auto key = colours_of(attention_map_text(weights, {"a"}, in_colour));
  ASSERT_GT(key.size(), 5U);
  double before = 0;
  for (std::size_t i = 1; i < key.size(); ++i) {  // after the only cell comes the colour key, from little to much
    const double background = luminance(key[i].first);
    const double text = luminance(key[i].second);
    EXPECT_GT(background, before) << "colour " << key[i].first;
    EXPECT_GE((std::max(background, text) + 0.05) / (std::min(background, text) + 0.05), 4.5) << key[i].first;
    before = background;
  }
  EXPECT_EQ(key.front(), key.back());  // the largest weight has the last colour
}

TEST(AttentionMapText, HasNoEscapeSequenceWithoutColour) {
  for (const std::size_t size : {3U, 30U}) {
    EXPECT_THAT(attention_map_text(evenly(size), many(size), in_shades), Not(HasSubstr("\x1b")));
    EXPECT_THAT(attention_map_text(evenly(size), many(size), in_colour), HasSubstr("\x1b[48;5;"));
  }
}

TEST(AttentionMapText, IsAsciiWhereNothingElseCanBeShown) {
  for (const Tokens& tokens : {Tokens(3, "喜欢"), Tokens(30, "喜欢"), Tokens(12, "averyveryverylongword")}) {
    const std::string text = attention_map_text(evenly(tokens.size()), tokens, in_ascii);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); }))
        << text;
  }
}

TEST(AttentionMapText, AlignsChineseCharactersTwoColumnsWide) {
  const auto lines = lines_of(attention_map_text(evenly(4), {"我", "喜欢", "gpt", "x"}, in_ascii));
  ASSERT_EQ(lines.size(), 6U);
  const auto chinese = lines_of(without_colour(attention_map_text(evenly(4), {"我", "喜欢", "gpt", "x"}, in_colour)));
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(columns_of(chinese[i]), columns_of(chinese[0])) << chinese[i];
}

TEST(AttentionMapText, ShowsExactlyZeroAndNextToNothing) {
  const std::string text = attention_map_text({{0, 1}, {0.001, 0.999}}, {"this", "is"}, in_ascii);
  EXPECT_THAT(text, AllOf(HasSubstr(" - "), HasSubstr("100@"), HasSubstr("<1 ")));
  EXPECT_EQ(colours_of(attention_map_text({{0, 1}, {0, 1}}, {"a", "b"}, in_colour)).size(), 2U + 9U);
}

TEST(AttentionMapText, SaysThatARowOfZerosAttendsToNoToken) {
  const std::string text = attention_map_text({{0, 0}, {0.5, 0.5}}, {"this", "is"}, in_ascii);
  EXPECT_EQ(count(text, "attends to no token"), 1U);
  EXPECT_LT(text.find("attends to no token"), text.find("\nis "));
  EXPECT_THAT(attention_map_text(arma::mat(), {}, in_ascii), HasSubstr("empty sentence"));
}

TEST(AttentionMapText, FitsIntoTheTerminal) {
  for (const int columns : {60, 72, 80, 100, 133, 200}) {
    for (const std::size_t size : {1U, 2U, 4U, 7U, 8U, 10U, 11U, 13U, 16U, 19U, 20U, 26U, 30U, 36U, 40U, 41U, 89U}) {
      for (const Tokens& tokens : {many(size), Tokens(size, "一个很长很长很长很长的词"), Tokens(size, "我")}) {
        for (const auto& style : {style_of(columns, false), style_of(columns, true, true)}) {
          const std::string text = without_colour(attention_map_text(evenly(size), tokens, style));
          for (const auto& line : lines_of(text)) {
            ASSERT_LE(columns_of(line), columns) << size << " tokens\n" << text;
          }
        }
      }
    }
  }
}

TEST(AttentionMapText, ShortensWordsThenWritesThemDownwardsThenNumbersTheColumns) {
  const auto short_words =
      lines_of(without_colour(attention_map_text(evenly(10), Tokens(10, "avery"), style_of(60, false))));
  EXPECT_THAT(short_words[0], HasSubstr(" aver aver "));
  EXPECT_THAT(short_words[10], HasSubstr("avery "));
  const auto downwards = lines_of(attention_map_text(evenly(20), many(20), in_ascii));
  EXPECT_THAT(downwards[0], AllOf(HasSubstr("w w w"), Not(HasSubstr("wo"))));
  EXPECT_THAT(downwards[5], HasSubstr("0 1 2 3 4 5 6 7 8 9 0 1"));
  EXPECT_THAT(lines_of(attention_map_text(evenly(20), Tokens(20, "我"), in_shades))[0], HasSubstr("我我我"));
  const std::string numbered = attention_map_text(evenly(36), Tokens(36, "喜欢"), in_shades);
  EXPECT_THAT(lines_of(numbered)[0], HasSubstr("12345678901234"));
  EXPECT_THAT(numbered, HasSubstr("last digit"));
}

TEST(AttentionMapText, SaysWhatItLeavesOut) {
  arma::mat weights(70, 70, arma::fill::zeros);
  weights.col(64).fill(0.9);
  weights.col(2).fill(0.1);
  weights.row(5).zeros();
  const std::string text = attention_map_text(weights, many(70), in_ascii);
  EXPECT_THAT(text, AllOf(HasSubstr("the first 40 of 70 tokens"), HasSubstr("| 90%"), HasSubstr("| none")));
}

TEST(AttentionMapText, ShowsNaN) {
  const arma::mat one = {{arma::datum::nan, 1}, {0.5, 0.5}};
  arma::mat many_weights = evenly(30);
  many_weights.row(3).fill(arma::datum::nan);
  for (const auto& style : {in_ascii, in_colour}) {
    EXPECT_THAT(attention_map_text(one, {"a", "b"}, style), HasSubstr("NaN"));
    EXPECT_THAT(attention_map_text(many_weights, many(30), style), AllOf(HasSubstr("??????"), HasSubstr("| NaN")));
  }
}

TEST(AttentionMapText, LetsNoControlCharacterThrough) {
  const std::string text = attention_map_text(evenly(2), {"a\x1b[2J", "\xE5\x96"}, in_ascii);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xE5")), HasSubstr("a?[2J"), HasSubstr("??")));
}

std::string svg_of(const arma::cube& weights, const Tokens& tokens) {
  return attention_map_svg(weights, tokens, "The weights are random numbers.");
}

arma::cube two_heads() {
  arma::cube weights(2, 2, 2);
  weights.slice(0) = {{0.25, 0.75}, {1, 0}};
  weights.slice(1) = {{0.6, 0.4}, {0, 0}};
  return weights;
}

TEST(AttentionMapSvg, HasAPanelForEachHead) {
  const std::string svg = svg_of(two_heads(), {"this", "is"});
  EXPECT_EQ(count(svg, "<g "), 3U);
  EXPECT_THAT(svg, AllOf(HasSubstr(">mean of 2 heads<"), HasSubstr(">head 0<"), HasSubstr(">head 1<"),
                         Not(HasSubstr(">head 2<"))));
  EXPECT_EQ(count(svg, "<rect class=\"cell "), 12U);
  EXPECT_EQ(count(svg, "class=\"query\""), 6U);
  EXPECT_EQ(count(svg, "class=\"key "), 6U);
  for (const char* value : {">25<", ">75<", ">100<", ">60<", ">40<", ">43<", ">50<"}) {
    EXPECT_EQ(count(svg, value), 1U) << value;
  }
  EXPECT_EQ(count(svg, "class=\"value t0\""), 4U);
}

TEST(AttentionMapSvg, ShowsItInWordsWithAColourKeyAndTheOrigin) {
  const std::string svg = svg_of(two_heads(), {"this", "is"});
  EXPECT_THAT(svg, AllOf(HasSubstr("<title id=\"title\">Attention: this is</title>"), HasSubstr("<desc id=\"desc\">"),
                         HasSubstr("role=\"img\""), HasSubstr("this attends most to is (75 percent)"),
                         HasSubstr("is attends to no token")));
  EXPECT_THAT(svg_of(two_heads() / 4, {"this", "is"}),
              AllOf(HasSubstr(">this is</text>"), HasSubstr(">25 %</text>"),
                    HasSubstr(">The weights are random numbers.</text>"), HasSubstr("class=\"cell s9\"")));
}

/// The number in an attribute, where `part` occurs first.
int number_after(const std::string& svg, const std::string& part) {
  const std::size_t at = svg.find(part);
  return at == std::string::npos ? -1 : std::stoi(svg.substr(at + part.size()));
}

TEST(AttentionMapSvg, HasColoursForDarkPages) {
  const std::string svg = svg_of(two_heads(), {"this", "is"});
  const auto dark = svg.find("@media (prefers-color-scheme: dark)");
  ASSERT_NE(dark, std::string::npos);
  for (const std::string rule : {".page {", " text {", ".s0 {", ".s9 {", ".t0 {", ".t9 {"}) {
    EXPECT_NE(svg.find(rule), std::string::npos);
    EXPECT_LT(svg.find(rule), dark);
    EXPECT_NE(svg.find(rule, dark), std::string::npos) << rule;
  }
}

TEST(AttentionMapSvg, HasPanelsInRowsThatFitOnAPage) {
  const std::string svg = svg_of(arma::cube(4, 4, 8, arma::fill::value(0.25)), many(4));
  EXPECT_EQ(count(svg, "class=\"panel\" transform=\"translate(16 "), 2U);  // nine panels, five in a row
  EXPECT_LE(number_after(svg, " width=\""), 1232);
  const std::string small = svg_of(arma::cube(2, 2, 1, arma::fill::ones), {"a", "b"});
  EXPECT_LE(number_after(small, "<rect class=\"cell s9\" x=\""), 16) << "no empty space around panels";
  EXPECT_LE(number_after(small, "<rect class=\"cell s9\" x=\"16\" y=\""), 48);
}

TEST(AttentionMapSvg, KeepsChineseUprightAndSlantsLongWords) {
  const std::string chinese = svg_of(two_heads(), {"我", "很长的游戏"});
  EXPECT_THAT(chinese, AllOf(Not(HasSubstr("rotate")), HasSubstr(">很</tspan>"), HasSubstr(">戏</tspan>")));
  const std::string latin = svg_of(two_heads(), {"a", "sentence"});
  EXPECT_EQ(count(latin, "rotate(-45)"), 6U);
  EXPECT_THAT(svg_of(two_heads(), {"a", "cat"}), Not(HasSubstr("rotate")));
}

TEST(AttentionMapSvg, EscapesWhatXmlReservesAndReplacesWhatIsNoCharacter) {
  const std::string svg = svg_of(two_heads(), {"<a&b>", "\"it's\""});
  EXPECT_THAT(svg, AllOf(HasSubstr("&lt;a&amp;b&gt;"), HasSubstr("&quot;it&apos;s&quot;"), Not(HasSubstr("<a&b>"))));
  EXPECT_THAT(svg_of(two_heads(), {"喜😀", "x\xFFy\x01"}),
              AllOf(HasSubstr("喜😀"), HasSubstr("x\uFFFDy\uFFFD"), Not(HasSubstr("\xFF")), Not(HasSubstr("\x01"))));
}

TEST(AttentionMapSvg, SaysThatASentenceIsEmpty) {
  const std::string svg = svg_of(arma::cube(0, 0, 2), {});
  EXPECT_EQ(count(svg, "An empty sentence"), 3U);
  EXPECT_EQ(count(svg, "<g "), 0U);
}

TEST(AttentionMapSvg, SaysWhatItLeavesOut) {
  arma::cube weights(70, 70, 2);
  weights.each_slice() = evenly(70);
  const std::string svg = svg_of(weights, many(70));
  EXPECT_THAT(svg, AllOf(HasSubstr("The first 64 of 70 tokens."), HasSubstr("word63"), Not(HasSubstr("word64"))));
  EXPECT_EQ(count(svg, "<rect class=\"cell "), 3U * 64 * 64);
}

TEST(AttentionMap, RejectsSizesThatDoNotFit) {
  const auto rejected = [](const std::string& words) {
    return ThrowsMessage<std::invalid_argument>(HasSubstr("weights is " + words));
  };
  EXPECT_THAT([] { attention_map_text(arma::mat(2, 3), {"a", "b"}, in_ascii); }, rejected("2 x 3, expected 2 x 2"));
  EXPECT_THAT([] { attention_map_text(arma::mat(3, 2), {"a", "b"}, in_ascii); }, rejected("3 x 2, expected 2 x 2"));
  EXPECT_THAT([] { attention_map_text(arma::mat(3, 3), {}, in_ascii); }, rejected("3 x 3, expected 0 x 0"));
  EXPECT_THAT([] { attention_map_text(arma::mat(), {"a"}, in_ascii); }, rejected("0 x 0, expected 1 x 1"));
  EXPECT_THAT([] { svg_of(arma::cube(2, 3, 4), {"a", "b"}); }, rejected("2 x 3 x 4, expected 2 x 2 x H"));
  EXPECT_THAT([] { svg_of(arma::cube(3, 2, 4), {"a", "b"}); }, rejected("3 x 2 x 4, expected 2 x 2 x H"));
  EXPECT_THAT([] { svg_of(arma::cube(2, 2, 0), {"a", "b"}); }, rejected("2 x 2 x 0, expected 2 x 2 x H"));
  EXPECT_THAT([] { svg_of(arma::cube(2, 2, 4), {}); }, rejected("2 x 2 x 4, expected 0 x 0 x H"));
}

}  // namespace
}  // namespace attn
