// What `learn verify` judges, remembers and prints.
#include "gate/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gate/remembered.hpp"
#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::gate {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// ---------------------------------------------------------------------------------------------------- the table

const std::vector<lesson::Lesson> lessons = {{"/course", "01_one"}, {"/course", "02_two"}};

Judgement all_well() {
  Judgement judgement;
  for (const char* column :
       {columns::solution, columns::stub, columns::mistakes, columns::answers, columns::golden, columns::chapter}) {
    judgement.counts[column] = {7, 7};
  }
  return judgement;
}

TEST(Judgements, HoldWhenEverythingPasses) {
  std::ostringstream out;
  EXPECT_TRUE(print_judgements(lessons, {{"01_one", all_well()}, {"02_two", all_well()}}, out));
  EXPECT_THAT(out.str(), ContainsRegex("01 one +ok 7/7 +ok 7/7 +ok 7/7 +ok 7/7 +ok 7/7 +ok 7/7"));
  EXPECT_THAT(out.str(), HasSubstr("\n84 passed, 0 failed\n"));
}

TEST(Judgements, DoNotHoldWhenAnythingFailsOrIsMissing) {
  const auto holds = [](const Judgement& second, std::ostream& out) {
    return print_judgements(lessons, {{"01_one", all_well()}, {"02_two", second}}, out);
  };
  for (const auto& [column, count] : all_well().counts) {
    Judgement broken = all_well();
    broken.counts[column].passed = 6;
    broken.problems = {"what is wrong"};
    std::ostringstream out;
    EXPECT_FALSE(holds(broken, out)) << column;
    EXPECT_THAT(out.str(), AllOf(HasSubstr("✗ 02 what is wrong\n"), HasSubstr("FAILED 6/7"), HasSubstr("1 failed")));

    Judgement missing = all_well();
    missing.counts.erase(column);
    EXPECT_FALSE(holds(missing, out)) << column;
    EXPECT_THAT(out.str(), ContainsRegex("02 two .*none"));
  }
}

TEST(VerifyLessons, RefusesALessonWithoutChecks) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(verify_lessons({{ATTN_ROOT, "98_half_written"}}), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("it needs tests/98_half_written/checks.cpp"));
}

TEST(ProgressText, SaysHowLongTheRestTakes) {
  using seconds = std::chrono::duration<double>;
  EXPECT_EQ(progress_text("building", 8, 90, seconds(20)), "building: 8 of 90");
  EXPECT_EQ(progress_text("building", 45, 90, seconds(15)), "building: 45 of 90, about 20 s left");
  EXPECT_EQ(progress_text("building", 30, 90, seconds(60)), "building: 30 of 90, about 2 min left");
  EXPECT_EQ(progress_text("building", 30, 90, seconds(27)), "building: 30 of 90, about 1 min left");
  EXPECT_EQ(progress_text("building", 90, 90, seconds(27)), "building: 90 of 90");
}

// --------------------------------------------------------------------------------------------- what is remembered

/// A copy of the planted lesson 91 and its programs.
class Remembered : public ::testing::Test {
 protected:
  Remembered() {
    fs::copy(ATTN_PLANTED, root(), fs::copy_options::recursive);
    fs::create_directories(build());
    unsetenv("ATTN_JUDGE_AGAIN");
    for (const char* program : {"lesson_91", "solution_91_test", "mutants_91"}) {
      fs::copy_file(fs::path(ATTN_PROGRAMS) / program, build() / program);
    }
  }
  fs::path root() const { return scratch_.path() / "course"; }
  fs::path build() const { return scratch_.path() / "build"; }
  lesson::Lesson lesson() const { return {root(), "91_mistakes"}; }

  /// Judges the lesson, and then writes into what is remembered that nothing but this is wrong.
  void judge_and_mark() {
    judge_lesson(lesson(), build());
    const fs::path file = build() / "remembered/91_mistakes.json";
    auto kept = nlohmann::json::parse(lesson::read_file(file));
    kept["verdict"]["problems"] = {"marked"};
    put(file, kept.dump());
  }
  bool is_recalled() const {
    const auto problems = judge_lesson(lesson(), build()).problems;
    return std::find(problems.begin(), problems.end(), "marked") != problems.end();
  }

  Scratch scratch_{fs::temp_directory_path()};  // programs are run in it
};

TEST_F(Remembered, IsRecalledWhenNothingHasChangedButTimes) {
  judge_and_mark();
  EXPECT_TRUE(is_recalled());
  for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
    fs::last_write_time(entry, fs::file_time_type::clock::now() + std::chrono::hours(1));
  }
  EXPECT_TRUE(is_recalled());
}

TEST_F(Remembered, IsForgottenWhenAnythingHasChangedThatItDependsOn) {
  std::vector<fs::path> inputs = {build() / "lesson_91", build() / "solution_91_test", build() / "mutants_91",
                                  root() / "include/doubled.hpp"};
  for (const char* folder : {"tests/91_mistakes", "lessons/91_mistakes", "solutions/91_mistakes"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
  }
  ASSERT_GT(inputs.size(), 12U);
  for (const auto& input : inputs) {
    judge_and_mark();
    ASSERT_TRUE(is_recalled()) << input;
    const std::string before = lesson::read_file(input);
    const auto time = fs::last_write_time(input);
    put(input, before + "\n");
    fs::last_write_time(input, time);  // contents count, and not times
    EXPECT_FALSE(is_recalled()) << input;
    put(input, before);
  }
}

TEST_F(Remembered, IsForgottenWhenAFileIsAddedOrGone) {
  judge_and_mark();
  put(root() / "tests/91_mistakes/new.json", "{}");
  EXPECT_FALSE(is_recalled());
  fs::remove(root() / "tests/91_mistakes/new.json");
  judge_and_mark();
  fs::rename(root() / "tests/91_mistakes/golden.json", root() / "tests/91_mistakes/other.json");
  EXPECT_FALSE(is_recalled());
}

TEST_F(Remembered, IsForgottenWhenAVariableSaysSo) {
  for (const char* variable : {"OPENBLAS_CORETYPE", "ATTN_JUDGE_AGAIN"}) {
    judge_and_mark();
    setenv(variable, "Prescott", 1);
    EXPECT_FALSE(is_recalled()) << variable;
    unsetenv(variable);
  }
}

TEST_F(Remembered, IsForgottenWhenItIsDamaged) {
  judge_and_mark();
  put(build() / "remembered/91_mistakes.json", "{\"digest\": ");
  EXPECT_FALSE(is_recalled());
}

TEST_F(Remembered, IsNothingWhenAProgramComesToNoResult) {
  put(build() / "mutants_91", "#!/bin/sh\necho halfway; kill -9 $$\n");
  const Judgement judgement = judge_lesson(lesson(), build());
  EXPECT_FALSE(judgement.counts.at(columns::solution).ok());
  EXPECT_THAT(judgement.problems, Contains(HasSubstr("mutants_91 ended with exit code 137: halfway")));
  EXPECT_FALSE(fs::exists(build() / "remembered/91_mistakes.json"));
}

TEST(InputsOfAProgram, AreAlsoItsLibraries) {
  const Scratch scratch(fs::temp_directory_path());
  const fs::path library = scratch.path() / "libone.so";
  const auto compile = [&](const std::string& code, const std::string& options) {
    put(scratch.path() / "code.cpp", code);
    return std::system(("cd " + scratch.path().string() + " && c++ code.cpp " + options).c_str());  // NOLINT
  };
  ASSERT_EQ(compile("int one() { return 1; }", "-shared -fPIC -o libone.so"), 0);
  ASSERT_EQ(
      compile("int one(); int main() { return one(); }", "-o program -L. -lone -Wl,-rpath," + scratch.path().string()),
      0);
  const auto digest = [&] {
    Inputs inputs;
    inputs.add_program(scratch.path() / "program");
    return inputs.digest();
  };
  const std::string before = digest();
  EXPECT_EQ(digest(), before);
  fs::rename(library, scratch.path() / "elsewhere.so");
  EXPECT_NE(digest(), before);
}

/// A test of the course that leaves a trace when it is run.
class RememberedTest : public ::testing::Test {
 protected:
  RememberedTest() {
    put(root() / "README.md", "what it reads");
    fs::create_directories(build());
    unsetenv("ATTN_REPOSITORY_DIGEST");  // of the course, which verify has at hand
    unsetenv("ATTN_JUDGE_AGAIN");
  }
  fs::path root() const { return scratch_.path() / "course"; }
  fs::path build() const { return scratch_.path() / "course/build"; }

  /// @return whether it was run
  bool runs(bool repository, const std::string& more = "true") {
    fs::remove(scratch_.path() / "trace");
    result_ = run_test(root(), build(), "some",
                       {"/bin/sh", "-c", "touch " + (scratch_.path() / "trace").string() + "; " + more}, repository);
    return fs::exists(scratch_.path() / "trace");
  }

  int result_ = 0;
  Scratch scratch_{fs::temp_directory_path()};
};

TEST_F(RememberedTest, IsRunAgainWhenWhatItReadsHasChanged) {
  EXPECT_TRUE(runs(true));
  EXPECT_FALSE(runs(true));
  put(root() / "README.md", "something else");
  EXPECT_TRUE(runs(true));
  EXPECT_FALSE(runs(true));
  put(build() / "lesson_01", "a program");
  fs::permissions(build() / "lesson_01", fs::perms::owner_all);
  EXPECT_TRUE(runs(true));
  put(build() / "lesson_01", "another program");
  EXPECT_TRUE(runs(true));
  put(build() / "object.o", "not a program");
  EXPECT_FALSE(runs(true));
}

TEST_F(RememberedTest, IsRunAgainWithAnotherCompiler) {
  EXPECT_TRUE(runs(true));
  put(scratch_.path() / "compiler", "#!/bin/sh");
  fs::permissions(scratch_.path() / "compiler", fs::perms::owner_all);
  setenv("CXX", (scratch_.path() / "compiler").c_str(), 1);
  EXPECT_TRUE(runs(true));
  EXPECT_FALSE(runs(true));
  put(scratch_.path() / "compiler", "#!/bin/sh\n# of another version");
  EXPECT_TRUE(runs(true));
  unsetenv("CXX");
}

TEST_F(RememberedTest, DoesNotDependOnTheRepositoryWhenItDoesNotReadIt) {
  EXPECT_TRUE(runs(false));
  put(root() / "README.md", "something else");
  EXPECT_FALSE(runs(false));
  EXPECT_TRUE(runs(false, "echo")) << "another command";
}

TEST_F(RememberedTest, IsRunAgainWhenItFailed) {
  EXPECT_TRUE(runs(true, "false"));
  EXPECT_EQ(result_, 1);
  EXPECT_TRUE(runs(true, "false"));
  EXPECT_EQ(result_, 1);
}

}  // namespace
}  // namespace attn::gate
