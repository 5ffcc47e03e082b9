// learn_probe: what Armadillo and the BLAS below it really are when the course's own build links them. One JSON object
// on standard output, for ./learn doctor. It reports of OpenBLAS only what the loaded library has, so that it also
// links and runs over another BLAS.
#include <dlfcn.h>

#include <armadillo>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

/// A function of the loaded libraries, or null when none of them has it.
template <typename Function>
Function* find_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string call_for_text(const char* name) {
  auto* const function = find_function<char*()>(name);
  return function == nullptr ? "" : function();
}

/// The file that a function comes from, links followed; empty when there is no such function.
std::string file_of(const char* name) {
  Dl_info where{};
  if (dladdr(dlsym(RTLD_DEFAULT, name), &where) == 0) return "";
  std::error_code unknown;
  const auto file = std::filesystem::canonical(where.dli_fname, unknown);
  return unknown ? where.dli_fname : file.string();
}

/// The best of several multiplications of square matrices, for about 60 ms.
template <typename Matrix>
double gigaflops() {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr arma::uword size = 384;
  const Matrix A(size, size, arma::fill::randu);
  const Matrix B(size, size, arma::fill::randu);
  Matrix product = A * B;  // wakes the threads
  double best = 0;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    product = A * B;
    const double seconds = Seconds(Clock::now() - start).count();
    best = std::max(best, 2e-9 * size * size * size / seconds);
  } while (Seconds(Clock::now() - begin).count() < 0.06);
  return best;
}

/// Debian has OpenBLAS's own libblas.so beside libopenblas.so, so the file alone does not show which one is loaded.
bool is_openblas(const std::string& blas) {
  return !blas.empty() && (blas.find("openblas") != std::string::npos || blas == file_of("openblas_get_config"));
}

}  // namespace

int main() {
  auto* const threads = find_function<int()>("openblas_get_num_threads");
  const std::string blas = file_of("dgemm_");
  const nlohmann::json probe = {{"armadillo", arma::arma_version::as_string()},
                                {"blas", blas},
                                {"is_openblas", is_openblas(blas)},
                                {"config", call_for_text("openblas_get_config")},
                                {"core", call_for_text("openblas_get_corename")},
                                {"threads", threads == nullptr ? 0 : threads()},
                                {"dgemm", gigaflops<arma::mat>()},
                                {"sgemm", gigaflops<arma::fmat>()}};
  std::cout << probe << "\n";
}
