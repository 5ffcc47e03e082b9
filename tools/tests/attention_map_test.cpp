// The drawings of lesson 10's demonstration.
#include "attention_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace attn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using Tokens = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) lines.push_back(row);
  return lines;
}

/// For these tests: ASCII is one column wide, Chinese two, and nothing else occurs in them.
std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    columns += byte < 0x80 ? 1 : byte >= 0xE0 ? 2 : 0;
  }
  return columns;
}

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

TEST(AttentionMapText, ShowsPercentagesAndShadesByName) {
  const auto lines = lines_of(attention_map_text({{0.25, 0.75}, {0.96, 0.04}}, {"this", "is"}));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "        this    is");
  EXPECT_EQ(lines[1], "1 this   25:   75#");  // rows look, columns are looked at
  EXPECT_EQ(lines[2], "2 is     96@    4 ");
  EXPECT_THAT(lines[3], HasSubstr("percent"));
}

TEST(AttentionMapText, AlignsChineseCharactersTwoColumnsWide) {
  const auto lines = lines_of(attention_map_text(evenly(4), {"我", "喜欢", "gpt", "x"}));
  ASSERT_EQ(lines.size(), 6U);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(columns_of(lines[i]), columns_of(lines[0])) << lines[i];
}

TEST(AttentionMapText, ShowsExactlyZeroAndNextToNothing) {
  const std::string text = attention_map_text({{0, 1}, {0.001, 0.999}}, {"this", "is"});
  EXPECT_THAT(text, AllOf(HasSubstr(" - "), HasSubstr("100@"), HasSubstr("<1 ")));
}

TEST(AttentionMapText, SaysThatARowOfZerosAttendsToNobody) {
  const std::string text = attention_map_text({{0, 0}, {0.5, 0.5}}, {"this", "is"});
  EXPECT_EQ(count(text, "attends to no token"), 1U);
  EXPECT_LT(text.find("attends to no token"), text.find("2 is"));
}

TEST(AttentionMapText, SaysThatASentenceIsEmpty) {
  EXPECT_THAT(attention_map_text(arma::mat(), {}), HasSubstr("empty sentence"));
}

TEST(AttentionMapText, FitsIntoSeventyTwoColumns) {
  for (std::size_t size = 1; size < 90; ++size) {
    for (const Tokens& tokens : {many(size), Tokens(size, "一个很长很长很长很长的词"), Tokens(size, "我")}) {
      const std::string text = attention_map_text(evenly(size), tokens);
      for (const auto& line : lines_of(text)) ASSERT_LE(columns_of(line), 72U) << size << " tokens\n" << text;
    }
  }
}

TEST(AttentionMapText, NumbersTheColumnsWhenNamesAreTooWide) {
  const std::string text = attention_map_text(evenly(10), many(10));
  EXPECT_THAT(lines_of(text)[0], AllOf(HasSubstr(" 1 "), Not(HasSubstr("word"))));
  EXPECT_EQ(count(text, "word"), 10U);
}

TEST(AttentionMapText, SaysWhatItLeavesOut) {
  arma::mat weights(70, 70, arma::fill::zeros);
  weights.col(64).fill(0.9);
  weights.col(2).fill(0.1);
  weights.row(5).zeros();
  const std::string text = attention_map_text(weights, many(70));
  EXPECT_THAT(text, AllOf(HasSubstr("the first 40 of 70 tokens"), HasSubstr("90% at 65"), HasSubstr("no token")));
}

TEST(AttentionMapText, ShowsNaN) {
  EXPECT_THAT(attention_map_text({{arma::datum::nan, 1}, {0.5, 0.5}}, {"a", "b"}), HasSubstr("NaN"));
  arma::mat many_weights = evenly(30);
  many_weights.row(3).fill(arma::datum::nan);
  EXPECT_THAT(attention_map_text(many_weights, many(30)), HasSubstr("??????"));
}

TEST(AttentionMapText, LetsNoControlCharacterThrough) {
  const std::string text = attention_map_text(evenly(2), {"a\x1b[2J", "\xE5\x96"});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xE5")), HasSubstr("a?[2J"), HasSubstr("??")));
}

TEST(AttentionMapText, RejectsSizesThatDoNotFit) {
  const auto expects = [](const arma::mat& weights, const Tokens& tokens, const std::string& words) {
    EXPECT_THAT([&] { attention_map_text(weights, tokens); },
                ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("weights is "), HasSubstr(words))));
  };
  expects(arma::mat(2, 3), {"a", "b"}, "2 x 3, expected 2 x 2");
  expects(arma::mat(3, 2), {"a", "b"}, "3 x 2, expected 2 x 2");
  expects(arma::mat(3, 3), {"a", "b"}, "3 x 3, expected 2 x 2");
  expects(arma::mat(3, 3), {}, "3 x 3, expected 0 x 0");
  expects(arma::mat(), {"a"}, "0 x 0, expected 1 x 1");
}

arma::cube two_heads() {
  arma::cube weights(2, 2, 2);
  weights.slice(0) = {{0.25, 0.75}, {1, 0}};
  weights.slice(1) = {{0.6, 0.4}, {0, 0}};
  return weights;
}

/// A picture is one line a thing; every element that is opened is closed, in order. (The test of the demonstration
/// reads it with an XML parser.)
void expect_well_formed(const std::string& svg) {
  Tokens open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.front() == '?' || tag.back() == '/') continue;
    if (tag.front() == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(AttentionMapSvg, HasAPanelForEachHead) {
  const std::string svg = attention_map_svg(two_heads(), {"this", "is"});
  EXPECT_EQ(count(svg, "<g "), 2U);
  EXPECT_THAT(svg, AllOf(HasSubstr(">head 0<"), HasSubstr(">head 1<"), Not(HasSubstr(">head 2<"))));
  EXPECT_EQ(count(svg, "<rect class=\"cell\""), 8U);
  EXPECT_EQ(count(svg, "class=\"query\""), 4U);
  EXPECT_EQ(count(svg, "class=\"key\""), 4U);
  for (const char* value : {">25<", ">75<", ">100<", ">60<", ">40<"}) EXPECT_EQ(count(svg, value), 1U) << value;
  EXPECT_EQ(count(svg, ">0<"), 3U);
  expect_well_formed(svg);
}

TEST(AttentionMapSvg, TellsItInWords) {
  const std::string svg = attention_map_svg(two_heads(), {"this", "is"});
  EXPECT_THAT(svg, AllOf(HasSubstr("<title id=\"title\">Attention: this is</title>"), HasSubstr("<desc id=\"desc\">"),
                         HasSubstr("role=\"img\""), HasSubstr("this attends most to is (75 percent)"),
                         HasSubstr("is attends to no token")));
}

TEST(AttentionMapSvg, EscapesWhatXmlReserves) {
  const std::string svg = attention_map_svg(two_heads(), {"<a&b>", "\"it's\""});
  EXPECT_THAT(svg, AllOf(HasSubstr("&lt;a&amp;b&gt;"), HasSubstr("&quot;it&apos;s&quot;"), Not(HasSubstr("<a&b>"))));
  expect_well_formed(svg);
}

TEST(AttentionMapSvg, KeepsCharactersAndReplacesWhatIsNone) {
  const std::string svg = attention_map_svg(two_heads(), {"喜😀", "x\xFFy\x01"});
  EXPECT_THAT(svg,
              AllOf(HasSubstr("喜😀"), HasSubstr("x\uFFFDy\uFFFD"), Not(HasSubstr("\xFF")), Not(HasSubstr("\x01"))));
}

TEST(AttentionMapSvg, SaysThatASentenceIsEmpty) {
  const std::string svg = attention_map_svg(arma::cube(0, 0, 2), {});
  EXPECT_EQ(count(svg, "An empty sentence"), 3U);
  EXPECT_EQ(count(svg, "<g "), 0U);
  expect_well_formed(svg);
}

TEST(AttentionMapSvg, SaysWhatItLeavesOut) {
  arma::cube weights(70, 70, 2);
  weights.each_slice() = evenly(70);
  const std::string svg = attention_map_svg(weights, many(70));
  EXPECT_THAT(svg, AllOf(HasSubstr("The first 64 of 70 tokens."), HasSubstr("word63"), Not(HasSubstr("word64"))));
  EXPECT_EQ(count(svg, "<rect class=\"cell\""), 2U * 64 * 64);
}

TEST(AttentionMapSvg, RejectsSizesThatDoNotFit) {
  const auto expects = [](const arma::cube& weights, const Tokens& tokens, const std::string& words) {
    EXPECT_THAT([&] { attention_map_svg(weights, tokens); },
                ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("weights is "), HasSubstr(words))));
  };
  expects(arma::cube(2, 3, 4), {"a", "b"}, "2 x 3 x 4, expected 2 x 2 x H");
  expects(arma::cube(3, 2, 4), {"a", "b"}, "3 x 2 x 4, expected 2 x 2 x H");
  expects(arma::cube(2, 2, 0), {"a", "b"}, "2 x 2 x 0, expected 2 x 2 x H");
  expects(arma::cube(2, 2, 4), {}, "2 x 2 x 4, expected 0 x 0 x H");
}

}  // namespace
}  // namespace attn
