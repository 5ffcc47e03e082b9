// That a learner's file may use what Armadillo offers, although it is compiled with a leaner copy of some headers
// (cmake/LeanArmadillo.cmake): what is only declared there has to be defined somewhere, or this does not link.
#include <gtest/gtest.h>

#include <armadillo>
#include <sstream>
#include <stdexcept>

namespace {

const arma::SizeMat matrix = arma::size(3, 4);
const arma::SizeCube cube = arma::size(3, 4, 2);
const arma::distr_param integers(1, 6);

TEST(Armadillo, DrawsUniformAndNormalNumbers) {
  EXPECT_LE(arma::randu() + arma::randu(arma::distr_param(0.0, 1.0)), 2.0);
  EXPECT_EQ(arma::size(arma::randu(3)), arma::size(3, 1));
  EXPECT_EQ(arma::size(arma::randu(3, 4)), matrix);
  EXPECT_EQ(arma::size(arma::randu(matrix)), matrix);
  EXPECT_EQ(arma::size(arma::randu(3, 4, 2)), cube);
  EXPECT_EQ(arma::size(arma::randu(cube)), cube);
  EXPECT_LT(arma::randn() + arma::randn(arma::distr_param(0.0, 1.0)), 100.0);
  EXPECT_EQ(arma::size(arma::randn(3)), arma::size(3, 1));
  EXPECT_EQ(arma::size(arma::randn(3, 4)), matrix);
  EXPECT_EQ(arma::size(arma::randn(matrix)), matrix);
  EXPECT_EQ(arma::size(arma::randn(3, 4, 2)), cube);
  EXPECT_EQ(arma::size(arma::randn(cube)), cube);
}

TEST(Armadillo, DrawsIntegersAndPermutations) {
  EXPECT_GE(arma::randi(), 0);
  EXPECT_LE(arma::randi(integers), 6);
  EXPECT_EQ(arma::size(arma::randi(3, integers)), arma::size(3, 1));
  EXPECT_EQ(arma::size(arma::randi(3, 4, integers)), matrix);
  EXPECT_EQ(arma::size(arma::randi(matrix, integers)), matrix);
  EXPECT_EQ(arma::size(arma::randi(3, 4, 2, integers)), cube);
  EXPECT_EQ(arma::size(arma::randi(cube, integers)), cube);
  EXPECT_EQ(arma::accu(arma::randperm(5)), 10U);
  EXPECT_EQ(arma::size(arma::randperm(5, 3)), arma::size(3, 1));
}

TEST(Armadillo, DrawsFromOtherDistributions) {
  EXPECT_GT(arma::randg(), 0.0);
  EXPECT_EQ(arma::size(arma::randg(3)), arma::size(3, 1));
  EXPECT_EQ(arma::size(arma::randg(3, 4)), matrix);
  EXPECT_EQ(arma::size(arma::randg(matrix)), matrix);
  EXPECT_EQ(arma::size(arma::randg(3, 4, 2)), cube);
  EXPECT_EQ(arma::size(arma::randg(cube)), cube);
  EXPECT_GT(arma::chi2rnd(2.0), 0.0);
  EXPECT_EQ(arma::size(arma::chi2rnd(2.0, 3)), arma::size(3, 1));
  EXPECT_EQ(arma::size(arma::chi2rnd(2.0, 3, 4)), matrix);
  EXPECT_EQ(arma::size(arma::chi2rnd(2.0, matrix)), matrix);
}

TEST(Armadillo, MakesRangesAndIndices) {
  EXPECT_EQ(arma::linspace(0.0, 1.0, 5)(1), 0.25);
  EXPECT_EQ(arma::logspace(0.0, 2.0, 3)(1), 10.0);
  EXPECT_EQ(arma::accu(arma::regspace(1.0, 4.0)), 10.0);
  EXPECT_EQ(arma::accu(arma::regspace(1.0, 2.0, 5.0)), 9.0);
  EXPECT_EQ(arma::ind2sub(matrix, 4)(1), 1U);
  EXPECT_EQ(arma::ind2sub(cube, 12)(2), 1U);
  EXPECT_EQ(arma::size(arma::trimatu_ind(matrix)), arma::size(9, 1));
  EXPECT_EQ(arma::size(arma::trimatl_ind(matrix)), arma::size(6, 1));
}

TEST(Armadillo, MakesSparseMatrices) {
  EXPECT_EQ(arma::accu(arma::speye(3, 4)), 3.0);
  EXPECT_EQ(arma::accu(arma::speye(matrix)), 3.0);
  EXPECT_EQ(arma::size(arma::sprandu(3, 4, 0.5)), matrix);
  EXPECT_EQ(arma::size(arma::sprandu(matrix, 0.5)), matrix);
  EXPECT_EQ(arma::size(arma::sprandn(3, 4, 0.5)), matrix);
  EXPECT_EQ(arma::size(arma::sprandn(matrix, 0.5)), matrix);
}

template <typename T>
T trace_of_square(const arma::Mat<T>& x) {
  return arma::trace(x * x.t());
}

TEST(Armadillo, TakesOtherElementTypes) {
  EXPECT_EQ(trace_of_square(arma::fmat(3, 4, arma::fill::ones)), 12.0F);
  EXPECT_EQ(trace_of_square(arma::imat(3, 4, arma::fill::ones)), 12);
  EXPECT_EQ(trace_of_square(arma::cx_mat(3, 4, arma::fill::ones)), std::complex<double>(12.0));
  EXPECT_EQ(arma::accu(arma::fcube(3, 4, 2, arma::fill::ones)), 24.0F);
}

/// docs/from_pytorch.md
TEST(Armadillo, DoesWhatTheDictionaryFromPyTorchSays) {
  const arma::mat A = {{1, 2}, {3, 5}, {4, 1}};
  const arma::vec v = {1, 2, 3};
  std::ostringstream size;
  size << arma::size(arma::cube(4, 3, 2));
  EXPECT_EQ(size.str(), "4x3x2");
  EXPECT_EQ(A.rows(0, 1).eval().n_rows, 2U);
  EXPECT_EQ(A.head_rows(0).eval().n_rows, 0U);
  EXPECT_EQ(arma::accu(arma::abs(A.tail_rows(1) - A.row(2))), 0.0);
  EXPECT_EQ(arma::accu(arma::mat(2, 3)), 0.0);
  EXPECT_EQ(arma::accu(arma::mat(2, 3, arma::fill::value(1.5))), 9.0);
  EXPECT_EQ(arma::accu(A % A), arma::accu(arma::square(A)));
  EXPECT_EQ((A.each_row() + arma::rowvec{10, 20}).eval()(2, 1), 21.0);
  EXPECT_EQ((A.each_col() - arma::max(A, 1)).eval()(2, 1), -3.0);
  EXPECT_EQ(arma::size(arma::sum(A, 0)), arma::size(1, 2));
  EXPECT_EQ(arma::size(arma::sum(A, 1)), arma::size(3, 1));
  EXPECT_EQ(arma::join_rows(A, A, A).eval().n_cols, 6U);
  EXPECT_THROW(arma::mat(A - v), std::logic_error) << "nothing is broadcast";
  EXPECT_FALSE(A.has_nan() || A.has_inf());
}

TEST(Armadillo, SolvesAndDecomposes) {
  const arma::mat A = {{2.0, 0.0}, {0.0, 4.0}};
  EXPECT_NEAR(arma::accu(arma::solve(A, arma::eye(2, 2)) - arma::inv(A)), 0.0, 1e-12);
  EXPECT_NEAR(arma::max(arma::svd(A)), 4.0, 1e-12);
  EXPECT_NEAR(arma::det(arma::expmat(A)), std::exp(6.0), 1e-9);
}

}  // namespace
