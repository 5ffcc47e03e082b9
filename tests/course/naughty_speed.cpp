// Not a test of anything: a speed to be measured that does what a learner's code may do, as the environment variable
// NAUGHTY says. speed_test.cpp runs this program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <armadillo>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <stdexcept>
#include <string>

#include "attn/todo.hpp"
#include "support/speed.hpp"

namespace attn::testing {
namespace {

TEST(Naughty, IsNotRunWhenTheSpeedIsMeasured) { std::abort(); }

volatile bool forever = true;

/// Takes so much processor time.
void compute(double milliseconds) {
  const std::clock_t start = std::clock();
  while (1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < milliseconds) {
  }
}

arma::cube behave(const std::string& manner) {
  if (manner == "throws") throw std::runtime_error("out of \"ideas\"");
  if (manner == "throws something odd") throw 42;
  if (manner == "is not written") todo("00.1");
  if (manner == "crashes") std::raise(SIGSEGV);
  if (manner == "ends the program") std::exit(0);
  while (manner == "loops" && forever) {
  }
  while (manner == "waits" && forever) sleep(1);
  while (manner == "prints without end" && forever) std::cout << "again and again and again\n";
  if (manner == "prints") std::cout << "a word" << std::endl;
  if (manner == "allocates") return arma::cube(100000, 125000, 1, arma::fill::zeros);  // 100 GB
  static int runs = 0;
  if (manner == "is slow" && ++runs > 1) throw std::runtime_error("run once more");
  compute(manner == "is slow" ? 100 : manner == "is quick" ? 0.2 : 3);
  return {};
}

ATTN_SPEED("naughty things", [] {
  const char* manner = std::getenv("NAUGHTY");
  if (manner == nullptr) throw std::runtime_error("NAUGHTY is not set");
  compute(100);  // set-up: not to be measured
  return [text = std::string(manner)] { return behave(text); };
});

}  // namespace
}  // namespace attn::testing
