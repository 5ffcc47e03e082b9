// Not a test of anything: checks that do what a learner's code may do, in a check, or before the first and after the
// last as the environment variable MISBEHAVING says. supervisor_test.cpp runs this program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <armadillo>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attn/todo.hpp"
#include "checks/matchers.hpp"

namespace attn::judge {
namespace {

volatile bool forever = true;

// Deep enough to leave any stack. The result is used after the call, so that it is no loop.
int without_end(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[1 << 16];
  frame[0] = static_cast<char>(depth);
  return forever ? without_end(depth + 1) + frame[0] : 0;
}

void loop() {
  while (forever) {
  }
}

void wait() {
  while (forever) sleep(1);
}

void end_with_zero() { _exit(0); }

std::thread& thread_of_the_program() {
  static std::thread thread;
  return thread;
}

/// A global object: constructed before the first check, and destroyed when main() returns or calls exit().
class Global {
 public:
  Global() {
    const char* text = std::getenv("MISBEHAVING");
    manner_ = text == nullptr ? "" : text;
    if (manner_ == "loops") loop();
    if (manner_ == "waits") wait();
    if (manner_ == "crashes") std::abort();
    if (manner_ == "throws") throw std::runtime_error("out of ideas");
    if (manner_ == "exits") std::exit(0);
    while (manner_ == "prints without end" && forever) std::cout << "again and again and again\n";
    if (manner_ == "prints") std::cout << "a word" << std::endl;
    if (manner_ == "starts the program anew") {
      unsetenv("MISBEHAVING");
      execl("/proc/self/exe", "misbehaving", "--in-process", "--gtest_filter=Misbehaving.First", nullptr);
    }
    if (manner_ == "exits at exit") std::atexit(end_with_zero);
    if (manner_ == "loops at exit") std::atexit(loop);
    if (manner_ == "leaves a thread") thread_of_the_program() = std::thread(wait);
  }
  ~Global() {
    if (manner_ == "exits when destroyed") end_with_zero();
    if (manner_ == "loops when destroyed") loop();
  }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;

 private:
  std::string manner_;
};

const Global global;

TEST(Misbehaving, First) { EXPECT_EQ(1, 1); }

TEST(Misbehaving, Crashes) { std::raise(SIGSEGV); }

TEST(Misbehaving, CallsItself) { EXPECT_EQ(without_end(0), 1); }

TEST(Misbehaving, LoopsForEver) { loop(); }

TEST(Misbehaving, LoopsForEverToo) { loop(); }

TEST(Misbehaving, ThrowsSomethingOdd) { throw 42; }

TEST(Misbehaving, ThrowsAnException) { throw std::runtime_error("out of ideas"); }

TEST(Misbehaving, ThrowsInALibrary) { EXPECT_EQ(std::vector<int>(3).at(3), 1); }

TEST(Misbehaving, Aborts) { std::abort(); }

TEST(Misbehaving, EndsTheProgram) { std::exit(0); }

/// Many short lines, written at once: each in a call of its own can take a slow machine longer than a check may compute.
std::string lines(const std::string& line) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += line + "\n";
  return text;
}

TEST(Misbehaving, PrintsWithoutEnd) {
  const std::string thousand = lines("again and again and again");
  while (forever) std::cout << thousand;
}

TEST(Misbehaving, PrintsALittle) {
  std::cout << "the scores are 1 2 3\n";
  EXPECT_EQ(1, 2);
}

TEST(Misbehaving, PrintsMegabytes) {
  const std::string thousand = lines("twenty-one characters");
  for (int i = 0; i < 100; ++i) std::cout << thousand;
  EXPECT_EQ(1, 2);
}

TEST(Misbehaving, Allocates) {
  const arma::cube huge(100000, 125000, 1, arma::fill::zeros);  // 100 GB
  EXPECT_EQ(huge.n_slices, 1U);
}

TEST(Misbehaving, ReadsFromTheTerminal) {
  std::string text;
  std::cin >> text;
  EXPECT_EQ(text, "something");
}

TEST(Misbehaving, ReturnsAnEmptyCube) { EXPECT_THAT(arma::cube(), HasShape({{"L", 4}, {"E", 3}, {"B", 2}})); }

TEST(Misbehaving, ReturnsNaN) {
  arma::cube x(4, 3, 2, arma::fill::zeros);
  x(2, 1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(x, IsNear(arma::cube(4, 3, 2, arma::fill::zeros), {"L", "E", "B"}));
}

TEST(Misbehaving, IsNotWritten) { attn::todo("00.1"); }

TEST(Misbehaving, FailsAndThenIsNotWritten) {
  EXPECT_EQ(1, 2);
  attn::todo("00.2");
}

TEST(Misbehaving, ThrowsMegabytes) { throw std::runtime_error(std::string(2 << 20, 'x')); }

TEST(Misbehaving, Last) { EXPECT_EQ(1, 1); }

TEST(Closed, Output) {
  std::cout << "before\n" << std::flush;
  close(STDOUT_FILENO);
  EXPECT_EQ(1, 2);
}

TEST(Waiting, First) { wait(); }
TEST(Waiting, Second) { wait(); }
TEST(Waiting, Third) { wait(); }
TEST(Waiting, IsNotReached) {}
TEST(Waiting, IsNotReachedEither) {}

TEST(Slow, First) { sleep(4); }
TEST(Slow, Second) { sleep(4); }
TEST(Slow, Third) { sleep(4); }
TEST(Slow, IsNotReached) {}

TEST(Forks, AndTheCopyGoesOn) {
  fork();
  EXPECT_EQ(1, 1);
}

TEST(Forks, AndWaitsForACopyThatGoesOn) {
  if (const pid_t copy = fork(); copy != 0) waitpid(copy, nullptr, 0);
  EXPECT_EQ(1, 1);
}

/// Starts a process that is in no group, session or family of ours, and writes its number into the file MISBEHAVING.
void start_process_that_leaves() {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    std::ofstream(std::getenv("MISBEHAVING")) << getpid() << "\n";
    wait();
  }
  while (std::ifstream(std::getenv("MISBEHAVING")).peek() == EOF) usleep(1000);
}

TEST(Forks, IntoAProcessThatLeaves) { start_process_that_leaves(); }

TEST(Forks, IntoAProcessThatLeavesForEver) {
  start_process_that_leaves();
  wait();
}

TEST(Writes, IntoWhatIsNotItsOwn) {
  for (int file = 3; file < 64; ++file) (void)!write(file, "hello\n", 6);
}

TEST(Terminal, CannotBeOpened) { EXPECT_FALSE(std::ifstream("/dev/tty").good()); }

}  // namespace
}  // namespace attn::judge
