// The counter of bytes that the checks of memory rely on counts what it should.
#include "checks/allocation.hpp"

#include <gtest/gtest.h>

#include <armadillo>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace attn::judge {
namespace {

TEST(AllocatedBytes, CountsACubeAndItsCopy) {
  const std::size_t bytes = 100 * 200 * 3 * sizeof(double);
  arma::cube cube;
  const std::size_t made = allocated_bytes([&] { cube = arma::cube(100, 200, 3); });
  EXPECT_GE(made, bytes);
  EXPECT_LT(made, bytes + 1000);
  EXPECT_GE(allocated_bytes([&] { const arma::cube copy = cube; }), bytes);
}

TEST(AllocatedBytes, CountsNothingForAMove) {
  arma::cube cube(100, 200, 3);
  EXPECT_LT(allocated_bytes([&] { const arma::cube moved = std::move(cube); }), 1000U);
}

TEST(AllocatedBytes, CountsWhatIsGivenBackAtOnce) {
  const std::size_t bytes = 3 * 10000 * sizeof(double);
  EXPECT_GE(allocated_bytes([] {
              for (int i = 0; i < 3; ++i) const arma::vec temporary(10000);
            }),
            bytes);
}

TEST(AllocatedBytes, CountsVectorsArraysAndMalloc) {
  EXPECT_GE(allocated_bytes([] { const std::vector<double> numbers(1000); }), 8000U);
  EXPECT_GE(allocated_bytes([] { const std::unique_ptr<double[]> numbers(new double[1000]); }), 8000U);
  EXPECT_GE(allocated_bytes([] {
              void* volatile memory = std::malloc(8000);
              std::free(memory);
            }),
            8000U);
}

TEST(AllocatedBytes, CountsWhatOtherThreadsTake) {
  const auto in_a_thread = [] { std::thread([] { const std::vector<double> numbers(1000); }).join(); };
  EXPECT_GE(allocated_bytes(in_a_thread), 8000U);
  EXPECT_GE(largest_allocation(in_a_thread), 8000U);
  EXPECT_GE(peak_bytes(in_a_thread), 8000U);
}

TEST(LargestAllocation, IsTheLargestPieceAndNoSum) {
  const auto pieces = [] {
    for (const arma::uword size : {2000U, 3000U, 1000U}) const arma::vec temporary(size);
  };
  const std::size_t largest = largest_allocation(pieces);
  EXPECT_GE(largest, 3000 * sizeof(double));
  EXPECT_LT(largest, 4000 * sizeof(double));
}

TEST(LargestAllocation, ForgetsWhatWasAskedForBefore) {
  const arma::vec before(100000);
  EXPECT_LT(largest_allocation([] { const arma::vec temporary(1000); }), 2000 * sizeof(double));
}

TEST(PeakBytes, CountsWhatIsKeptAndNotWhatIsGivenBack) {
  const std::size_t piece = 10000 * sizeof(float);
  const std::size_t one_by_one = peak_bytes([] {
    for (int i = 0; i < 5; ++i) const arma::fvec temporary(10000);
  });
  EXPECT_GE(one_by_one, piece);
  EXPECT_LT(one_by_one, 2 * piece);
  const std::size_t kept = peak_bytes([] {
    std::vector<arma::fvec> pieces;
    pieces.reserve(5);
    for (int i = 0; i < 5; ++i) pieces.emplace_back(10000);
  });
  EXPECT_GE(kept, 5 * piece);
  EXPECT_LT(kept, 6 * piece);
}

TEST(PeakBytes, BalancesEveryWayToTakeMemoryAndToGiveItBack) {
  const auto expect_balance = [](const char* way, const std::function<void()>& code) {
    const std::size_t once = peak_bytes(code);
    const std::size_t often = peak_bytes([&] {
      for (int i = 0; i < 9; ++i) code();
    });
    EXPECT_GE(once, 8000U) << way;
    EXPECT_LT(often, 8000U * 2) << way << ": what was given back still counts";
    const std::size_t after = peak_bytes([&] {
      for (int i = 0; i < 9; ++i) code();
      const std::vector<char> more(8000);
    });
    EXPECT_GE(after, 8000U) << way << ": more was given back than had been taken";
  };
  void* volatile memory = nullptr;
  expect_balance("malloc", [&] { std::free(memory = std::malloc(8000)); });
  expect_balance("calloc", [&] { std::free(memory = std::calloc(1000, 8)); });
  expect_balance("realloc", [&] { std::free(memory = std::realloc(std::malloc(9000), 8000)); });
  expect_balance("aligned_alloc", [&] { std::free(memory = std::aligned_alloc(64, 8000)); });
  expect_balance("new", [] { const auto numbers = std::make_unique<std::array<double, 1000>>(); });
  expect_balance("new[]", [] { const std::unique_ptr<double[]> numbers(new double[1000]); });
  expect_balance("new[] without exceptions", [] { std::unique_ptr<char[]> letters(new (std::nothrow) char[8000]); });
  expect_balance("a vector", [] { const std::vector<double> numbers(1000); });
  expect_balance("a cube of many slices, looked at", [] {
    const arma::fcube cube(10, 10, 20);
    EXPECT_EQ(cube.slice(19).n_elem, 100U);
  });
}

TEST(PeakBytes, IsCountedFromWhatWasHeldBefore) {
  std::vector<double> before(100000);
  EXPECT_LT(peak_bytes([] { const std::vector<double> numbers(1000); }), 10000U);
  EXPECT_LT(peak_bytes([&] {
              before = std::vector<double>();
              const std::vector<double> numbers(50000);
            }),
            1000U)
      << "what was given back made room";
}

}  // namespace
}  // namespace attn::judge
