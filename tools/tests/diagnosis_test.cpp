// The words of a failing check.
#include "judge/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/matchers.hpp"

namespace attn::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const double nan = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

Expected zeros(arma::uword rows, arma::uword cols, arma::uword slices) {
  return {arma::cube(rows, cols, slices, arma::fill::zeros), {"L", "E", "B"}, default_tolerance, {}};
}

TEST(Diagnosis, SaysNothingWhenAllIsWell) { EXPECT_EQ(diagnose(zeros(4, 3, 2).values, zeros(4, 3, 2)), ""); }

TEST(Diagnosis, NamesTheWorstElementAndCounts) {
  arma::cube x = zeros(4, 3, 2).values;
  x(1, 2, 0) = 0.25;
  x(0, 0, 1) = -0.125;
  EXPECT_EQ(diagnose(x, zeros(4, 3, 2)),
            "\n  shape   4 x 3 x 2 (L x E x B)   ok"
            "\n  value   worst at row 1, col 2, slice 0: got 0.25, want 0, off by 0.25   (2 of 24 differ)");
}

TEST(Diagnosis, StopsAtAWrongShapeAndNamesTheAxes) {
  const std::string text = diagnose(arma::cube(3, 4, 2, arma::fill::ones), zeros(4, 3, 2));
  EXPECT_EQ(text,
            "\n  shape   got 3 x 4 x 2, want 4 x 3 x 2 (L x E x B)"
            "\n          you returned E x L x B, but rows are L, columns are E, slices are B");
}

TEST(Diagnosis, NeverBroadcasts) {
  EXPECT_THAT(diagnose(arma::cube(4, 3, 1, arma::fill::zeros), zeros(4, 3, 2)), HasSubstr("got 4 x 3 x 1"));
  EXPECT_THAT(diagnose(arma::cube(1, 3, 2, arma::fill::zeros), zeros(4, 3, 2)), HasSubstr("got 1 x 3 x 2"));
}

TEST(Diagnosis, LooksForNaNFirst) {
  arma::cube x = zeros(4, 3, 2).values;
  x(3, 2, 1) = nan;
  x(0, 0, 0) = 1000;
  const std::string text = diagnose(x, zeros(4, 3, 2));
  EXPECT_THAT(text, HasSubstr("NaN (not a number) at row 3, col 2, slice 1"));
  EXPECT_THAT(text, Not(HasSubstr("worst")));
}

TEST(Diagnosis, DoesNotOverlookASingleNaN) {
  arma::cube x = zeros(4, 3, 2).values;
  x(0, 0, 0) = nan;
  EXPECT_NE(diagnose(x, zeros(4, 3, 2)), "");
}

TEST(Diagnosis, TellsInfinityFromANumber) {
  Expected expected = zeros(4, 3, 2);
  expected.values(0, 0, 0) = -infinity;
  EXPECT_EQ(diagnose(expected.values, expected), "");
  arma::cube x = expected.values;
  x(0, 0, 0) = infinity;
  EXPECT_THAT(diagnose(x, expected), HasSubstr("got inf, want -inf"));
  x(0, 0, 0) = 5;
  EXPECT_THAT(diagnose(x, expected), HasSubstr("got 5, want -inf"));
}

TEST(Diagnosis, JudgesRelativelyToTheWantedValueAboveOne) {
  Expected expected = zeros(1, 1, 1);
  expected.values(0) = 1e6;
  arma::cube x = expected.values;
  x(0) += 0.5e-4;
  EXPECT_EQ(diagnose(x, expected), "");
  x(0) += 1e-4;
  EXPECT_THAT(diagnose(x, expected), HasSubstr("want 1000000, off by 0.00015"));
}

TEST(Diagnosis, NamesAMistakeThatHasTheSameValues) {
  Expected expected = zeros(4, 3, 2);
  expected.mistakes.push_back({"everything is one", arma::cube(4, 3, 2, arma::fill::ones)});
  expected.mistakes.push_back({"everything is two", 2 * arma::cube(4, 3, 2, arma::fill::ones)});
  const std::string text = diagnose(2 * arma::cube(4, 3, 2, arma::fill::ones), expected);
  EXPECT_THAT(text, HasSubstr("\n  likely  everything is two"));
  EXPECT_THAT(text, Not(HasSubstr("everything is one")));
}

TEST(Diagnosis, NamesAMistakeThatGivesNaN) {
  Expected expected = zeros(2, 1, 1);
  arma::cube wrong = expected.values;
  wrong(1) = nan;
  expected.mistakes.push_back({"zero was divided by zero", wrong});
  EXPECT_THAT(diagnose(wrong, expected), HasSubstr("likely  zero was divided by zero"));
}

TEST(Diagnosis, NamesAMistakeThatGivesAnotherShape) {
  Expected expected = zeros(4, 3, 2);
  expected.mistakes.push_back({"rows and columns changed places", arma::cube(3, 4, 2, arma::fill::zeros)});
  EXPECT_THAT(diagnose(arma::cube(3, 4, 2, arma::fill::zeros), expected), HasSubstr("rows and columns changed places"));
}

TEST(HidesNaN, IsTrueOfZerosInPlaceOfNaNAndNothingElse) {
  arma::cube expected(4, 3, 2, arma::fill::ones);
  expected.slice(1).row(2).fill(nan);
  arma::cube hidden = expected;
  hidden.slice(1).row(2).zeros();
  EXPECT_TRUE(hides_nan(hidden, expected));
  EXPECT_FALSE(hides_nan(expected, expected));
  EXPECT_FALSE(hides_nan(arma::cube(4, 3, 2, arma::fill::zeros), expected)) << "all of it is wrong";
  EXPECT_FALSE(hides_nan(arma::cube(3, 4, 2, arma::fill::ones), expected));
  EXPECT_FALSE(hides_nan(hidden, hidden)) << "there is no NaN to hide";
}

TEST(NamesArgument, WantsAWordOfItsOwn) {
  EXPECT_TRUE(names_argument("x is 4 x 6, expected L x 3", "x"));
  EXPECT_TRUE(names_argument("bad x: 4 x 6", "x"));
  EXPECT_FALSE(names_argument("X is 4 x 6, expected L x 3", "x"));
  EXPECT_FALSE(names_argument("x is 4 x 6", "X"));
  EXPECT_FALSE(names_argument("din is 0, expected at least 1", "in"));
  EXPECT_TRUE(names_argument("in is 0, expected at least 1", "in"));
  EXPECT_FALSE(names_argument("", "in"));
}

TEST(RowsSumToOneDiagnosis, FindsTheRow) {
  arma::cube weights(2, 4, 3, arma::fill::value(0.25));
  EXPECT_EQ(diagnose_rows_sum_to_one(weights), "");
  weights(1, 3, 2) = 0.5;
  EXPECT_THAT(diagnose_rows_sum_to_one(weights), HasSubstr("row 1, slice 2 sums to 1.25, want 1"));
  weights(1, 3, 2) = nan;
  EXPECT_THAT(diagnose_rows_sum_to_one(weights), HasSubstr("row 1, slice 2 holds NaN"));
  weights.slice(2).row(1) = arma::rowvec{-0.5, 0.5, 0.5, 0.5};
  EXPECT_THAT(diagnose_rows_sum_to_one(weights), HasSubstr("holds a negative weight, -0.5"));
  EXPECT_THAT(diagnose_rows_sum_to_one(arma::cube()), HasSubstr("empty"));
}

}  // namespace
}  // namespace attn::judge
