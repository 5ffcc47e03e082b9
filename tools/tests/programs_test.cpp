// The editor at the line in question, and where that is.
#include "learn/screens/programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

#include "learn/machine/machine.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> two_files = {"lessons/01_x/a.cpp", "lessons/01_x/b.cpp"};
const Place in_b{"lessons/01_x/b.cpp", 22};

TEST(FirstPlace, IsTheFirstLineOfAFileOfTheLesson) {
  const Lines verdict = {"no place", Line({{"of the checks"}}, Place{"tests/01_x/checks.cpp", 3}),
                         Line({{"of a file"}}, Place{"lessons/01_x/a.cpp"}), Line({{"here"}}, in_b),
                         Line({{"later"}}, Place{"lessons/01_x/a.cpp", 3})};
  const auto place = first_place(verdict, two_files);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->text(), "lessons/01_x/b.cpp:22");
  EXPECT_FALSE(first_place({verdict.begin(), verdict.begin() + 3}, two_files).has_value());
}

TEST(FirstTodo, IsALineOfTheStub) {
  const auto lesson = lesson::find_lesson(ATTN_ROOT, "00");
  const Place place = first_todo(lesson);
  EXPECT_EQ(place.file, lesson.stub_files().front());
  EXPECT_GT(place.line, 1);
}

TEST(EditorArguments, BeginAtTheLineInEveryEditorsWay) {
  for (const char* editor : {"vi", "/usr/bin/vim.basic", "nvim -p", "nano", "emacs -nw", "micro"}) {
    EXPECT_THAT(editor_arguments(editor, two_files, in_b),
                ElementsAre("+22", "lessons/01_x/b.cpp", "lessons/01_x/a.cpp"))
        << editor;
  }
  EXPECT_THAT(editor_arguments("hx", two_files, in_b), ElementsAre("lessons/01_x/b.cpp:22", "lessons/01_x/a.cpp"));
  EXPECT_THAT(editor_arguments("code --wait", two_files, in_b),
              ElementsAre("-g", "lessons/01_x/b.cpp:22", "lessons/01_x/a.cpp"));
}

TEST(EditorArguments, AreTheFilesAloneForAnUnknownEditor) {
  EXPECT_EQ(editor_arguments("sh editor.sh", two_files, in_b), two_files);
  EXPECT_EQ(editor_arguments("", two_files, in_b), two_files);
}

/// A lesson's chapter as a terminal of so many columns shows it; with TERM=dumb, as where lowdown is not installed.
std::string read(const std::string& number, int columns, const char* terminal = "xterm") {
  setenv("PAGER", "cat", 1);
  setenv("NO_COLOR", "1", 1);
  setenv("TERM", terminal, 1);
  unsetenv("TERM_PROGRAM");
  const std::string shown =
      judge::ask(reader_command(lesson::find_lesson(ATTN_ROOT, number), columns), ATTN_ROOT).output;
  return std::regex_replace(shown, std::regex("\x1b\\[[0-9;]*m"), "");  // without bold and underlined
}

TEST(ReaderCommand, ShowsEachChapterWithoutMarkup) {
  for (const auto& lesson : lesson::find_lessons(ATTN_ROOT)) {
    const std::string text = read(lesson.number(), 80);
    EXPECT_THAT(text, HasSubstr("Check yourself")) << lesson.name;
    for (const char* markup : {"<!--", "<details>", "</summary>", "![", "figures/"}) {
      EXPECT_THAT(text, Not(HasSubstr(markup))) << lesson.name;
    }
  }
}

TEST(ReaderCommand, WrapsAlsoWhatTheBookFolds) {
  const std::string text = read("07", 60);
  std::istringstream lines(
      text.substr(text.find("Interview corner"), text.rfind("Next") - text.find("Interview corner")));
  int wrapped = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(columns_of(line), 60) << line;
    wrapped += columns_of(line) > 45;
  }
  EXPECT_GT(wrapped, 20);
}

TEST(ReaderCommand, WrapsBetweenWordsWithoutLowdown) {
  const std::string text = read("01", 60, "dumb");
  for (const auto& line : lines_of(text)) EXPECT_LE(columns_of(line), 60) << line;
  EXPECT_THAT(text, HasSubstr("\"The cat sat down because it was tired.\" Which word does it\nstand for?"));
  EXPECT_THAT(text, HasSubstr("Attention(Q, K, V) = softmax(Q Kᵀ / √D) V\n"));
  EXPECT_THAT(text, HasSubstr("\n2. "));
  for (const char* markup : {"<!--", "<details>", "</summary>", "![", "```"}) EXPECT_THAT(text, Not(HasSubstr(markup)));
}

TEST(ReaderCommand, ShowsFormulasAsPlainText) {
  const std::string text = read("01", 80);
  EXPECT_THAT(text, HasSubstr("Attention(Q, K, V) = softmax(Q Kᵀ / √D) V"));
  EXPECT_THAT(text, Not(HasSubstr("\\frac")));
}

/// With or without lowdown: in a PATH that lacks it.
class ReaderAtWidths : public ::testing::TestWithParam<bool> {
 protected:
  ReaderAtWidths() {
    if (GetParam()) return;
    for (const char* program : {"sh", "sed", "cat", "printf"}) {
      std::filesystem::create_symlink(find_program(program), tools_.path() / program);
    }
    setenv("PATH", tools_.path().c_str(), 1);
  }
  ~ReaderAtWidths() override { setenv("PATH", path_.c_str(), 1); }

 private:
  Scratch tools_;
  std::string path_ = std::getenv("PATH");
};

TEST_P(ReaderAtWidths, HasNoRowThatAPagerWouldBreakInsideAWord) {
  for (const auto& lesson : lesson::find_lessons(ATTN_ROOT)) {
    for (const int columns : {60, 80, 120}) {
      for (const auto& row : lines_of(read(lesson.number(), columns))) {
        if (row.find("http") != std::string::npos) continue;  // an address cannot be broken
        ASSERT_LE(columns_of(row), columns) << lesson.name << ": " << row;
      }
    }
  }
}

TEST_P(ReaderAtWidths, BreaksTextAndTablesBetweenWords) {
  for (const int columns : {60, 80, 120}) {
    const std::string text = read("01", columns);
    for (const char* word : {"dictionary", "projections", "rounded", "integers", "yourself", "[ 0.6698  0.3302 ]"}) {
      EXPECT_THAT(text, HasSubstr(word)) << columns;
    }
    const std::string joined = std::regex_replace(text, std::regex("\\s+"), " ");
    EXPECT_THAT(joined, HasSubstr("looks up one value: dict[key]. Attention is a soft dictionary.")) << columns;
    EXPECT_THAT(text, Not(HasSubstr("|---|"))) << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Lowdown, ReaderAtWidths, ::testing::Bool());

TEST(ReaderCommand, KeepsTheUnderscoresOfNames) {
  const std::string text = std::regex_replace(read("07", 80), std::regex("\\s+"), " ");
  EXPECT_THAT(text, HasSubstr("(with their biases) and their rows of W_o"));
}

}  // namespace
}  // namespace attn::learn
