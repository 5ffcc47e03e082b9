// Whatever the learner's code does: the check that did it is named in time, and the others are still judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "learn/lesson.hpp"
#include "learn/process.hpp"

namespace {

using attn::course::read_file;
using attn::learn::run;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::filesystem::path program = ATTN_NAUGHTY;

struct Outcome {
  int exit_code = 0;
  double seconds = 0;
  std::string printed;
  std::map<std::string, std::string> states;
  std::map<std::string, std::string> texts;
};

std::filesystem::path own_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("attn-naughty-" + std::to_string(getpid()) + "-" + name);
}

/// All the naughty checks in one run.
const Outcome& outcome() {
  static const Outcome the_outcome = [] {
    Outcome outcome;
    const auto folder = std::filesystem::temp_directory_path();
    const auto report = own_file("report.json");
    const auto output = own_file("output.txt");
    const auto start = std::chrono::steady_clock::now();
    outcome.exit_code = run({program, "--report=" + report.string()}, folder, output);
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.printed = read_file(output);
    const auto json = nlohmann::json::parse(read_file(report));
    for (const auto& check : json.at("checks")) {
      const std::string name = check.at("name").get<std::string>().substr(std::string("Naughty.").size());
      outcome.states[name] = check.at("state");
      outcome.texts[name] = check.at("text");
    }
    return outcome;
  }();
  return the_outcome;
}

const std::string& state(const std::string& check) { return outcome().states.at(check); }
const std::string& text(const std::string& check) { return outcome().texts.at(check); }

TEST(Supervisor, JudgesEveryCheckAndSurvives) {
  EXPECT_EQ(outcome().exit_code, 1);
  EXPECT_EQ(outcome().states.size(), 20U);
  EXPECT_EQ(state("First"), "passed");
  EXPECT_EQ(state("Last"), "passed");
  EXPECT_THAT(outcome().printed, HasSubstr("2 of 20 checks passed"));
}

TEST(Supervisor, NamesACrash) {
  EXPECT_THAT(text("Crashes"), AnyOf(HasSubstr("segmentation fault"), HasSubstr("AddressSanitizer: ")));
  EXPECT_EQ(state("Crashes"), "ended");
  EXPECT_EQ(state("CallsItself"), "ended");
  EXPECT_EQ(state("Aborts"), "ended");
}

TEST(Supervisor, NamesALoopWithinTenSeconds) {
  EXPECT_EQ(state("LoopsForEver"), "stopped");
  EXPECT_THAT(text("LoopsForEver"), HasSubstr("stopped after 2 s of computing"));
  EXPECT_EQ(state("LoopsForEverToo"), "stopped");
  EXPECT_THAT(text("LoopsForEverToo"), HasSubstr("stopped after 0.5 s of computing"));
}

TEST(Supervisor, NamesACheckThatWaits) {
  EXPECT_EQ(state("Sleeps"), "stopped");
  EXPECT_THAT(text("Sleeps"), HasSubstr("it waits for something"));
}

TEST(Supervisor, NamesWhatIsThrown) {
  EXPECT_THAT(text("ThrowsSomethingOdd"), HasSubstr("threw   something that is not a std::exception"));
  EXPECT_THAT(text("ThrowsAnException"), HasSubstr("threw   out of ideas"));
}

TEST(Supervisor, NamesAProgramThatEndsItself) {
  EXPECT_EQ(state("EndsTheProgram"), "ended");
  EXPECT_THAT(text("EndsTheProgram"), HasSubstr("ended itself here, with exit code 0"));
}

TEST(Supervisor, StopsAFloodAndShowsABit) {
  EXPECT_EQ(state("PrintsWithoutEnd"), "stopped");
  EXPECT_THAT(text("PrintsWithoutEnd"), HasSubstr("printed more than 8 MiB"));
  EXPECT_EQ(state("PrintsMegabytes"), "failed");
  EXPECT_THAT(text("PrintsMegabytes"), HasSubstr("2200000 bytes in all"));
  EXPECT_LT(outcome().printed.size(), 20000U);
}

TEST(Supervisor, ShowsWhatTheLearnerPrints) {
  EXPECT_THAT(text("PrintsALittle"), HasSubstr("printed the scores are 1 2 3"));
}

TEST(Supervisor, NamesAnAllocationThatIsTooLarge) {
  EXPECT_EQ(state("Allocates"), "failed");
  EXPECT_THAT(text("Allocates"), HasSubstr("more memory than a check may use"));
}

TEST(Supervisor, GivesNothingToRead) { EXPECT_EQ(state("ReadsFromTheTerminal"), "failed"); }

TEST(Supervisor, SaysThatAResultIsEmptyOrNaN) {
  EXPECT_THAT(text("ReturnsAnEmptyCube"), HasSubstr("shape   got 0 x 0 x 0, want 4 x 3 x 2 (L x E x B)"));
  EXPECT_THAT(text("ReturnsAnEmptyCube"), HasSubstr("what you returned is empty"));
  EXPECT_THAT(text("ReturnsNaN"), HasSubstr("NaN (not a number) at row 2, col 1, slice 1   (1 of 24 is NaN)"));
}

TEST(Supervisor, TellsATodoWithFileAndLine) {
  EXPECT_EQ(state("IsNotWritten"), "not_written");
  EXPECT_THAT(text("IsNotWritten"), HasSubstr("TODO(00.1) is not written yet: "));
  EXPECT_THAT(text("IsNotWritten"), HasSubstr("naughty_checks.cpp:"));
}

TEST(Supervisor, TellsATodoThatComesAfterAFailure) {
  EXPECT_EQ(state("FailsAndThenIsNotWritten"), "not_written");
  EXPECT_THAT(text("FailsAndThenIsNotWritten"), HasSubstr("TODO(00.2) is not written yet: "));
  EXPECT_THAT(text("FailsAndThenIsNotWritten"), HasSubstr("./learn hint 00.2"));
}

TEST(Supervisor, RefusesAFilterThatMatchesNothing) {
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(run({program, "--gtest_filter=No.Such"}, folder, own_file("filter.txt")), 2);
  EXPECT_THAT(read_file(own_file("filter.txt")), HasSubstr("no check matches"));
}

TEST(Supervisor, RefusesAnUnknownArgument) {
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(run({program, "--no-such"}, folder, own_file("argument.txt")), 2);
}

}  // namespace
