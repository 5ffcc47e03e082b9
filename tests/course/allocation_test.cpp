// The counter of bytes that the checks of memory rely on counts what it should.
#include "support/allocation.hpp"

#include <gtest/gtest.h>

#include <armadillo>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace attn::testing {
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

}  // namespace
}  // namespace attn::testing
