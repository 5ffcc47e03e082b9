// Not a test of anything: a speed to be measured that does what a learner's code may do, as the environment variable
// MISBEHAVING says. speed_test.cpp runs this program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <armadillo>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "attn/todo.hpp"
#include "checks/speed.hpp"

namespace attn::judge {
namespace {

TEST(Misbehaving, IsNotRunWhenTheSpeedIsMeasured) { std::abort(); }

volatile bool forever = true;

/// Takes so much time.
void compute(double milliseconds) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
  while (steady_clock::now() < end) {
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

ATTN_SPEED("misbehaving things", [] {
  const char* manner = std::getenv("MISBEHAVING");
  if (manner == nullptr) throw std::runtime_error("MISBEHAVING is not set");
  compute(100);  // set-up: not to be measured
  return [text = std::string(manner)] { return behave(text); };
});

}  // namespace
}  // namespace attn::judge
