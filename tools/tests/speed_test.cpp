// Every lesson's programs can say how long their code takes, and whatever the learner's code does, an answer comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lesson/lesson.hpp"
#include "run/process.hpp"
#include "scratch.hpp"

namespace {

using ::testing::HasSubstr;

const std::filesystem::path root = ATTN_ROOT;
const std::filesystem::path programs = ATTN_PROGRAMS;

struct Answer {
  int exit_code = 0;
  double seconds = 0;
  std::string printed;
  nlohmann::json line;
};

/// What a program answers to --speed.
Answer answer_of(const std::filesystem::path& program) {
  Answer answer;
  const attn::Scratch scratch;
  const auto output = scratch.path() / "output.txt";
  const auto start = std::chrono::steady_clock::now();
  answer.exit_code = attn::judge::run({program, "--speed"}, scratch.path(), output);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.printed = attn::lesson::read_file(output);
  answer.line = nlohmann::json::parse(answer.printed, nullptr, false);
  return answer;
}

Answer answer_when_code(const std::string& manner) {
  setenv("MISBEHAVING", manner.c_str(), 1);
  return answer_of(ATTN_MISBEHAVING);
}

TEST(Speed, IsMeasuredInEveryLesson) {
  for (const auto& lesson : attn::lesson::find_lessons(root)) {
    const Answer answer = answer_of(programs / ("solution_" + lesson.number() + "_test"));
    EXPECT_EQ(answer.exit_code, 0) << lesson.name;
    EXPECT_FALSE(answer.line.value("what", "").empty()) << lesson.name;
    EXPECT_GT(answer.line.value("milliseconds", 0.0), 0.02) << lesson.name << answer.printed;
    EXPECT_LT(answer.line.value("milliseconds", 1e9), 200) << lesson.name << answer.printed;
  }
}

TEST(Speed, OfAStubIsItsTodo) {
  const Answer answer = answer_of(programs / "lesson_01");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.line.value("error", ""),
              HasSubstr("TODO(01.1) is not written yet: lessons/01_self_attention_v1/"));
}

TEST(Speed, IsThatOfOneRunWithoutTheSetUp) {
  struct Case {
    std::string manner;
    double least_ms, most_ms;
  };
  for (const auto& [manner, least_ms, most_ms] : {Case{"is well-behaved", 3, 6},  // after 100 ms of set-up
                                                  Case{"is quick", 0.2, 0.5},     // so many runs make a batch
                                                  Case{"is slow", 100, 1e6},      // a second run throws
                                                  Case{"prints", 3, 1e6}}) {
    const Answer answer = answer_when_code(manner);
    EXPECT_EQ(answer.exit_code, 0) << manner << ": " << answer.printed;
    EXPECT_EQ(answer.printed.find("a word"), std::string::npos) << "what the code prints";
    EXPECT_GE(answer.line.value("milliseconds", 0.0), least_ms) << manner;
    EXPECT_LT(answer.line.value("milliseconds", 1e9), most_ms) << manner;
  }
}

TEST(Speed, IsAnErrorSoonWhateverTheCodeDoes) {
  const std::pair<const char*, const char*> errors[] = {
      {"throws", "threw: out of \"ideas\""},
      {"throws something odd", "threw: something that is not a std::exception"},
      {"is not written", "TODO(00.1) is not written yet"},
      {"crashes", "segmentation fault"},
      {"ends the program", "ended itself"},
      {"loops", "stopped after 2 s of computing"},
      {"waits", "it waits for something"},
      {"prints without end", "printed more than 8 MiB"},
      {"allocates", "more memory than a check may use"},
  };
  for (const auto& [manner, error] : errors) {
    const Answer answer = answer_when_code(manner);
    EXPECT_EQ(answer.exit_code, 2) << manner;
    EXPECT_LT(answer.seconds, 20) << manner;
    EXPECT_EQ(answer.printed.find('\n'), answer.printed.size() - 1) << answer.printed;
    EXPECT_EQ(answer.line.value("what", ""), "misbehaving things") << answer.printed;
    EXPECT_FALSE(answer.line.contains("milliseconds")) << answer.printed;
    EXPECT_THAT(answer.line.value("error", ""), HasSubstr(error)) << manner;
  }
}

TEST(Speed, HasAnErrorWhereNoneIsRegistered) {
  const Answer answer = answer_of(ATTN_NO_SPEED);
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.line.value("error", ""), HasSubstr("no ATTN_SPEED"));
}

}  // namespace
