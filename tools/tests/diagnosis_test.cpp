// The words of a failing check.
#include "checks/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/matchers.hpp"
#include "verdict/words.hpp"

namespace attn::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const double nan = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

/// A diagnosis as a learner reads it; empty when all is well.
std::string in_words(const std::string& diagnosis) {
  const auto failure = decode(diagnosis);
  return failure ? describe(*failure) : "";
}

std::string diagnosed(const arma::cube& actual, const Expected& expected) {
  return in_words(diagnose(actual, expected));
}

Expected zeros(arma::uword rows, arma::uword cols, arma::uword slices) {
  return {arma::cube(rows, cols, slices, arma::fill::zeros), {"L", "E", "B"}, default_tolerance};
}

TEST(Diagnosis, SaysNothingWhenAllIsWell) { EXPECT_EQ(diagnose(zeros(4, 3, 2).values, zeros(4, 3, 2)), ""); }

TEST(Diagnosis, NamesTheWorstElementAndCounts) {
  arma::cube x = zeros(4, 3, 2).values;
  x(1, 2, 0) = 0.25;
  x(0, 0, 1) = -0.125;
  EXPECT_EQ(diagnosed(x, zeros(4, 3, 2)),
            "\n  note    rows 2 and 3 are right, rows 0 and 1 are not"
            "\n  shape   4 x 3 x 2 (L x E x B)   ok   (2 of 24 differ)"
            "\n  part    slice 0"
            "\n  got     0   0      0   want  0  0  0"
            "\n          0   0   0.25*        0  0  0"
            "\n          0   0      0         0  0  0"
            "\n          0   0      0         0  0  0");
}

TEST(Diagnosis, SaysHowTheWorstElementDiffersWhereTheMatricesLookTheSame) {
  arma::cube x = zeros(2, 2, 1).values + 1;
  Expected ones = zeros(2, 2, 1);
  ones.values += 1;
  x(1, 0, 0) += 1e-6;
  EXPECT_THAT(diagnosed(x, ones), HasSubstr("\n  value   worst at row 1, col 0: got 1.000001, want 1, off by 1e-06\n"));
  x(1, 0, 0) += 1;
  EXPECT_THAT(diagnosed(x, ones), Not(HasSubstr("  value")));
  ones.values.fill(-3.2e-17);
  EXPECT_THAT(diagnosed(x, ones), HasSubstr("want  0  0")) << "what rounding left is 0";
}

TEST(Diagnosis, ShowsThePartOfALargeResultWhereItBeginsToDiffer) {
  arma::cube x = zeros(20, 9, 1).values;
  x(12, 8, 0) = 0.25;
  x(17, 8, 0) = 0.5;
  const std::string text = diagnosed(x, zeros(20, 9, 1));
  EXPECT_THAT(text, HasSubstr("\n  part    rows 12 to 17, columns 3 to 8\n  got     0   0   0   0   0   0.25*\n"));
  x(0, 0, 0) = 1e-3;
  EXPECT_THAT(diagnosed(x, zeros(20, 9, 1)), HasSubstr("rows 12 to 17, columns 3 to 8")) << "with the worst element";
}

TEST(Diagnosis, ShowsTheSliceWithTheWorstElement) {
  arma::cube x = zeros(2, 2, 2).values;
  x(0, 0, 0) = 0.25;
  x(1, 1, 1) = 0.5;
  EXPECT_THAT(diagnosed(x, zeros(2, 2, 2)),
              HasSubstr("\n  part    slice 1\n  got     0     0   want  0  0\n          0   0.5*        0  0"));
}

TEST(Diagnosis, ShowsASmallInput) {
  EXPECT_THAT(describe(*decode(given("X", arma::mat{{1, 0}, {-2.5, 10}}))), HasSubstr("\n  X          1   0"
                                                                                      "\n          -2.5  10"));
  EXPECT_THAT(describe(*decode(given("Q", zeros(1, 2, 2).values))), HasSubstr("\n  Q 0     0  0\n  Q 1     0  0"));
  EXPECT_EQ(given("X", zeros(7, 2, 1).values), "");
}

TEST(Diagnosis, StopsAtAWrongShapeAndNamesTheAxes) {
  const std::string text = diagnosed(arma::cube(3, 4, 2, arma::fill::ones), zeros(4, 3, 2));
  EXPECT_EQ(text,
            "\n  shape   got 3 x 4 x 2, want 4 x 3 x 2 (L x E x B)"
            "\n          you returned E x L x B, but rows are L, columns are E, slices are B");
}

TEST(Diagnosis, NeverBroadcasts) {
  EXPECT_THAT(diagnosed(arma::cube(4, 3, 1, arma::fill::zeros), zeros(4, 3, 2)), HasSubstr("got 4 x 3 x 1"));
  EXPECT_THAT(diagnosed(arma::cube(1, 3, 2, arma::fill::zeros), zeros(4, 3, 2)), HasSubstr("got 1 x 3 x 2"));
}

TEST(Diagnosis, LooksForNaNFirst) {
  arma::cube x = zeros(4, 3, 2).values;
  x(3, 2, 1) = nan;
  for (const double other : {0, 1000}) {
    x(0, 0, 0) = other;
    const std::string text = diagnosed(x, zeros(4, 3, 2));
    EXPECT_THAT(text, HasSubstr("(1 of 24 is NaN, not a number)"));
    EXPECT_THAT(text, HasSubstr("slice 1"));
    EXPECT_THAT(text, HasSubstr("NaN*"));
  }
}

TEST(Diagnosis, TellsInfinityFromANumber) {
  Expected expected = zeros(4, 3, 2);
  expected.values(0, 0, 0) = -infinity;
  EXPECT_EQ(diagnose(expected.values, expected), "");
  arma::cube x = expected.values;
  x(0, 0, 0) = infinity;
  EXPECT_THAT(diagnosed(x, expected), HasSubstr("got     inf*  0   0   want  -inf  0  0"));
  x(0, 0, 0) = 5;
  EXPECT_THAT(diagnosed(x, expected), HasSubstr("got     5*  0   0   want  -inf  0  0"));
}

TEST(Diagnosis, JudgesRelativelyToTheWantedValueAboveOne) {
  Expected expected = zeros(1, 1, 1);
  expected.values(0) = 1e6;
  arma::cube x = expected.values;
  x(0) += 0.5e-4;
  EXPECT_EQ(diagnose(x, expected), "");
  x(0) += 1e-4;
  EXPECT_THAT(diagnosed(x, expected), HasSubstr("want 1000000, off by 0.00015"));
}

TEST(Diagnosis, GoesWithWhatTellsTheMistake) {
  const Expected expected = zeros(4, 3, 2);
  const arma::cube ones(4, 3, 2, arma::fill::ones);
  begin_comparisons();
  EXPECT_EQ(diagnose(expected.values, expected), "");
  const auto failure = decode(diagnose(ones, expected));
  ASSERT_TRUE(failure && failure->comparison);
  EXPECT_EQ(failure->comparison->number, 1);
  EXPECT_TRUE(failure->comparison->got.equals(fingerprint_of(ones), 0));
  EXPECT_TRUE(failure->comparison->expected.equals(fingerprint_of(expected.values), 0));
}

TEST(Diagnosis, NumbersAComparisonOnceThoughItIsAskedForAnExplanation) {
  const arma::cube ones(4, 3, 2, arma::fill::ones);
  const ::testing::Matcher<arma::cube> matcher = Matches(zeros(4, 3, 2));
  begin_comparisons();
  for (const int number : {0, 1}) {
    EXPECT_FALSE(matcher.Matches(ones));
    ::testing::StringMatchResultListener listener;
    EXPECT_FALSE(matcher.MatchAndExplain(ones, &listener));
    EXPECT_EQ(decode(listener.str())->comparison->number, number);
  }
}

// ------------------------------------------------------------------------------------------------ fingerprints

TEST(Fingerprint, SurvivesRounding) {
  const arma::cube x(4, 3, 2, arma::fill::randn);
  const arma::cube rounded = x + 1e-13 * arma::cube(4, 3, 2, arma::fill::randn);
  EXPECT_TRUE(fingerprint_of(x).equals(fingerprint_of(rounded), default_tolerance));
}

TEST(Fingerprint, DiffersWithOneNumberAndWithThePlacesOfTwo) {
  const arma::cube x(4, 3, 2, arma::fill::randn);
  arma::cube one = x;
  one(2, 1, 1) += 1e-3;
  EXPECT_FALSE(fingerprint_of(x).equals(fingerprint_of(one), default_tolerance));
  arma::cube swapped = x;
  std::swap(swapped(0, 0, 0), swapped(3, 2, 1));
  EXPECT_FALSE(fingerprint_of(x).equals(fingerprint_of(swapped), default_tolerance));
}

TEST(Fingerprint, TellsNaNAndBothInfinitiesApart) {
  std::vector<Fingerprint> prints;
  for (const double special : {nan, infinity, -infinity, 0.0}) {
    arma::cube x(2, 3, 1, arma::fill::ones);
    x(1, 2, 0) = special;
    prints.push_back(fingerprint_of(x));
  }
  for (std::size_t i = 0; i < prints.size(); ++i) {
    for (std::size_t j = 0; j < prints.size(); ++j) EXPECT_EQ(prints[i].equals(prints[j], default_tolerance), i == j);
  }
}

TEST(Digest, SurvivesRoundingAndItsText) {
  for (const double mean : {0.0, -2e-9, 0.262143999, 0.262144, -3.75, 700.123456789}) {
    const Digest digest(Fingerprint{{4, 3, 1}, {mean, -mean}});
    EXPECT_TRUE(digest.equals(Digest::read(digest.text()), 0)) << mean;
    EXPECT_TRUE(digest.equals(Digest(Fingerprint{{4, 3, 1}, {mean + 1e-9, 1e-9 - mean}}), 0)) << mean;
    EXPECT_FALSE(digest.equals(Digest(Fingerprint{{4, 3, 1}, {mean + 9e-9, -mean}}), 0)) << mean;
    EXPECT_TRUE(digest.equals(Digest(Fingerprint{{4, 3, 1}, {mean + 9e-9, -mean}}), 1e-7)) << mean;
    EXPECT_FALSE(digest.equals(Digest(Fingerprint{{3, 4, 1}, {mean, -mean}}), 0)) << mean;
  }
}

TEST(Digest, IsSeldomTheSameByChance) {
  std::vector<Digest> digests;
  for (int i = 0; i < 2000; ++i) digests.emplace_back(fingerprint_of(arma::cube(4, 3, 1, arma::fill::randn)));
  int same = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) same += digests[i].equals(digests[j], default_tolerance) ? 1 : 0;
  }
  EXPECT_EQ(same, 0) << "of two million pairs";
  EXPECT_FALSE(Digest::of("threw nothing").equals(Digest::of("threw something"), 0));
}

TEST(Fingerprint, DiffersWithTheShape) {
  const arma::cube zero(2, 6, 1, arma::fill::zeros);
  EXPECT_FALSE(fingerprint_of(zero).equals(fingerprint_of(arma::reshape(zero, 3, 4, 1)), default_tolerance));
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
  EXPECT_THAT(in_words(diagnose_rows_sum_to_one(weights)), HasSubstr("row 1, slice 2 sums to 1.25, want 1"));
  weights(1, 3, 2) = nan;
  EXPECT_THAT(in_words(diagnose_rows_sum_to_one(weights)), HasSubstr("row 1, slice 2 holds NaN"));
  weights.slice(2).row(1) = arma::rowvec{-0.5, 0.5, 0.5, 0.5};
  EXPECT_THAT(in_words(diagnose_rows_sum_to_one(weights)), HasSubstr("holds a negative weight, -0.5"));
  EXPECT_THAT(in_words(diagnose_rows_sum_to_one(arma::cube())), HasSubstr("empty"));
}

}  // namespace
}  // namespace attn::judge
