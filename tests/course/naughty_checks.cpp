// Not a test of anything: checks that do what a learner's code may do. supervisor_test.cpp runs this program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <armadillo>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "attn/todo.hpp"
#include "support/matchers.hpp"

namespace attn::testing {
namespace {

volatile bool forever = true;

// Deep enough to leave any stack. The result is used after the call, so that it is no loop.
int without_end(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[1 << 16];
  frame[0] = static_cast<char>(depth);
  return forever ? without_end(depth + 1) + frame[0] : 0;
}

TEST(Naughty, First) { EXPECT_EQ(1, 1); }

TEST(Naughty, Crashes) { std::raise(SIGSEGV); }

TEST(Naughty, CallsItself) { EXPECT_EQ(without_end(0), 1); }

TEST(Naughty, LoopsForEver) {
  while (forever) {
  }
}

TEST(Naughty, LoopsForEverToo) {
  while (forever) {
  }
}

TEST(Naughty, Sleeps) {
  while (forever) sleep(1);
}

TEST(Naughty, ThrowsSomethingOdd) { throw 42; }

TEST(Naughty, ThrowsAnException) { throw std::runtime_error("out of ideas"); }

TEST(Naughty, Aborts) { std::abort(); }

TEST(Naughty, EndsTheProgram) { std::exit(0); }

TEST(Naughty, PrintsWithoutEnd) {
  while (forever) std::cout << "again and again and again\n";
}

TEST(Naughty, PrintsALittle) {
  std::cout << "the scores are 1 2 3\n";
  EXPECT_EQ(1, 2);
}

TEST(Naughty, PrintsMegabytes) {
  for (int i = 0; i < 100000; ++i) std::cout << "twenty-one characters\n";
  EXPECT_EQ(1, 2);
}

TEST(Naughty, Allocates) {
  const arma::cube huge(100000, 125000, 1, arma::fill::zeros);  // 100 GB
  EXPECT_EQ(huge.n_slices, 1U);
}

TEST(Naughty, ReadsFromTheTerminal) {
  std::string text;
  std::cin >> text;
  EXPECT_EQ(text, "something");
}

TEST(Naughty, ReturnsAnEmptyCube) { EXPECT_THAT(arma::cube(), HasShape({{"L", 4}, {"E", 3}, {"B", 2}})); }

TEST(Naughty, ReturnsNaN) {
  arma::cube x(4, 3, 2, arma::fill::zeros);
  x(2, 1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(x, IsNear(arma::cube(4, 3, 2, arma::fill::zeros), {"L", "E", "B"}));
}

TEST(Naughty, IsNotWritten) { attn::todo("00.1"); }

TEST(Naughty, FailsAndThenIsNotWritten) {
  EXPECT_EQ(1, 2);
  attn::todo("00.2");
}

TEST(Naughty, Last) { EXPECT_EQ(1, 1); }

}  // namespace
}  // namespace attn::testing
