#include "checks/speed.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

extern "C" void openblas_set_num_threads(int count);

namespace attn::judge {

namespace {

using Code = std::function<arma::cube()>;

constexpr double total_ms = 40;  // all batches together
constexpr double batch_ms = 1;   // long enough for the clock, and short enough to be left alone now and then
constexpr std::size_t least_batches = 12;

struct Registered {
  std::string what;
  SpeedSetUp set_up;
};

Registered& registered() {
  static Registered the_one;
  return the_one;
}

/// The time of one batch, in milliseconds a run.
double time_of(const Code& code, int runs) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    const arma::cube result = code();
    volatile double used = result.is_empty() ? 0 : result(result.n_elem - 1);
    (void)used;
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / runs;
}

/// The quickest of many short batches: what is else done on the machine only ever makes one longer. The first run warms
/// up, and says how many runs make a batch. Slow code is run no second time.
double least_ms(const Code& code) {
  std::vector<double> times = {time_of(code, 1)};
  const int runs = static_cast<int>(std::ceil(batch_ms / std::max(times.front(), 0.01)));
  for (double spent = times.front(); spent < total_ms || (times.size() < least_batches && times.front() < total_ms);
       spent += times.back() * runs) {
    times.push_back(time_of(code, runs));
  }
  return *std::min_element(times.begin(), times.end());
}

/// Lets little but the code itself be timed.
void single_thread_for_timing() {
  openblas_set_num_threads(1);  // several would spend processor time on waiting for each other
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);  // memory that is freed stays here: the operating system is slow to give it again
}

/// To GoogleTest the measuring is a check like others, so that the supervisor can run it.
class Measuring : public ::testing::Test {
 public:
  void TestBody() override {
    single_thread_for_timing();
    arma::arma_rng::set_seed(1);  // the learner's code and the reference get the same numbers
    RecordProperty("milliseconds", std::to_string(least_ms(registered().set_up())));
  }
};

}  // namespace

bool register_speed(const char* what, SpeedSetUp set_up) {
  registered() = {what, std::move(set_up)};
  return true;
}

void measure_speed_instead() {
  GTEST_FLAG_SET(filter, "Speed.*");
  if (!registered().set_up) return;
  ::testing::RegisterTest("Speed", registered().what.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          []() -> ::testing::Test* { return new Measuring; });
}

}  // namespace attn::judge
