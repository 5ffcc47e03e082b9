// Programs that run beside the tool: what they may use, how they are stopped, and that nothing of them stays behind.
#include "run/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "lesson/lesson.hpp"
#include "scratch.hpp"

namespace attn::learn {
namespace {

using judge::Answer;
using judge::ask;
using judge::Process;
using judge::ProcessLimits;
using judge::run;
using lesson::read_file;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::EndsWith;
using ::testing::HasSubstr;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// Waits until something holds. @return whether it did in time
template <typename Condition>
bool comes_true(Condition condition, double seconds = 30) {
  for (const auto start = steady_clock::now(); !condition(); poll(nullptr, 0, 5)) {
    if (seconds_since(start) > seconds) return false;
  }
  return true;
}

/// The exit code of a program that ends soon.
int exit_code(Process& process, double seconds = 30) {
  EXPECT_TRUE(comes_true([&] { return process.ended(); }, seconds));
  return process.exit_code();
}

/// Whether the process is gone; one that is dead and only not buried yet counts as gone.
bool gone(pid_t process) {
  if (kill(process, 0) != 0) return errno == ESRCH;
  const auto stat = std::filesystem::path("/proc") / std::to_string(process) / "stat";
  try {
    const std::string text = read_file(stat);
    return text.substr(text.rfind(')') + 2, 1) == "Z";
  } catch (const std::runtime_error&) {
    return true;
  }
}

class Processes : public ::testing::Test {
 protected:
  Processes() : output(scratch.path() / "output") {}

  static std::vector<std::string> sh(const std::string& script) { return {"sh", "-c", script}; }

  Process launch(const std::vector<std::string>& arguments, const std::optional<ProcessLimits>& limits = {}) const {
    return Process(arguments, scratch.path(), output, limits);
  }

  /// The number that a script wrote to a file, as soon as it is there.
  pid_t number_in(const std::string& file) const {
    const auto path = scratch.path() / file;
    const auto written = [&] {
      return std::filesystem::exists(path) && read_file(path).find('\n') != std::string::npos;
    };
    EXPECT_TRUE(comes_true(written)) << file;
    return std::stoi(read_file(path));
  }

  Scratch scratch;
  std::filesystem::path output;
};

TEST_F(Processes, WriteBothStreamsIntoTheFileAndReadNothing) {
  Process process = launch(sh("pwd; echo error >&2; cat; exit 3"));
  EXPECT_EQ(exit_code(process), 3);
  EXPECT_FALSE(process.overran());
  EXPECT_EQ(read_file(output), scratch.path().string() + "\nerror\n");
}

TEST_F(Processes, SayHowTheyEnded) {
  Process killed = launch(sh("kill -SEGV $$"));
  EXPECT_EQ(exit_code(killed), 128 + SIGSEGV);
  Process missing = launch({"no-such-program"});
  EXPECT_EQ(exit_code(missing), 127);
}

TEST_F(Processes, WakeWhoeverPollsWhenTheyEnd) {
  Process process = launch(sh("sleep 0.3"));
  pollfd waiting{process.wake_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 50), 0);
  EXPECT_EQ(poll(&waiting, 1, 10000), 1);
  EXPECT_TRUE(comes_true([&] { return process.ended(); }));
}

TEST_F(Processes, AreStoppedWhenTheirTimeIsOver) {
  ProcessLimits limits;
  limits.wall = std::chrono::seconds(1);
  const auto start = steady_clock::now();
  Process process = launch({"sleep", "60"}, limits);
  EXPECT_EQ(exit_code(process), 128 + SIGTERM);
  EXPECT_TRUE(process.overran());
  EXPECT_GE(seconds_since(start), 1);
  EXPECT_LT(seconds_since(start), 30);
}

TEST_F(Processes, MayComputeOnlySoLong) {
  ProcessLimits limits;
  limits.processor = std::chrono::seconds(1);
  Process process = launch(sh("while :; do :; done"), limits);
  EXPECT_EQ(exit_code(process, 60), 128 + SIGXCPU);
  EXPECT_FALSE(process.overran());
}

TEST_F(Processes, MayUseOnlySoMuchMemory) {
  ProcessLimits limits;
  limits.memory_bytes = 64 << 20;
  Process process = launch({"dd", "if=/dev/zero", "of=/dev/null", "bs=128M", "count=1"}, limits);
  EXPECT_EQ(exit_code(process), 1);
  EXPECT_THAT(read_file(output), HasSubstr("memory exhausted"));
}

TEST_F(Processes, MayWriteOnlySoMuch) {
  ProcessLimits limits;
  limits.written_bytes = 1 << 20;
  Process process = launch({"yes"}, limits);
  EXPECT_EQ(exit_code(process), 128 + SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(output), 1 << 20);
}

TEST_F(Processes, LeaveNothingBehindThatTheyStarted) {
  for (const bool stopped : {true, false}) {
    std::filesystem::remove(scratch.path() / "started");
    Process process = launch(sh(std::string("sleep 60 & echo $! >started") + (stopped ? "; wait" : "")));
    const pid_t started = number_in("started");
    if (stopped) process.stop();
    EXPECT_EQ(exit_code(process), stopped ? 128 + SIGTERM : 0);
    EXPECT_TRUE(comes_true([&] { return gone(started); })) << (stopped ? "stopped" : "ended by itself");
  }
}

TEST_F(Processes, AreStoppedEvenWhenTheyDoNotWantTo) {
  Process process = launch(sh("trap '' TERM; echo $$ >itself; while :; do sleep 0.1; done"));
  const pid_t itself = number_in("itself");
  const auto start = steady_clock::now();
  process.stop();
  EXPECT_LT(seconds_since(start), 30);
  EXPECT_EQ(process.exit_code(), 128 + SIGKILL);
  EXPECT_TRUE(gone(itself));
}

TEST_F(Processes, GetTimeToTidyUpWhenTheyAreStopped) {
  Process process(sh("trap 'echo tidy; exit 0' TERM; echo $$ >itself; while :; do sleep 0.05; done"), scratch.path(),
                  output);
  number_in("itself");
  process.stop();
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_THAT(read_file(output), EndsWith("tidy\n"));
}

TEST_F(Processes, AreContinuedWhenTheyWereSuspended) {
  Process process = launch(sh("kill -STOP $$; exit 3"));
  EXPECT_EQ(exit_code(process), 3);
}

TEST_F(Processes, EndWithWhoeverHoldsThem) {
  pid_t itself = 0;
  {
    Process process = launch(sh("echo $$ >itself; sleep 60"));
    itself = number_in("itself");
  }
  EXPECT_TRUE(gone(itself));
}

TEST_F(Processes, DieWhenTheToolIsKilled) {
  const pid_t tool = start_child([&] {
    std::signal(SIGTERM, SIG_IGN);  // as where it is started so
    const Process process = launch(sh("echo $$ >itself; exec sleep 60"));
    pause();
    return true;
  });
  const pid_t itself = number_in("itself");
  kill(tool, SIGKILL);
  waitpid(tool, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return gone(itself); }));
}

TEST_F(Processes, AreNotReachedByTheTerminalsCtrlC) {
  Process process = launch(sh("echo $$ >itself; sleep 60"));
  EXPECT_EQ(getpgid(number_in("itself")), number_in("itself"));
  EXPECT_NE(getpgid(number_in("itself")), getpgrp());
}

TEST_F(Processes, AreHandedNothingOfTheToolsButTheStreamsAndThePipeThatWakesIt) {
  const std::string count = "ls /proc/self/fd | wc -l";
  run(sh(count), scratch.path(), output);
  const int usual = std::stoi(read_file(output));
  const Process other({"sleep", "60"}, scratch.path(), scratch.path() / "other");
  Process process = launch(sh(count));
  EXPECT_TRUE(comes_true([&] { return process.ended(); }));
  EXPECT_EQ(std::stoi(read_file(output)), usual + 1);
}

// ------------------------------------------------------------------------------------------------------------ jobs

/// Runs scripts one after the other.
class Scripts : public Job {
 public:
  Scripts(std::vector<std::string> scripts, std::filesystem::path folder)
      : scripts_(std::move(scripts)), folder_(std::move(folder)) {
    begin();
  }
  int last_code = -1;

 private:
  void begin() override { go_on(); }
  void next(const Process& ended) override {
    last_code = ended.exit_code();
    if (last_code == 0 && done_ < scripts_.size()) go_on();
  }
  void go_on() {
    const std::string what = done_ == 0 ? "building" : "checking";
    start(what, {"sh", "-c", scripts_.at(done_++)}, folder_, folder_ / "output");
  }

  std::vector<std::string> scripts_;
  std::filesystem::path folder_;
  std::size_t done_ = 0;
};

using Jobs = Processes;

TEST_F(Jobs, RunTheirProgramsOneAfterTheOther) {
  Scripts job({"echo 1 >>all", "echo 2 >>all", "echo 3 >>all; exit 4", "echo 5 >>all"}, scratch.path());
  EXPECT_TRUE(comes_true([&] { return job.advance(); }));
  EXPECT_EQ(job.last_code, 4);
  EXPECT_EQ(read_file(scratch.path() / "all"), "1\n2\n3\n");
  EXPECT_EQ(job.wake_fd(), -1);
}

TEST_F(Jobs, SayWhatTheyAreAt) {
  Scripts job({"echo 'ninja: Entering directory'; echo '[3/14] Building x.o'; read_on=1; touch said; sleep 60"},
              scratch.path());
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(scratch.path() / "said"); }));
  EXPECT_FALSE(job.advance());
  EXPECT_EQ(job.doing(), "building, step 3 of 14");
  job.stop();
  EXPECT_TRUE(job.advance());
}

TEST_F(Jobs, SayOnceWhatTheyWaitFor) {
  const std::string lock = (scratch.path() / "learn.lock").string();
  Process other({"flock", "--no-fork", lock, "sh", "-c", "touch held; sleep 60", "ninja", "generate"}, scratch.path(),
                scratch.path() / "other");
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(scratch.path() / "held"); }));
  Scripts job({"exec flock --no-fork learn.lock echo free"}, scratch.path());
  EXPECT_FALSE(job.advance());
  EXPECT_EQ(job.doing(), "waiting, as another ./learn builds generate");
  std::vector<std::string> reports;
  std::thread ends_it([&] {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    other.stop();
  });
  job.wait([&](const std::string& report) { reports.push_back(report); });
  ends_it.join();
  EXPECT_EQ(reports, std::vector<std::string>{"waiting, as another ./learn builds generate ..."});
}

TEST(InPercent, ShowsHowFarABuildIs) {
  EXPECT_EQ(in_percent("building, step 3 of 14 ..."), "building, 21 %");
  EXPECT_EQ(in_percent("setting up ..."), "setting up ...");
}

TEST_F(Jobs, AreStoppedByCtrlCWithoutTheToolWhileItWaits) {
  Scripts job({"echo $$ >itself; sleep 60"}, scratch.path());
  const pid_t itself = number_in("itself");
  const pid_t interrupter = start_child([parent = getpid()] {
    poll(nullptr, 0, 200);
    return kill(parent, SIGINT) == 0;
  });
  const auto start = steady_clock::now();
  job.wait({});
  EXPECT_LT(seconds_since(start), 30);
  EXPECT_TRUE(ended_well(interrupter));
  EXPECT_TRUE(gone(itself));
  EXPECT_EQ(job.last_code, -1);
}

// ------------------------------------------------------------------------------------------------------------- ask

TEST_F(Processes, AnswerWhatTheyAreAsked) {
  const Answer answer = ask(sh("cat; echo error >&2; exit 2"), scratch.path(), "question");
  EXPECT_EQ(answer.output, "question");
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_EQ(ask({"no-such-program"}, scratch.path()).exit_code, 127);
}

TEST_F(Processes, AreAskedOnlySoLongAndDieWithWhatTheyStarted) {
  const auto start = steady_clock::now();
  const Answer answer = ask(sh("sleep 60 & echo $! >started; echo so far; sleep 60"), scratch.path(), "", 1);
  EXPECT_EQ(answer.exit_code, 128 + SIGKILL);
  EXPECT_EQ(answer.output, "so far\n");
  EXPECT_TRUE(comes_true([&] { return gone(number_in("started")); }));
  EXPECT_EQ(ask(sh("exec >&-; sleep 60"), scratch.path(), "", 1).exit_code, 128 + SIGKILL);
  EXPECT_LT(seconds_since(start), 30);
}

}  // namespace
}  // namespace attn::learn
