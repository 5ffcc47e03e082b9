// Text as it stands in a terminal: how wide it is, where it is broken, and how it is spelled where only ASCII is known.
#include "lesson/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::learn {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::filesystem::path root = ATTN_ROOT;

std::string without_spaces(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
  text.erase(std::remove_if(text.begin(), text.end(), is_space), text.end());
  return text;
}

/// The widest row of a page, in columns.
int widest(const std::vector<std::string>& rows) {
  int most = 0;
  for (const auto& row : rows) most = std::max(most, columns_of(row));
  return most;
}

/// What side_by_side() shows on its two sides, without spaces: the left one is `half` columns wide.
std::pair<std::string, std::string> sides(const std::vector<std::string>& rows, int half) {
  std::pair<std::string, std::string> texts;
  for (const auto& row : rows) {
    const std::string left = padded(row, half);
    texts.first += left;
    texts.second += row.substr(std::min(row.size(), left.size() + 3));  // and the mark between spaces
  }
  return {without_spaces(texts.first), without_spaces(texts.second)};
}

std::vector<std::string> beside(const std::string& left, const std::string& right, int columns) {
  return lines_of(text_of(side_by_side(left, right, columns)));
}

/// A line such as a learner may write: deep or shallow, words short or long, narrow or wide, with tabs and combining
/// marks.
std::string random_line(std::mt19937& random) {
  static const std::vector<std::string> pieces = {" ",  " ",      "  ",  "\t",         "x",
                                                  "QK", "scores", "我",  "喜欢玩游戏", "e\u0301",
                                                  "😀",  "\u200b", "ᵀ√E", "- ",         std::string(90, 'w')};
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  std::string line(below(3) == 0 ? below(240) : below(12), ' ');
  for (std::size_t left = below(30); left > 0; --left) line += pieces[below(pieces.size())];
  return line;
}

TEST(Columns, AreTwoForAWideCharacterNoneForACombiningMarkAndOneForAnInvalidByte) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"", 0},       {"QKT", 3},  {"√E · Kᵀ", 7},  {"我喜欢", 6},
      {"，。", 4},   {"안녕", 4}, {"😀", 2},        {"e\u0301te\u0301", 3},
      {"a\xE9z", 3}, {"\xC3", 1}, {"\xE6\x88z", 3}};
  for (const auto& [text, columns] : cases) EXPECT_EQ(columns_of(text), columns) << text;
}

TEST(Padded, FillsUpToTheWidthAndNeverBeyond) {
  EXPECT_EQ(padded("ab", 4), "ab  ");
  EXPECT_EQ(padded("abcdef", 4), "abcd");
  EXPECT_EQ(padded("我喜欢", 5), "我喜 ");
  EXPECT_EQ(padded("", 2), "  ");
}

TEST(Lines, AreWithoutTheirNewlines) {
  EXPECT_THAT(lines_of("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_THAT(wrapped("the scores are not divided", 20), ElementsAre("the scores are not", "divided"));
  EXPECT_THAT(wrapped("twenty columns wide.", 20), ElementsAre("twenty columns wide."));
  EXPECT_THAT(wrapped("twenty columns wide. More", 20), ElementsAre("twenty columns wide.", "More"));
}

TEST(Wrapped, GoesOnUnderTheTextOfALabelAnIndentedLineAndAListItem) {
  EXPECT_THAT(wrapped("  likely  the scores are not divided by √E, as they should be", 30),
              ElementsAre("  likely  the scores are not", "          divided by √E, as", "          they should be"));
  EXPECT_THAT(wrapped("    one two three four five", 20), ElementsAre("    one two three", "    four five"));
  EXPECT_THAT(wrapped("- one two three four five six", 20), ElementsAre("- one two three four", "  five six"));
}

TEST(Wrapped, CutsAWordThatIsTooWide) {
  EXPECT_THAT(wrapped(std::string(45, 'x'), 20),
              ElementsAre(std::string(20, 'x'), std::string(20, 'x'), std::string(5, 'x')));
  EXPECT_THAT(wrapped("我喜欢玩游戏我喜欢玩游戏", 20), ElementsAre("我喜欢玩游戏我喜欢玩", "游戏"));
}

TEST(Wrapped, LetsNoTabAndNoEscapeSequenceThrough) {
  EXPECT_THAT(wrapped("\tif (x)\ty;", 60), ElementsAre("        if (x)  y;"));
  EXPECT_THAT(wrapped("我\tx", 60), ElementsAre("我      x"));
  EXPECT_THAT(wrapped("\x1b[2J\x07gone?\x7f\u009b", 60), ElementsAre("?[2J?gone???"));
  EXPECT_THAT(wrapped("as Windows ends it\r\n", 60), ElementsAre("as Windows ends it"));
  EXPECT_THAT(wrapped("caf\xE9", 60), ElementsAre("caf?"));
}

std::vector<std::string> paragraphs(const std::string& markdown) { return lines_of(text_of(paragraphs_of(markdown))); }

TEST(HarmlessText, KeepsItsLinesAndLetsNoEscapeSequenceThrough) {
  EXPECT_EQ(harmless_text("no folder \x1B[31mred\nexpected one"), "no folder ?[31mred\nexpected one");
  EXPECT_EQ(harmless_text(""), "");
}

TEST(Paragraphs, JoinTheLinesOfProse) {
  EXPECT_THAT(paragraphs("one\ntwo\n\nthree\n  four\n"), ElementsAre("one two", "", "three four"));
  EXPECT_THAT(paragraphs("one\n  \ntwo"), ElementsAre("one", "  ", "two"));
}

TEST(Paragraphs, KeepListsTablesAndCode) {
  EXPECT_THAT(paragraphs("- one\n  goes on\n- two\n"), ElementsAre("- one goes on", "- two"));
  EXPECT_THAT(paragraphs("see\n| a | b |\n| c | d |\nand\n"), ElementsAre("see", "| a | b |", "| c | d |", "and"));
  EXPECT_THAT(paragraphs("so:\n```cpp\nint a;\n\nint b;\n```\nthen\n"),
              ElementsAre("so:", "int a;", "", "int b;", "then"));
  EXPECT_EQ(paragraphs_of("```\nint a;\n```\n").front().spans.front().role, Role::code);
}

TEST(Paragraphs, HaveNoBackticksAroundCode) {
  const Lines lines = paragraphs_of("the rows of\n`A` and `sum(A,\n1)`\n```\n`x`\n```\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text(), "the rows of A and sum(A, 1)");
  EXPECT_EQ(lines[0].spans.at(1).text, "A");
  EXPECT_EQ(lines[0].spans.at(1).role, Role::important);
  EXPECT_EQ(lines[1].text(), "`x`") << "code stays";
  EXPECT_EQ(with_code("a ` alone").text(), "a ` alone");
}

TEST(Words, StandInPlaceOfSymbols) {
  EXPECT_EQ(in_words("✗ 01 self\n✓ 02\n"), "FAILED 01 self\npassed 02\n");
  EXPECT_EQ(in_words("√E, no ✗"), "√E, no ✗");
}

TEST(Ascii, SpellsWhatItCanAndMarksWhatItCannot) {
  EXPECT_EQ(in_ascii("✗ 01 self · Q Kᵀ / √E ≠ 1"), "FAILED 01 self - Q K^T / sqrt E != 1");
  EXPECT_EQ(in_ascii("1 × 2 ± 3 → ∞ …"), "1 x 2 +- 3 -> inf ...");
  EXPECT_EQ(in_ascii("我"), "?");
  EXPECT_EQ(in_ascii("\xE9"), "?");
}

TEST(Bar, ShowsTheShareDone) {
  EXPECT_EQ(bar(0, 4, 4).text(), "░░░░");
  EXPECT_EQ(bar(1, 4, 8).text(), "██░░░░░░");
  EXPECT_EQ(bar(4, 4, 4).text(), "████");
  EXPECT_EQ(bar(0, 0, 2).text(), "░░");
  EXPECT_EQ(bar(3, 4, -5).text(), "░");
  EXPECT_EQ(in_ascii(bar(1, 4, 8).text()), "##......");
  EXPECT_EQ(in_words(bar(42, 43, 40).text()).find('.'), 39u) << "it is full only when all is done";
}

TEST(ShellWord, IsInQuotesWhereAShellWouldReadSomethingElse) {
  EXPECT_EQ(shell_word("models/trained/a-b_1.2"), "models/trained/a-b_1.2");
  EXPECT_EQ(shell_word("my training"), "'my training'");
  EXPECT_EQ(shell_word("it's; ls"), "'it'\\''s; ls'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Cut, EndsWithDotsWhereTheLineIsTooWide) {
  EXPECT_EQ(cut("one two", 7), "one two");
  EXPECT_EQ(cut("one two three", 8), "one t...");
  EXPECT_EQ(cut("one two", 2), "..");
  EXPECT_EQ(cut("我我我我", 6), "我...");
}

TEST(SideBySide, PutsEqualLinesInOneRowAndMarksTheOthers) {
  EXPECT_THAT(beside("a\nmine\nb\nextra\n", "a\nyours\nb\n", 23),
              ElementsAre("a            a", "mine       | yours", "b            b", "extra      < "));
  EXPECT_THAT(beside("a\n", "new\na\n", 23), ElementsAre("           > new", "a            a"));
  EXPECT_THAT(beside("", "", 23), IsEmpty());
}

TEST(SideBySide, TellsWhatDiffersFromWhatIsTheSame) {
  const Lines rows = side_by_side("same\none\n", "same\ntwo\n", 13);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].spans.front().role, Role::same);
  ASSERT_EQ(rows[1].spans.size(), 3u);
  EXPECT_EQ(rows[1].spans[0].role, Role::left);
  EXPECT_EQ(rows[1].spans[2].role, Role::right);
  EXPECT_EQ(rows[1].spans[2].text, " two");
}

TEST(UnifiedDiff, ShowsChangesWithThreeLinesAround) {
  const std::string before = "1\n2\n3\n4\n5\n", after = "\n6\n7\n8\n9\n10\n11\n12\n";
  const Lines lines = unified_diff(before + "mine" + after + "x\n", before + "yours\nmore" + after);
  EXPECT_THAT(lines_of(text_of(lines)),
              ElementsAre("line 3, reference line 3", "  3", "  4", "  5", "- mine", "+ yours", "+ more", "  6", "  7",
                          "  8", "", "line 11, reference line 12", "  10", "  11", "  12", "- x"));
  EXPECT_EQ(lines[4].spans.front().role, Role::left);
  EXPECT_EQ(lines[5].spans.front().role, Role::right);
  EXPECT_THAT(unified_diff("a\nb\n", "a\nb\n"), IsEmpty());
  EXPECT_THAT(lines_of(text_of(unified_diff("", "a\n"))), ElementsAre("line 1, reference line 1", "+ a"));
}

TEST(UnifiedDiff, JoinsChangesThatAreNear) {
  EXPECT_THAT(lines_of(text_of(unified_diff("a\n1\n2\nb\n", "c\n1\n2\nd\n"))),
              ElementsAre("line 1, reference line 1", "- a", "+ c", "  1", "  2", "- b", "+ d"));
}

TEST(SideBySide, LetsNoTabAndNoEscapeSequenceThrough) {
  EXPECT_THAT(beside("\tif (x) {\r\n", "  if (x) {\n", 60), ElementsAre(StartsWith("        if (x) {      ")));
  EXPECT_THAT(beside("\x1b[2J", "", 60), Each(Not(HasSubstr("\x1b"))));
}

TEST(SideBySide, GoesOnFurtherInWhereALineIsTooWide) {
  EXPECT_THAT(beside("  const auto all = of(many);", "", 43),
              ElementsAre("  const auto all =   < ", "    of(many);        < "));
  EXPECT_THAT(beside("              is_a_very_long_name();", "", 43),  // deeper than half of the half
              ElementsAre("          is_a_very_ < ", "          long_name( < ", "          );         < "));
  EXPECT_THAT(beside("", std::string(200, ' '), 43), ElementsAre(std::string(20, ' ') + " > "));
}

TEST(SideBySide, ShowsEveryLessonAtManyWidthsAndLosesNothing) {
  for (const auto& lesson : lesson::find_lessons(root)) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(lesson.stub_folder())) {
      const std::string stub = lesson::read_file(entry.path());
      const std::string solution = lesson::read_file(lesson.solution_folder() / entry.path().filename());
      const std::pair texts(without_spaces(stub), without_spaces(solution));
      for (int columns = 20; columns <= 220; columns += 7) {  // lines have up to 120; AnyLine goes through all widths
        const int half = (columns - 3) / 2;
        const auto rows = beside(stub, solution, columns);
        ASSERT_LE(widest(rows), columns) << entry.path() << " at " << columns;
        ASSERT_EQ(sides(rows, half), texts) << entry.path() << " at " << columns;
      }
      ++files;
    }
    EXPECT_GT(files, 0) << lesson.name;
  }
}

TEST(AnyLine, IsShownAtAnyWidthAndLosesNothing) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const std::string line = random_line(random);
    const std::string other = random_line(random);
    for (const int columns :
         {1, 2, 3, 4, 5, 7, 8, 10, 19, 20, 33, 60, 80, 133, 220, 1 + static_cast<int>(random() % 220)}) {
      const auto rows = wrapped(line, columns);
      ASSERT_LE(widest(rows), std::max(columns, 2)) << line << " at " << columns;
      std::string joined;
      for (const auto& row : rows) joined += row;
      ASSERT_EQ(without_spaces(joined), without_spaces(line)) << "at " << columns;
      const auto pairs = beside(line, other, columns);
      const int half = std::max(2, (columns - 3) / 2);
      ASSERT_LE(widest(pairs), std::max(columns, 7)) << line << "\n" << other << " at " << columns;
      ASSERT_EQ(sides(pairs, half), std::pair(without_spaces(line), without_spaces(other))) << "at " << columns;
    }
  }
}

/// How many times as long code(4 * n) takes as code(n), in processor time: about 4 where it is linear, 16 where it is
/// quadratic. The least time of each counts, and tries end with a ratio below the limit: the machine may be busy.
double time_ratio(const std::function<void(std::size_t)>& code, std::size_t n, double limit) {
  const auto seconds = [&](std::size_t size) {
    const auto begin = std::clock();
    code(size);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  double once = std::numeric_limits<double>::infinity();
  double four_times = once;
  for (int attempt = 0; attempt < 4 && !(four_times < limit * once); ++attempt) {
    once = std::min(once, seconds(n));
    four_times = std::min(four_times, seconds(4 * n));
  }
  return four_times / once;
}

TEST(AMegabyte, IsShownSoon) {
  constexpr std::size_t size = 1 << 20;
  const std::string solution = lesson::read_file(root / "solutions/01_self_attention_v1/self_attention_v1.cpp");
  for (const std::string piece : {"scores ", "}\n", "我", "x", " ", "\t"}) {
    std::string text;
    while (text.size() < size) text += piece;
    const auto show = [&](std::size_t length) {
      const std::string part = text.substr(0, length - length % piece.size());
      EXPECT_LE(widest(wrapped(part, 80)), 80);
      EXPECT_LE(widest(beside(part, solution, 80)), 80);
    };
    EXPECT_LT(time_ratio(show, size / 4, 10), 10) << piece;
  }
}

TEST(Counted, HasAPluralBeyondOne) {
  EXPECT_EQ(counted(0, "check"), "0 checks");
  EXPECT_EQ(counted(1, "check"), "1 check");
  EXPECT_EQ(counted(2, "check"), "2 checks");
}

TEST(HoursText, SaysMinutesBelowAnHour) {
  EXPECT_EQ(hours_text(45), "45 minutes");
  EXPECT_EQ(hours_text(60), "1 hour");
  EXPECT_EQ(hours_text(90), "1.5 hours");
  EXPECT_EQ(hours_text(1960), "32.7 hours");
  EXPECT_EQ(hours_text(1200), "20 hours");
}

TEST(RightAligned, PutsSpacesBeforeTheNumber) {
  EXPECT_EQ(right_aligned(75, 5), "   75");
  EXPECT_EQ(right_aligned(-75, 2), "-75");
}

}  // namespace
}  // namespace attn::learn
