// The copy of the course that tests play a learner on: each finds it as the course is, whatever the one before did.
#include "course_copy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "lesson/lesson.hpp"
#include "scratch.hpp"
#include "screen_robot.hpp"

namespace attn::tests {
namespace {

using lesson::find_lesson;
using lesson::find_lessons;
using lesson::read_file;

namespace fs = std::filesystem;

const fs::path root = ATTN_ROOT;
const std::string answer = "lessons/01_self_attention_v1/self_attention_v1.cpp";
const std::string solution = "solutions/01_self_attention_v1/self_attention_v1.cpp";

TEST(CourseCopy, PutsBackWhatATestChanged) {
  const fs::path copy = fresh_course_copy();
  put(copy / answer, "changed");
  fs::remove(copy / "README.md");
  put(copy / "notes.txt", "added");
  put(copy / "lessons/99_more/more.cpp", "added");
  put(copy / ".learn/state.json", "{}");
  fresh_course_copy();
  EXPECT_EQ(read_file(copy / answer), read_file(root / answer));
  EXPECT_EQ(read_file(copy / "README.md"), read_file(root / "README.md"));
  EXPECT_FALSE(fs::exists(copy / "notes.txt"));
  EXPECT_FALSE(fs::exists(copy / "lessons/99_more"));
  EXPECT_FALSE(fs::exists(copy / ".learn"));
  EXPECT_FALSE(fs::exists(copy / ".git"));
}

TEST(CourseCopy, GivesANewTimeOnlyToWhatItPutsBack) {
  const fs::path copy = fresh_course_copy();
  const auto old = fs::last_write_time(copy / solution) - std::chrono::hours(1);
  fs::last_write_time(copy / solution, old);
  put(copy / answer, "changed");
  fs::last_write_time(copy / answer, old);
  const auto before = fs::last_write_time(copy / answer);
  fresh_course_copy();
  EXPECT_EQ(fs::last_write_time(copy / solution), old);
  EXPECT_GT(fs::last_write_time(copy / answer), before);
}

TEST(CourseCopy, IsJudgedAsItIsThoughAnAnswerWasBuilt) {
  const fs::path copy = fresh_course_copy();
  fs::copy_file(copy / solution, copy / answer, fs::copy_options::overwrite_existing);
  ScreenRobot right(tool_on_copy({"check", "01"}));
  EXPECT_EQ(right.wait_for_exit(240), 0) << right;
  EXPECT_SHOWS(right, "checks passed");

  fresh_course_copy();
  ScreenRobot stub(tool_on_copy({"check", "01"}));
  EXPECT_EQ(stub.wait_for_exit(240), 1) << stub;
  EXPECT_SHOWS(stub, "TODO(01.1) is not written yet: " + answer);
}

}  // namespace
}  // namespace attn::tests
