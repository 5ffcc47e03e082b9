// Lines as rows of a terminal: roles, links, and that a break changes nothing of them.
#include "learn/screens/style.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "lesson/text.hpp"

namespace attn::learn {

bool operator==(const Piece& a, const Piece& b) { return a.text == b.text && a.role == b.role && a.link == b.link; }
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << '"' << piece.text << "\" in role " << static_cast<int>(piece.role) << " linked to \"" << piece.link << '"';
}

namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

Row only_row(const Line& line, int columns = 200) {
  const auto rows = painted({line}, columns);
  return rows.size() == 1 ? rows.front() : Row{{"not one row", Role::error, ""}};
}

TEST(Painted, KeepsTheRolesOfSpans) {
  EXPECT_THAT(only_row(labelled("  shape   ", "2 x 2")),
              ElementsAre(Piece{"  shape", Role::label, ""}, Piece{"   2 x 2"}));
  EXPECT_THAT(only_row(bar(1, 2, 4)), ElementsAre(Piece{"██", Role::passed, ""}, Piece{"░░", Role::label, ""}));
}

TEST(Painted, KeepsTheRoleBehindABreak) {
  const auto rows = painted({Line("  likely  the scores are not divided by the root", Role::important)}, 30);
  ASSERT_GT(rows.size(), 1u);
  for (const auto& row : rows) EXPECT_EQ(row.back().role, Role::important) << text_of(row);
}

TEST(Painted, CutsAnAside) {
  EXPECT_THAT(painted({Line("  ✗ Sums.Add: a long reason", Role::aside)}, 20),
              ElementsAre(ElementsAre(Piece{"  ✗ Sums.Add: a l...", Role::aside, ""})));
}

/// Where the caret stands below the code that it points at, at this width.
std::string pointed_at(const Lines& lines, int columns) {
  const auto rows = painted(lines, columns);
  if (rows.size() != 2) return "rows: " + std::to_string(rows.size());
  if (columns_of(text_of(rows[0])) > columns || columns_of(text_of(rows[1])) > columns) return "too wide";
  const auto at = static_cast<int>(text_of(rows[1]).find('^'));
  return columns_between(text_of(rows[0]), at, at + 1);
}

TEST(Painted, CutsQuotedCodeAroundItsCaret) {
  const std::string code =
      "  const arma::cube 我们 = arma::cube(context.n_rows, context.n_cols, context.n_slices) @ heads;";
  const int caret = columns_of(code.substr(0, code.find('@')));
  const auto lines = [&](int at) {
    return Lines{
        Line({{"   22 |", Role::label}, {code}}),
        Line({{"      |", Role::label}, {std::string(static_cast<std::size_t>(at), ' ') + "^~~~~~~", Role::caret}})};
  };
  for (int columns = 20; columns < 120; ++columns) EXPECT_EQ(pointed_at(lines(caret), columns), "@") << columns;
  for (int columns = 20; columns < 120; ++columns) EXPECT_EQ(pointed_at(lines(2), columns), "c") << columns;
  EXPECT_EQ(text_of(painted(lines(2), 30)[0]), "   22 |  const arma::cube 我 …");
  const std::string cut = text_of(painted(lines(caret), 40, {"..."})[0]);
  EXPECT_EQ(cut.substr(0, 10), "   22 |...");
  EXPECT_EQ(text_of(painted(lines(caret), 200)[0]), "   22 |" + code);
}

TEST(Painted, BreaksNoCodeThatIsToBeCopied) {
  const std::string code(50, 'x');
  for (const Role role : {Role::code, Role::left, Role::right, Role::same}) {
    EXPECT_EQ(painted({Line(code, role)}, 40, {"…", false, true}).size(), 1u);
    EXPECT_EQ(painted({Line(code, role)}, 40).size(), 2u) << "on a screen";
  }
  EXPECT_EQ(painted({Line(code)}, 40, {"…", false, true}).size(), 2u) << "which is no code";
}

TEST(Painted, HasACursorAsWideAsTheScreen) {
  EXPECT_THAT(only_row(Line("> 01 sums", Role::selected), 40),
              ElementsAre(Piece{padded("> 01 sums", 40), Role::selected, ""}));
}

TEST(Painted, AlignsTabsAcrossSpans) {
  EXPECT_EQ(text_of(only_row(Line({{"   22 |", Role::label}, {"\tx"}}))), "   22 | x");
}

// ------------------------------------------------------------------------------------------------------- links

TEST(Links, AreOnFilesOfTheCourseWithTheirLines) {
  EXPECT_THAT(only_row("see lessons/01_x/x.cpp:22, or lessons/01_x"),
              ElementsAre(Piece{"see "}, Piece{"lessons/01_x/x.cpp:22", Role::plain, "lessons/01_x/x.cpp"},
                          Piece{", or lessons/01_x"}));
  EXPECT_THAT(only_row(labelled("read   ", "lessons/01_x/README.md.")),
              Contains(Piece{"lessons/01_x/README.md", Role::plain, "lessons/01_x/README.md"}));
  EXPECT_THAT(only_row("/home/me/lessons/x.cpp"), Each(Field(&Piece::link, "")));
}

TEST(Links, StayWholeBehindABreak) {
  const auto rows = painted({"  where   lessons/01_x/a_long_name.cpp:22"}, 24);
  ASSERT_GT(rows.size(), 1u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].back().link, "lessons/01_x/a_long_name.cpp");
}

TEST(Links, HaveTheFolderThatANarrowTerminalHasNoRoomFor) {
  const Place place{"lessons/01_x/x.cpp", 22};
  const Line line({{"  where   f, from " + place.text()}}, place);
  const auto wide = only_row(line, 39);
  EXPECT_EQ(text_of(wide), line.text());
  EXPECT_EQ(wide.back().link, place.file);
  EXPECT_THAT(only_row(line, 38),
              ElementsAre(Piece{"  where   f, from "}, Piece{"x.cpp:22", Role::plain, "lessons/01_x/x.cpp"}));
  EXPECT_EQ(text_of(painted({line}, 38, {"…", true}).back()), "          lessons/01_x/x.cpp:22") << "as in VS Code";
  EXPECT_EQ(text_of(painted({line}, 30, {"…", true}).front()), "  where   f, from x.cpp:22") << "it would be cut";
  const Line error({{"lessons/01_x/x.cpp:22:5: error: no x here"}}, place);
  EXPECT_THAT(text_of(painted({error}, 38).front()), HasSubstr("lessons/01_x/x.cpp:22:5"));
}

TEST(Links, AreNotInTextsBesideEachOther) {
  EXPECT_THAT(only_row(Line("// lessons/01_x/x.cpp", Role::same)), Each(Field(&Piece::link, "")));
}

TEST(Painted, ChangesNoRowOfTheText) {
  const Lines lines = {labelled("  likely  ", "a b  c"),
                       Line("✗ 我 " + std::string(50, 'x'), Role::failed),
                       "lessons/a.cpp:1:2: error: \x1b[31m e",
                       "\xE9 lessons/b.cpp",
                       "   ",
                       std::string(30, '#')};
  for (int columns = 2; columns < 70; ++columns) {
    Lines rows;
    for (const auto& row : painted(lines, columns)) rows.emplace_back(text_of(row));
    Lines expected;
    for (const auto& line : lines) append(expected, as_lines(wrapped(line.text(), columns)));
    ASSERT_EQ(text_of(rows), text_of(expected)) << columns;
  }
}

// ------------------------------------------------------------------------------------------------------- styles

TEST(Drawn, HasNoSequenceInPlainStyle) {
  Style style;
  style.plain = true;
  style.links = "file://host/course/";
  EXPECT_EQ(style.drawn({{"bad", Role::failed, "x.cpp"}}), "bad");
}

TEST(Drawn, KeepsBoldWithoutColours) {
  Style style;
  EXPECT_EQ(style.drawn({{"loud", Role::error, ""}, {" red", Role::failed, ""}}), "\x1b[1mloud\x1b[0m red");
}

TEST(Drawn, LinksToTheFile) {
  Style style;
  EXPECT_THAT(style.drawn({{"a.cpp:3", Role::plain, "a.cpp"}}), Not(HasSubstr("\x1b")));
  style.links = "file://host/my%20course/";
  EXPECT_EQ(style.drawn({{"a.cpp:3", Role::plain, "a b.cpp"}}),
            "\x1b]8;;file://host/my%20course/a%20b.cpp\x1b\\a.cpp:3\x1b]8;;\x1b\\");
}

}  // namespace
}  // namespace attn::learn
