// The editor at the line in question, and where that is.
#include "learn/screens/programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attn::learn {
namespace {

using ::testing::ElementsAre;

const std::vector<std::string> files = {"lessons/01_x/a.cpp", "lessons/01_x/b.cpp"};
const Place in_b{"lessons/01_x/b.cpp", 22};

TEST(PlaceNamed, IsTheFirstLineOfAFileThatTheTextNames) {
  const auto place = place_named("at lessons/01_x/b.cpp:22:43: error\nlessons/01_x/a.cpp:3", files);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->file, "lessons/01_x/b.cpp");
  EXPECT_EQ(place->line, 22);
}

TEST(PlaceNamed, IsNoneWithoutALine) {
  EXPECT_FALSE(place_named("where   lessons/01_x/a.cpp", files).has_value());
  EXPECT_FALSE(place_named("lessons/01_x/a.cpp: In function", files).has_value());
  EXPECT_FALSE(place_named("tests/01_x/checks.cpp:3", files).has_value());
}

TEST(FirstTodo, IsALineOfTheStub) {
  const auto lesson = lesson::find_lesson(ATTN_ROOT, "00");
  const Place place = first_todo(lesson);
  EXPECT_EQ(place.file, lesson.stub_files().front());
  EXPECT_GT(place.line, 1);
}

TEST(EditorArguments, BeginAtTheLineInEveryEditorsWay) {
  for (const char* editor : {"vi", "/usr/bin/vim.basic", "nvim -p", "nano", "emacs -nw", "micro"}) {
    EXPECT_THAT(editor_arguments(editor, files, in_b), ElementsAre("+22", "lessons/01_x/b.cpp", "lessons/01_x/a.cpp"))
        << editor;
  }
  EXPECT_THAT(editor_arguments("hx", files, in_b), ElementsAre("lessons/01_x/b.cpp:22", "lessons/01_x/a.cpp"));
  EXPECT_THAT(editor_arguments("code --wait", files, in_b),
              ElementsAre("-g", "lessons/01_x/b.cpp:22", "lessons/01_x/a.cpp"));
}

TEST(EditorArguments, AreTheFilesAloneForAnUnknownEditor) {
  EXPECT_EQ(editor_arguments("sh editor.sh", files, in_b), files);
  EXPECT_EQ(editor_arguments("", files, in_b), files);
}

}  // namespace
}  // namespace attn::learn
