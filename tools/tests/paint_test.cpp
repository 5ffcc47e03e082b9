// Which part of a text is painted how, and that a break changes nothing of it.
#include "learn/screens/paint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "learn/screens/style.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

bool operator==(const Piece& a, const Piece& b) { return a.text == b.text && a.paint == b.paint && a.link == b.link; }
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << '"' << piece.text << "\" painted " << static_cast<int>(piece.paint) << " linked to \"" << piece.link << '"';
}

namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

Row only_row(const std::string& line, Look look = Look::report, int columns = 200) {
  const auto rows = painted({line}, look, columns);
  return rows.size() == 1 ? rows.front() : Row{{"not one row", Paint::error, ""}};
}

/// How a part of a line is painted, when it is a piece of its own.
Paint paint_of(const Row& row, const std::string& text) {
  for (const auto& piece : row) {
    if (piece.text == text) return piece.paint;
  }
  ADD_FAILURE() << "no piece \"" << text << "\" in " << ::testing::PrintToString(row);
  return Paint::usual;
}

// ---------------------------------------------------------------------------------------------------- a verdict

TEST(PaintedReport, HasDimLabels) {
  EXPECT_THAT(only_row("  shape   2 x 2"), ElementsAre(Piece{"  shape", Paint::dim, ""}, Piece{"   2 x 2"}));
  EXPECT_EQ(only_row("speed   forward 1 ms").front().paint, Paint::dim);
  EXPECT_THAT(only_row("The shape  is wrong"), Each(Field(&Piece::paint, Paint::usual)));
}

TEST(PaintedReport, HasTheMistakesNameAsItsLoudestLine) {
  const auto rows = painted({"  note    a hint", "  likely  not scaled"}, Look::report, 80);
  EXPECT_EQ(rows[0].front().paint, Paint::dim);
  EXPECT_THAT(rows[1], ElementsAre(Piece{"  likely  not scaled", Paint::strong, ""}));
}

TEST(PaintedReport, HasALoudNoteWhereNoMistakeIsNamed) {
  EXPECT_THAT(only_row("  note    a hint"), ElementsAre(Piece{"  note    a hint", Paint::strong, ""}));
}

TEST(PaintedReport, KeepsThePaintBehindABreak) {
  const auto rows = painted({"  likely  the scores are not divided by the root"}, Look::report, 30);
  ASSERT_GT(rows.size(), 1u);
  for (const auto& row : rows) EXPECT_EQ(row.back().paint, Paint::strong) << text_of(row);
}

TEST(PaintedReport, DimsAndCutsWhatElseFails) {
  const auto rows =
      painted({"✗ 01 sums", "", "also failing", "  ✗ Sums.Add: a long reason", "", "01 sums: 0 of 2 checks passed"},
              Look::report, 20);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0].front().paint, Paint::bad);
  EXPECT_THAT(rows[2], ElementsAre(Piece{"also failing", Paint::dim, ""}));
  EXPECT_THAT(rows[3], ElementsAre(Piece{"  ✗ Sums.Add: a l...", Paint::dim, ""}));
  EXPECT_EQ(rows[5].front().paint, Paint::usual);
}

TEST(PaintedReport, ColoursACompilersWords) {
  const Row error = only_row("lessons/01_x/x.cpp:22:43: error: no member 't'");
  EXPECT_EQ(paint_of(error, "lessons/01_x/x.cpp:22:43"), Paint::strong);
  EXPECT_EQ(paint_of(error, "error"), Paint::error);
  EXPECT_EQ(paint_of(only_row("lessons/01_x/x.cpp:22:43: warning: unused"), "warning"), Paint::attention);
  EXPECT_EQ(only_row("      |     ^~~~").back().paint, Paint::good);
  EXPECT_EQ(only_row("   22 |   Q.t()").back().paint, Paint::usual);
  EXPECT_THAT(only_row("it says: error: a word"), Each(Field(&Piece::paint, Paint::usual)));
}

TEST(PaintedReport, HasWhatPassedInGreen) {
  EXPECT_EQ(only_row("✓ 01 sums: 2 of 2 checks").front().paint, Paint::good);
  EXPECT_EQ(only_row("passed 01 sums").front().paint, Paint::good);
}

// ---------------------------------------------------------------------------------------------------- other looks

TEST(PaintedHeader, BeginsWithABoldTitle) {
  const auto rows = painted({"01 sums: Sums", "1 of 2 lessons passed"}, Look::header, 80);
  EXPECT_EQ(rows[0].front().paint, Paint::strong);
  EXPECT_EQ(rows[1].front().paint, Paint::dim);
}

TEST(PaintedFooter, HasBoldKeys) {
  EXPECT_THAT(
      only_row("n next  c check all", Look::footer),
      ElementsAre(Piece{"n", Paint::strong, ""}, Piece{" next  "}, Piece{"c", Paint::strong, ""}, Piece{" check all"}));
  EXPECT_THAT(only_row("This is the last lesson.", Look::footer), Each(Field(&Piece::paint, Paint::usual)));
}

TEST(PaintedFooter, HasAGreenBar) {
  for (const std::string& line : {bar(1, 2, 10) + " 1 of 2 checks", in_ascii(bar(1, 2, 10)) + " 1 of 2 checks"}) {
    const Row row = only_row(line, Look::footer);
    ASSERT_EQ(row.size(), 3u) << line;
    EXPECT_EQ(row[0].paint, Paint::good);
    EXPECT_EQ(row[1].paint, Paint::dim);
    EXPECT_EQ(row[2], Piece{" 1 of 2 checks"});
  }
}

TEST(PaintedList, HasACursorAsWideAsTheScreen) {
  const auto rows = painted(
      {"  passed            00 warm up", ">                   01 sums", "  no longer passes  02 x"}, Look::list, 40);
  EXPECT_EQ(paint_of(rows[0], "passed"), Paint::good);
  EXPECT_THAT(rows[1], ElementsAre(Piece{padded(">                   01 sums", 40), Paint::cursor, ""}));
  EXPECT_EQ(paint_of(rows[2], "no longer passes"), Paint::attention);
}

TEST(PaintedComparison, ColoursWhatDiffers) {
  const auto lines = side_by_side("same\none\n", "same\ntwo\n", 40);
  EXPECT_THAT(painted({lines[0]}, Look::comparison, 40).front(), Each(Field(&Piece::paint, Paint::usual)));
  const Row differing = painted({lines[1]}, Look::comparison, 40).front();
  EXPECT_EQ(differing.front().paint, Paint::other);
  EXPECT_EQ(differing.back().paint, Paint::good);
  EXPECT_THAT(differing.back().text, EndsWith("two"));
}

// ------------------------------------------------------------------------------------------------------- links

TEST(Links, AreOnFilesOfTheCourseWithTheirLines) {
  EXPECT_THAT(only_row("see lessons/01_x/x.cpp:22, or lessons/01_x"),
              ElementsAre(Piece{"see "}, Piece{"lessons/01_x/x.cpp:22", Paint::usual, "lessons/01_x/x.cpp"},
                          Piece{", or lessons/01_x"}));
  EXPECT_THAT(only_row("read   lessons/01_x/README.md.", Look::footer),
              Contains(Piece{"lessons/01_x/README.md", Paint::usual, "lessons/01_x/README.md"}));
  EXPECT_THAT(only_row("/home/me/lessons/x.cpp"), Each(Field(&Piece::link, "")));
}

TEST(Links, StayWholeBehindABreak) {
  const auto rows = painted({"  where   lessons/01_x/a_long_name.cpp:22"}, Look::report, 24);
  ASSERT_GT(rows.size(), 1u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].back().link, "lessons/01_x/a_long_name.cpp");
}

TEST(Painted, ChangesNoRowOfTheText) {
  const Lines lines = {"  likely  a b  c",   "✗ 我 " + std::string(50, 'x'),
                       "\t1 | ^~",           "lessons/a.cpp:1:2: error: \x1b[31m e",
                       "\xE9 lessons/b.cpp", "   ",
                       "> now  01",          std::string(30, '#')};
  for (const Look look : {Look::report, Look::header, Look::footer, Look::comparison}) {
    for (int columns = 2; columns < 70; ++columns) {
      Lines rows;
      for (const auto& row : painted(lines, look, columns)) rows.push_back(text_of(row));
      Lines expected;
      for (const auto& line : lines) {
        for (const auto& row : wrapped(line, columns)) expected.push_back(row);
      }
      ASSERT_EQ(rows, expected) << columns;
    }
  }
}

// ------------------------------------------------------------------------------------------------------- styles

TEST(Drawn, HasNoSequenceInPlainStyle) {
  Style style;
  style.plain = true;
  style.links = "file://host/course/";
  EXPECT_EQ(style.drawn({{"bad", Paint::bad, "x.cpp"}}), "bad");
}

TEST(Drawn, KeepsBoldWithoutColours) {
  Style style;
  EXPECT_EQ(style.drawn({{"loud", Paint::error, ""}, {" red", Paint::bad, ""}}), "\x1b[1mloud\x1b[0m red");
}

TEST(Drawn, LinksToTheFile) {
  Style style;
  EXPECT_THAT(style.drawn({{"a.cpp:3", Paint::usual, "a.cpp"}}), Not(HasSubstr("\x1b")));
  style.links = "file://host/my%20course/";
  EXPECT_EQ(style.drawn({{"a.cpp:3", Paint::usual, "a b.cpp"}}),
            "\x1b]8;;file://host/my%20course/a%20b.cpp\x1b\\a.cpp:3\x1b]8;;\x1b\\");
}

}  // namespace
}  // namespace attn::learn
