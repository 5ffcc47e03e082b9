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

TEST(Doubled, HasAQuarterBesideIt) {
  const arma::cube x(1, 1, 1, arma::fill::value(8));
  const Expected quarter = {x / 4, {"L", "E", "B"}, default_tolerance};
  EXPECT_THAT(quartered(x), Matches(quarter)) << likely_mistake("halved");
}

// The defect: nobody runs it.
TEST(Doubled, DISABLED_IsNeverRun) {}

}  // namespace
}  // namespace attn::judge
