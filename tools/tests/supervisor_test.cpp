// Whatever the learner's code does: the check that did it is named in time, and the others are still judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "run/process.hpp"
#include "run/sanitizer.hpp"
#include "scratch.hpp"
#include "verdict/words.hpp"

namespace {

using attn::Scratch;
using attn::judge::run;
using attn::lesson::read_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path program = ATTN_MISBEHAVING;

struct Outcome {
  int exit_code = 0;
  double seconds = 0;
  std::string printed;
  attn::judge::Report report;
  std::map<std::string, std::string> states;  ///< by the check's name without its suite
  std::map<std::string, std::string> texts;
};

/// Some of the misbehaving checks, in an environment with these variables ("NAME=value").
Outcome outcome_of(const std::string& filter, std::vector<std::string> environment = {},
                   const std::string& work_folder = "lessons") {
  const Scratch scratch;
  const auto report = scratch.path() / "report.json";
  const auto output = scratch.path() / "output.txt";
  std::vector<std::string> command = {"env"};
  command.insert(command.end(), environment.begin(), environment.end());
  command.insert(command.end(), {program.string(), "--gtest_filter=" + filter, "--report=" + report.string(),
                                 "--work-folder=" + work_folder});
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  outcome.exit_code = run(command, scratch.path(), output);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.printed = read_file(output);
  if (!std::filesystem::exists(report)) return outcome;
  outcome.report = attn::lesson::read_json(report).get<attn::judge::Report>();
  for (const auto& check : outcome.report.checks) {
    outcome.states[check.name] = attn::judge::text_of(check.state);
    outcome.texts[check.name] = attn::judge::describe(check, attn::lesson::lesson_of(__FILE__));
  }
  return outcome;
}

TEST(Supervisor, JudgesEveryCheckAndSaysWhatItDid) {
  struct Expected {
    std::string state;
    std::vector<std::string> texts = {};
  };
  const std::string segmentation = attn::judge::has_sanitizer ? "AddressSanitizer: " : "segmentation fault";
  const std::map<std::string, Expected> checks = {
      {"First", {"passed"}},
      {"Crashes", {"ended", {segmentation}}},
      {"CallsItself", {"ended"}},
      {"LoopsForEver", {"stopped", {"stopped after 2 s of computing"}}},
      {"LoopsForEverToo", {"stopped", {"stopped after 0.5 s of computing"}}},
      {"ThrowsSomethingOdd", {"failed", {"threw   something that is not a std::exception"}}},
      {"ThrowsAnException", {"failed", {"threw   out of ideas"}}},
      {"ThrowsInALibrary", {"failed"}},
      {"Aborts", {"ended"}},
      {"EndsTheProgram", {"ended", {"ended itself here, with exit code 0"}}},
      {"PrintsWithoutEnd", {"stopped", {"printed more than 8 MiB"}}},
      {"PrintsALittle", {"failed", {"printed the scores are 1 2 3"}}},
      {"PrintsMegabytes", {"failed", {"2200000 bytes in all"}}},
      {"Allocates", {"failed", {"more memory than a check may use"}}},
      {"ReadsFromTheTerminal", {"failed"}},
      {"ReturnsAnEmptyCube",
       {"failed", {"shape   got 0 x 0 x 0, want 4 x 3 x 2 (L x E x B)", "what you returned is empty"}}},
      {"ReturnsNaN", {"failed", {"ok   (1 of 24 is NaN, not a number)", "NaN*"}}},
      {"IsNotWritten", {"not_written", {"TODO(00.1) is not written yet: ", "misbehaving_checks.cpp:"}}},
      {"FailsAndThenIsNotWritten", {"not_written", {"TODO(00.2) is not written yet: ", "./learn hint 00.2"}}},
      {"ThrowsMegabytes", {"failed", {"threw   xxx"}}},
      {"Last", {"passed"}},
  };
  const Outcome outcome = outcome_of("Misbehaving.*");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.printed, HasSubstr("2 of 21 checks passed"));
  EXPECT_LT(outcome.printed.size(), 20000U) << "a flood is shown in part";
  EXPECT_LT(outcome.texts.at("ThrowsMegabytes").size(), 5000U);
  EXPECT_EQ(outcome.states.size(), checks.size());
  for (const auto& [check, expected] : checks) {
    EXPECT_EQ(outcome.states.at(check), expected.state) << check;
    for (const auto& text : expected.texts) EXPECT_THAT(outcome.texts.at(check), HasSubstr(text)) << check;
  }
}

TEST(Supervisor, CountsNothingOfAnOutputThatWasClosed) {
  const Outcome outcome = outcome_of("Misbehaving.PrintsALittle:Closed.Output");
  EXPECT_EQ(outcome.states.at("Output"), "failed");
  EXPECT_THAT(outcome.texts.at("Output"), ::testing::Not(HasSubstr("bytes in all")));
}

/// The line of misbehaving_checks.cpp in which a text stands.
int line_with(const std::string& text) {
  const std::string code = read_file(ATTN_ROOT "/tools/tests/misbehaving_checks.cpp");
  return 1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<int>(code.find(text)), '\n'));
}

TEST(Supervisor, FindsTheLineOfWhatWentWrong) {
  if (attn::judge::has_sanitizer) GTEST_SKIP() << "a sanitizer says the line itself";
  const std::map<std::string, std::string> lines = {
      {"Crashes", "TEST(Misbehaving, Crashes)"},
      {"LoopsForEver", "while (forever) {"},
      {"ThrowsAnException", "TEST(Misbehaving, ThrowsAnException)"},
      {"ThrowsInALibrary", "TEST(Misbehaving, ThrowsInALibrary)"},
      {"Aborts", "TEST(Misbehaving, Aborts)"},
      {"PrintsWithoutEnd", "while (forever) std::cout << thousand"},
  };
  std::string filter;
  for (const auto& [check, text] : lines) filter += "Misbehaving." + check + ":";
  const auto found = outcome_of(filter, {}, "tools");  // as if the program were the learner's file
  ASSERT_EQ(found.report.checks.size(), lines.size());
  for (const auto& check : found.report.checks) {
    EXPECT_THAT(check.place.text(), ::testing::EndsWith("tools/tests/misbehaving_checks.cpp:" +
                                                        std::to_string(line_with(lines.at(check.name)))))
        << check.name;
  }
}

TEST(Supervisor, NamesChecksThatWaitAndGivesUpAfterThree) {
  const Outcome waiting = outcome_of("Waiting.*");
  EXPECT_EQ(waiting.exit_code, 1);
  EXPECT_LT(waiting.seconds, 60);
  EXPECT_EQ(waiting.states.at("First"), "stopped");
  EXPECT_THAT(waiting.texts.at("First"), HasSubstr("stopped after 5 s: it waits for something"));
  EXPECT_THAT(waiting.texts.at("Third"), HasSubstr("stopped after 1.25 s: it waits for something"));
  EXPECT_EQ(waiting.states.at("IsNotReached"), "not_run");
  EXPECT_EQ(waiting.states.at("IsNotReachedEither"), "not_run");
  EXPECT_THAT(waiting.printed, HasSubstr("not run: the last 2, because checks before them took too long"));
  EXPECT_THAT(waiting.printed, HasSubstr("0 of 5 checks passed"));
}

TEST(Supervisor, EndsChecksThatTakeTooLongInAll) {
  const Outcome slow = outcome_of("Slow.*");
  EXPECT_LT(slow.seconds, 60);
  EXPECT_EQ(slow.states.at("Second"), "passed");
  EXPECT_THAT(slow.texts.at("Third"), HasSubstr("all checks together took more than 9 s"));
  EXPECT_EQ(slow.states.at("IsNotReached"), "not_run");
}

TEST(Supervisor, SaysWhatHappensBeforeTheFirstCheck) {
  const std::map<std::string, std::string> sentences = {
      {"loops", "the program computed for 2 s before its first check: is something global"},
      {"waits", "the program waited for 5 s before its first check: is something global"},
      {"crashes", "the program crashed before its first check (Aborted): is something global"},
      {"throws", "the program crashed before its first check (Aborted): is something global"},
      {"exits", "the program ended before its first check (exit code 0): is something global"},
      {"prints without end", "the program printed without end before its first check: is something global"},
      {"starts the program anew", "the program ended before its first check (exit code 0): is something global"},
  };
  for (const auto& [manner, sentence] : sentences) {
    const Outcome early = outcome_of("Misbehaving.First:Misbehaving.Last", {"MISBEHAVING=" + manner});
    EXPECT_EQ(early.exit_code, 1) << manner;
    EXPECT_LT(early.seconds, 60) << manner;
    EXPECT_THAT(early.printed, HasSubstr(sentence)) << manner;
    EXPECT_THAT(early.report.problem, StartsWith(sentence)) << manner;
    EXPECT_TRUE(early.states.empty()) << manner;
    EXPECT_LT(early.printed.size(), 5000U) << manner;
    EXPECT_EQ(early.printed.find("out of ideas") != std::string::npos, manner == "throws");
  }
}

TEST(Supervisor, TakesNoNoticeOfWhatHappensAfterTheLastCheck) {
  for (const std::string manner : {"exits at exit", "exits when destroyed", "loops at exit", "loops when destroyed",
                                   "leaves a thread", "prints"}) {
    const Outcome right = outcome_of("Misbehaving.First:Misbehaving.Last", {"MISBEHAVING=" + manner});
    EXPECT_EQ(right.exit_code, 0) << manner;
    EXPECT_LT(right.seconds, 60) << manner;
    EXPECT_THAT(right.printed, HasSubstr("2 of 2 checks passed")) << manner;
    const Outcome wrong = outcome_of("Misbehaving.First:Misbehaving.ThrowsAnException", {"MISBEHAVING=" + manner});
    EXPECT_EQ(wrong.exit_code, 1) << manner;
    EXPECT_THAT(wrong.printed, HasSubstr("1 of 2 checks passed")) << manner;
  }
}

TEST(Supervisor, IgnoresWhatGoogleTestReadsFromTheEnvironment) {
  const std::string checks =
      "Misbehaving.First:Misbehaving.ThrowsAnException:Misbehaving.PrintsALittle:Misbehaving.Last";
  const Outcome plain = outcome_of(checks);
  EXPECT_THAT(plain.printed, HasSubstr("2 of 4 checks passed"));
  const std::vector<std::vector<std::string>> environments = {{"GTEST_FILTER=*Last"},
                                                              {"GTEST_REPEAT=2"},
                                                              {"GTEST_SHUFFLE=1", "GTEST_RANDOM_SEED=3"},
                                                              {"GTEST_TOTAL_SHARDS=2", "GTEST_SHARD_INDEX=1"},
                                                              {"GTEST_SHARD_STATUS_FILE=sharded"},
                                                              {"GTEST_FAIL_FAST=1"},
                                                              {"GTEST_BREAK_ON_FAILURE=1"},
                                                              {"GTEST_THROW_ON_FAILURE=1"},
                                                              {"GTEST_CATCH_EXCEPTIONS=0"},
                                                              {"GTEST_LIST_TESTS=1"},
                                                              {"GTEST_OUTPUT=xml:/no/such/folder/"},
                                                              {"GTEST_COLOR=yes", "GTEST_BRIEF=1"},
                                                              {"TESTBRIDGE_TEST_ONLY=*Last"},
                                                              {"TESTBRIDGE_TEST_RUNNER_FAIL_FAST=1"},
                                                              {"TEST_PREMATURE_EXIT_FILE=premature"},
                                                              {"XML_OUTPUT_FILE=output.xml"}};
  for (const auto& environment : environments) {
    const Outcome same = outcome_of(checks, environment);
    EXPECT_EQ(same.exit_code, 1) << environment.front();
    EXPECT_EQ(same.printed, plain.printed) << environment.front();
    EXPECT_EQ(nlohmann::json(same.report), nlohmann::json(plain.report)) << environment.front();
    const Outcome filtered_by_the_environment_alone = outcome_of("Misbehaving.Last", environment);
    EXPECT_EQ(filtered_by_the_environment_alone.exit_code, 0) << environment.front();
  }
}

TEST(Supervisor, JudgesTheOriginalOfAProgramThatForks) {
  const Outcome forks = outcome_of("Misbehaving.First:Forks.And*:Misbehaving.Last");
  EXPECT_EQ(forks.exit_code, 0) << forks.printed;
  EXPECT_LT(forks.seconds, 60);
  EXPECT_THAT(forks.printed, HasSubstr("4 of 4 checks passed"));
}

TEST(Supervisor, LeavesNoProcessBehind) {
  const Scratch scratch;
  const auto written = scratch.path() / "process";
  EXPECT_EQ(outcome_of("Forks.IntoAProcessThatLeaves", {"MISBEHAVING=" + written.string()}).exit_code, 0);
  EXPECT_NE(kill(std::stoi(read_file(written)), 0), 0);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Supervisor, WritesItsReportOverNoFile) {
  const Scratch scratch;
  const auto notes = scratch.path() / "notes";
  attn::put(notes, "mine");
  const std::vector<std::string> command = {program.string(), "--gtest_filter=Misbehaving.First",
                                            "--report=" + notes.string()};
  EXPECT_EQ(run(command, scratch.path(), scratch.path() / "output.txt"), 2);
  EXPECT_EQ(read_file(notes), "mine");
  EXPECT_NE(read_file(scratch.path() / "output.txt").find("exists already"), std::string::npos);
}

/// Starts a misbehaving check, with MISBEHAVING in its environment, and does not wait for it.
pid_t start(const std::string& filter, const std::string& misbehaving = "") {
  return attn::start_child([&] {
    setenv("MISBEHAVING", misbehaving.c_str(), 1);
    execl(program.c_str(), program.c_str(), ("--gtest_filter=" + filter).c_str(), nullptr);
    return false;
  });
}

TEST(Supervisor, LeavesNoProcessBehindWhenItIsEnded) {
  const Scratch scratch;
  const auto written = scratch.path() / "process";
  const pid_t supervisor = start("Forks.IntoAProcessThatLeavesForEver", written);
  const auto text = [&] { return std::filesystem::exists(written) ? read_file(written) : ""; };
  while (text().find('\n') == std::string::npos) usleep(1000);
  kill(supervisor, SIGTERM);
  int status = 0;
  waitpid(supervisor, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_NE(kill(std::stoi(text()), 0), 0);
}

TEST(Supervisor, DoesNotCountTheTimeWhileItIsSuspended) {
  const pid_t supervisor = start("Slow.First");  // 4 s, and 5 s are allowed
  sleep(1);
  kill(supervisor, SIGTSTP);
  sleep(5);
  kill(supervisor, SIGCONT);
  EXPECT_TRUE(attn::ended_well(supervisor));
}

TEST(Supervisor, SaysThatItsReportsAreDisturbed) {
  const Outcome disturbed = outcome_of("Misbehaving.First:Writes.*:Misbehaving.Last");
  EXPECT_EQ(disturbed.exit_code, 1);
  EXPECT_THAT(disturbed.texts.at("IntoWhatIsNotItsOwn"), HasSubstr("something else was written to their file desc"));
  EXPECT_EQ(disturbed.states.at("Last"), "passed");
}

TEST(Supervisor, KeepsTheTerminalFromTheChecks) { EXPECT_EQ(outcome_of("Terminal.*").exit_code, 0); }

TEST(Supervisor, RefusesAFilterThatMatchesNothing) {
  const Outcome nothing = outcome_of("No.Such");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.printed, HasSubstr("no check matches --gtest_filter=No.Such"));
}

TEST(Supervisor, RefusesAnUnknownArgument) {
  const Scratch scratch;
  EXPECT_EQ(run({program, "--no-such"}, scratch.path(), scratch.path() / "output"), 2);
  EXPECT_THAT(read_file(scratch.path() / "output"), HasSubstr("unknown argument --no-such"));
}

}  // namespace
