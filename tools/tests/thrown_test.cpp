// What the messages of the installed Armadillo mean: each is thrown by it here, as by a learner's line.
#include "verdict/thrown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <armadillo>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn::judge {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The sentence for what a call throws.
std::string explained(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return explain_thrown(error.what());
  }
  return "nothing was thrown";
}

class Thrown : public ::testing::Test {
 protected:
  arma::mat A = arma::mat(4, 5, arma::fill::ones);
  arma::mat square = arma::mat(4, 4, arma::fill::ones);
  arma::vec column = arma::vec(4, arma::fill::ones);
  arma::rowvec row = arma::rowvec(5, arma::fill::ones);
  arma::cube C = arma::cube(4, 5, 2, arma::fill::ones);
  arma::mat to;
};

TEST_F(Thrown, SaysThatArmadilloDoesNotBroadcast) {
  EXPECT_EQ(explained([&] { to = A - arma::max(A, 1); }),
            "Armadillo does not broadcast a column: write A.each_col() -= v");
  EXPECT_EQ(explained([&] { to = A / arma::sum(A, 1); }),
            "Armadillo does not broadcast a column: write A.each_col() /= v");
  EXPECT_EQ(explained([&] { to = A + row; }), "Armadillo does not broadcast a row: write A.each_row() += v");
  EXPECT_EQ(explained([&] { to = A % row; }), "Armadillo does not broadcast a row: write A.each_row() %= v");
  EXPECT_EQ(explained([&] { A -= column; }), "Armadillo does not broadcast a column: write A.each_col() -= v");
}

TEST_F(Thrown, TellsTheTwoProductsApart) {
  EXPECT_EQ(explained([&] { to = A % A.t(); }), "`%` multiplies element by element; `*` is the matrix product");
  EXPECT_THAT(explained([&] { to = A * A; }), HasSubstr("has to be transposed, with .t(); `%` multiplies element by"));
  EXPECT_THAT(explained([&] { to = A * square; }), HasSubstr("a product needs (a x b) * (b x c)"));
}

TEST_F(Thrown, AsksForEqualSizesElsewhere) {
  EXPECT_EQ(explained([&] { to = A - square; }), "a difference needs two of the same size");
  EXPECT_EQ(explained([&] { to = A / square; }), "a division needs two of the same size");
  EXPECT_EQ(explained([&] { to = A % arma::mat(3, 7); }), "`%` needs two of the same size");
  EXPECT_THAT(explained([&] { to = A + arma::mat(); }), HasSubstr("one is empty (a layer without bias"));
  EXPECT_THAT(explained([&] { C += arma::cube(4, 5, 3); }), HasSubstr("the two cubes must have the same size"));
}

TEST_F(Thrown, SaysWhichReductionGivesAColumn) {
  EXPECT_THAT(explained([&] { A.each_col() -= arma::max(A); }), HasSubstr("arma::max(A, 1) and arma::sum(A, 1) one"));
  EXPECT_THAT(explained([&] { A.each_row() -= arma::max(A, 1); }), HasSubstr("or is it meant for each_col()?"));
  EXPECT_EQ(explained([&] { A.each_col() -= arma::vec(3); }), "the column must be as high as the matrix");
  EXPECT_EQ(explained([&] { A.each_row() += arma::rowvec(); }), "the row must be as wide as the matrix");
  EXPECT_THAT(explained([&] { C.each_slice() += square; }), HasSubstr("the matrix must have the size of a slice"));
}

TEST_F(Thrown, ExplainsWhatKeepsItsSize) {
  EXPECT_THAT(explained([&] { C.slice(0) = square; }), HasSubstr("a slice of a cube keeps its size"));
  EXPECT_EQ(explained([&] { A.row(0) = row.t(); }), "the block and what it was given differ by a transposition: .t()");
  EXPECT_THAT(explained([&] { A.cols(0, 2) = arma::mat(4, 2); }), HasSubstr("includes the last"));
  EXPECT_THAT(explained([&] { row = A; }), HasSubstr("an arma::rowvec holds one row only"));
  EXPECT_THAT(explained([&] { column = A; }), HasSubstr("where a column (arma::vec) belongs"));
  EXPECT_THAT(explained([&] { to.set_size(row.n_elem - 6, 3); }), HasSubstr("a size went below zero?"));
}

TEST_F(Thrown, ExplainsAnIndexThatIsTooLarge) {
  EXPECT_THAT(explained([&] { to = C.slice(2); }), HasSubstr("a cube that was given no size yet has none"));
  EXPECT_THAT(explained([&] { to = arma::cube().slice(0); }), HasSubstr("a cube that was given no size yet has none"));
  EXPECT_THAT(explained([&] { to = A.row(4); }), HasSubstr("rows count from 0 to n_rows - 1"));
  EXPECT_THAT(explained([&] { to = A.col(5); }), HasSubstr("columns count from 0 to n_cols - 1"));
  EXPECT_THAT(explained([&] { to = A.rows(0, 4); }), HasSubstr("rows(first, last) includes the last"));
  EXPECT_THAT(explained([&] { to = A.cols(0, 5); }), HasSubstr("cols(first, last) includes the last"));
  EXPECT_THAT(explained([&] { C = C.slices(0, 2); }), HasSubstr("slices(first, last) includes the last"));
  EXPECT_THAT(explained([&] { to = A.submat(0, 0, 4, 5); }), HasSubstr("includes row r1 and column c1"));
  EXPECT_THAT(explained([&] { to = A.head_rows(5); }), HasSubstr("more rows were asked for than there are"));
  EXPECT_THAT(explained([&] { to = A.tail_cols(6); }), HasSubstr("more columns were asked for than there are"));
  EXPECT_THAT(explained([&] { A(4, 0) = 1; }), HasSubstr("(row, column, slice), each counted from 0"));
  EXPECT_THAT(explained([&] { C(0, 0, 2) = 1; }), HasSubstr("(row, column, slice), each counted from 0"));
  EXPECT_THAT(explained([&] { std::vector<int>(3).at(3) = 1; }), HasSubstr("below the vector's size()"));
}

TEST_F(Thrown, ExplainsWhatIsEmptyAndOddRandomNumbers) {
  EXPECT_THAT(explained([&] { A(0, 0) = arma::mat().max(); }), HasSubstr("it has no largest or smallest element"));
  EXPECT_THAT(explained([&] { to = arma::randi<arma::mat>(2, 2, arma::distr_param(1, 0)); }),
              HasSubstr("distr_param(lo, hi) needs lo < hi"));
}

TEST_F(Thrown, SaysNothingOfOtherMessages) {
  EXPECT_THAT(explained([] { throw std::runtime_error("out of ideas"); }), IsEmpty());
}

}  // namespace
}  // namespace attn::judge
