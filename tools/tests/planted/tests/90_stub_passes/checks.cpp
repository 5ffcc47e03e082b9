#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>

#include "checks/golden.hpp"
#include "checks/matchers.hpp"
#include "doubled.hpp"

namespace attn::judge {
namespace {

TEST(Doubled, KeepsTheShape) {
  EXPECT_THAT(doubled(arma::cube(4, 3, 2, arma::fill::randn)), HasShape({{"L", 4}, {"E", 3}, {"B", 2}}));
}

TEST(Doubled, EqualsTheGoldenValues) {
  const GoldenCase golden = load_golden("small");
  EXPECT_THAT(doubled(golden.cube("x")), Matches(golden.expected("y")));
}

}  // namespace
}  // namespace attn::judge
