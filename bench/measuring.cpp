#include "measuring.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

extern "C" void openblas_set_num_threads(int threads);

namespace attn::bench {

namespace {

/// A line of /proc/self/status, such as VmHWM, in bytes.
std::size_t memory_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

double layer_flops(arma::uword B, arma::uword L, bool causal) {
  const double b = static_cast<double>(B), l = static_cast<double>(L), e = static_cast<double>(embed_dim);
  const double pairs = causal ? l * (l + 1) / 2 : l * l;
  return b * (8 * l * e * e + 4 * pairs * e);
}

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double sgemm_rate(int threads) {
  const arma::uword n = 2048;
  openblas_set_num_threads(threads);
  const arma::fmat A(n, n, arma::fill::randu), B(n, n, arma::fill::randu);
  arma::fmat C(n, n);
  double best = seconds([&] { C = A * B; });
  for (int run = 1; run < 5; ++run) best = std::min(best, seconds([&] { C = A * B; }));
  const double size = static_cast<double>(n);
  return 2 * size * size * size / best;
}

std::size_t peak_growth(const std::function<void()>& call) {
#ifdef __GLIBC__
  malloc_trim(0);  // returns freed memory to the system, so that it counts when it is used again
#endif
  const std::size_t before = memory_status("VmRSS");
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the highest so far
  call();
  const std::size_t highest = memory_status("VmHWM");
  return highest > before ? highest - before : 0;
}

}  // namespace attn::bench
