// What wrong results look like: each sentence where it is true, and none where it is not.
#include "checks/likeness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace attn::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double tolerance = 1e-10;

/// Random numbers, always the same.
arma::cube numbers(arma::uword rows, arma::uword columns, arma::uword slices) {
  arma::arma_rng::set_seed(7);
  return arma::cube(rows, columns, slices, arma::fill::randn);
}

arma::cube transposed(const arma::cube& x) {
  arma::cube result(x.n_cols, x.n_rows, x.n_slices);
  for (arma::uword n = 0; n < x.n_slices; ++n) result.slice(n) = x.slice(n).t();
  return result;
}

arma::cube divided_by_sums(arma::cube x, int axis) {
  x = arma::exp(x);
  x.each_slice([&](arma::mat& one) {
    const arma::mat sums = arma::sum(one, static_cast<arma::uword>(axis));
    if (axis == 1) {
      one.each_col() /= arma::vec(sums);
    } else {
      one.each_row() /= arma::rowvec(sums);
    }
  });
  return x;
}

class Likeness : public ::testing::Test {
 protected:
  std::string of(const arma::cube& got) const { return likeness(got, expected, tolerance); }

  arma::cube expected = numbers(4, 4, 3);
};

TEST_F(Likeness, IsNothingOfOtherNumbers) {
  arma::arma_rng::set_seed(8);
  EXPECT_THAT(of(arma::cube(4, 4, 3, arma::fill::randn)), IsEmpty());
  EXPECT_THAT(of(arma::cube()), IsEmpty());
  EXPECT_THAT(of(arma::cube(2, 5, 1, arma::fill::randn)), IsEmpty());
}

TEST_F(Likeness, SeesOneNumberEverywhere) {
  EXPECT_EQ(of(arma::cube(4, 4, 3, arma::fill::zeros)), "all values are 0");
  EXPECT_EQ(of(arma::cube(4, 4, 3, arma::fill::value(0.25))), "all values are 0.25");
  EXPECT_EQ(of(arma::cube(4, 4, 3, arma::fill::value(arma::datum::nan))), "all values are NaN");
}

TEST_F(Likeness, SeesACommonFactor) {
  EXPECT_EQ(of(-expected), "every value has the wrong sign");
  EXPECT_EQ(of(0.5 * expected), "every value is 0.5 times the expected one");
  arma::cube nearly = 0.5 * expected;
  nearly(5) += 1e-6;
  EXPECT_THAT(of(nearly), IsEmpty());
}

TEST_F(Likeness, SeesACommonDifference) {
  EXPECT_EQ(of(expected + 2), "every value is 2 too large");
  EXPECT_EQ(of(expected - 0.5), "every value is 0.5 too small");
}

TEST_F(Likeness, SeesATranspose) {
  EXPECT_EQ(of(transposed(expected)), "every slice is the transpose of what is expected");
  const arma::cube wide = numbers(2, 5, 1);
  EXPECT_EQ(likeness(transposed(wide), wide, tolerance), "this is the transpose of what is expected");
}

TEST_F(Likeness, SeesASoftmaxOverSomethingElse) {
  const arma::cube weights = divided_by_sums(expected, 1);
  EXPECT_EQ(likeness(divided_by_sums(expected, 0), weights, tolerance),
            "the columns sum to one, but the rows have to: a weight for each key");
  arma::cube whole = arma::exp(expected);
  whole.each_slice([](arma::mat& x) { x /= arma::accu(x); });
  EXPECT_EQ(likeness(whole, weights, tolerance), "all values of a slice together sum to one, but every row has to");
  EXPECT_EQ(likeness(arma::exp(expected), weights, tolerance), "the rows do not sum to one");
}

TEST_F(Likeness, SeesAnotherOrder) {
  arma::cube got = expected;
  got.slice(0) = expected.slice(2);
  got.slice(2) = expected.slice(0);
  EXPECT_EQ(of(got), "the slices are right, but in another order: slice 0 holds what belongs in slice 2");
  got = expected;
  got.each_slice([](arma::mat& x) { x.swap_rows(1, 3); });
  EXPECT_EQ(of(got), "the rows are right, but in another order: row 1 holds what belongs in row 3");
  got.each_slice([](arma::mat& x) { x.swap_cols(1, 3); });
  EXPECT_EQ(of(got), "these are the right numbers, but in other places");
  for (const uword zeros : {0U, 2U}) expected.each_slice([&](arma::mat& x) { x.row(zeros).zeros(); });
  got = expected;
  got.each_slice([](arma::mat& x) { x = x.rows(arma::uvec{0, 2, 3, 1}); });
  EXPECT_EQ(of(got), "the rows are right, but in another order: row 2 holds what belongs in row 3") << "not the zeros";
}

TEST_F(Likeness, SeesPartsThatAreAlike) {
  arma::cube got = numbers(4, 4, 3) + numbers(4, 4, 3) % numbers(4, 4, 3);
  got.slice(1) = got.slice(2) = got.slice(0);
  EXPECT_EQ(of(got), "all slices are the same, and should differ");
}

TEST_F(Likeness, SeesPartsThatBelongElsewhere) {
  arma::cube got = expected;
  got.slice(2) = expected.slice(0);
  EXPECT_EQ(of(got), "slice 2 holds what belongs in slice 0");
  got = expected;
  for (arma::uword i = 1; i < 4; ++i) got.row(i) = expected.row(i - 1);
  EXPECT_EQ(of(got), "row 1 holds what belongs in row 0, and so on");
  arma::cube many = numbers(5, 4, 1), copied = many;
  for (const arma::uword i : {1U, 3U}) copied.row(i) = many.row(0);
  EXPECT_EQ(likeness(copied, many, tolerance), "what belongs in row 0 is in other rows, too");
  got = expected;
  got.row(2).zeros();
  EXPECT_THAT(of(got), Not(HasSubstr("belongs"))) << "zeros are no row";
}

TEST_F(Likeness, SeesWhichPartsAreRight) {
  arma::cube got = expected % expected;
  got.slice(0) = expected.slice(0);
  EXPECT_EQ(of(got), "slice 0 is right, slices 1 and 2 are not");
  got = expected;
  got.row(1) += got.row(2) % got.row(2);
  EXPECT_EQ(of(got), "rows 0, 2 and 3 are right, row 1 is not");
  got = expected;
  got.tube(0, 0, 3, 1) = arma::square(got.tube(0, 0, 3, 1));
  EXPECT_EQ(of(got), "columns 2 and 3 are right, columns 0 and 1 are not");
}

TEST_F(Likeness, ListsNoMoreThanFourParts) {
  const arma::cube many = numbers(12, 5, 1);
  const auto without = [&](const std::vector<arma::uword>& wrong) {
    arma::cube got = many;
    for (const auto i : wrong) got.row(i) += arma::square(many.row(i));
    return likeness(got, many, tolerance);
  };
  EXPECT_EQ(without({3, 7}), "rows 3 and 7 are wrong, the others are right");
  EXPECT_EQ(without({0, 1, 2, 4, 6, 8, 9, 11}), "rows 3, 5, 7 and 10 are right, the others are not");
  EXPECT_EQ(without({0, 2, 4, 6, 8, 10}), "6 of 12 rows are right");
}

TEST_F(Likeness, SeesRowsThatAreScaledOrShifted) {
  arma::cube got = expected;
  for (arma::uword i = 0; i < 4; ++i) got.row(i) *= 1.0 + static_cast<double>(i);
  EXPECT_THAT(of(got), HasSubstr("every row is a multiple of the expected one (row 1 is 2 times)"));
  got = expected;
  got.each_slice([](arma::mat& x) { x.each_row() += arma::rowvec{1, 2, 3, 4}; });
  EXPECT_THAT(of(got), HasSubstr("every row is off by the same numbers"));
}

TEST_F(Likeness, SeesZerosInPlaceOfNumbers) {
  arma::cube got = expected;
  for (arma::uword n = 0; n < 3; ++n) {
    for (arma::uword i = 0; i < 4; ++i) got(i, (i + n) % 4, n) = 0;
  }
  EXPECT_EQ(of(got), "the values are right but for 12 that are 0");
}

}  // namespace
}  // namespace attn::judge
