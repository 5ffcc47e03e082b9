// `auto` with an expression of Armadillo: found where it is, and nowhere else.
#include "verdict/unfinished.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lesson/lesson.hpp"

namespace attn::judge {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What is found in a function that has these lines.
std::vector<Unfinished> found_in(const std::string& lines) {
  return unfinished_expressions(
      "arma::mat softmax_rows(const arma::mat& scores);\n"
      "arma::cube f(const arma::cube& X, const arma::mat& A, const arma::mat& B, const arma::rowvec& r, double s) {\n" +
      lines + "\n}\n");
}

TEST(Unfinished, FindsExpressionsWhosePartsAreGone) {
  for (const std::string line : {
           "auto e = arma::exp(A.each_col() - arma::max(A, 1));",
           "auto e = arma::exp(A - B);",
           "const auto e = arma::exp(A) / s;",
           "auto&& e = arma::exp(A * s);",
           "const auto& e = A * B.t() / std::sqrt(s);",
           "auto e = A * B.t();",
           "auto e = X.slice(0) * X.slice(1).t();",
           "auto e = softmax_rows(A) * B;",
           "auto e = (A + B) * 2.0;",
           "auto e = arma::sum(A % B, 1);",
           "auto e = softmax_rows(A).row(0);",
           "auto e = softmax_rows(A).t();",
           "auto e = arma::join_rows(A, B).t();",
           "auto e = -A.t();",
           "auto e = 1.0 / (1.0 + arma::exp(A));",
           "auto e = arma::trans(A) * B;",
       }) {
    EXPECT_THAT(found_in(line), ElementsAre(Field(&Unfinished::dangles, true))) << line;
  }
}

TEST(Unfinished, FindsExpressionsThatAreComputedLater) {
  for (const std::string line : {"auto e = A * B;", "auto e = A.t();", "auto e = arma::exp(A);", "auto e = A - B;"}) {
    EXPECT_THAT(found_in(line), ElementsAre(Field(&Unfinished::dangles, false))) << line;
  }
}

TEST(Unfinished, LeavesOtherLinesAlone) {
  for (const std::string line : {
           "auto& slice = X.slice(0);",
           "const auto& slice = X.slice(0);",
           "auto slice = X.slice(0);",
           "const auto scale = std::sqrt(static_cast<double>(A.n_cols));",
           "const auto scale = 1.0 / std::sqrt(s);",
           "auto e = arma::mat(A * B.t());",
           "auto e = arma::exp(A - B).eval();",
           "auto e = (A * B.t()).eval();",
           "auto e = softmax_rows(A);",
           "auto add = [&](arma::uword i) { return A(i, 0) + B(i, 0); };",
           "for (auto b = X.n_slices; b-- > 0;) {}",
           "for (auto x : A) {}",
           "auto n = A.n_rows * B.n_cols;",
           "auto x = A(0, 1) * B(1, 0);",
           "auto largest = arma::max(r) - 1.0;",
           "auto largest = (A - B).max();",
           "auto total = arma::accu(A % B) / 2;",
           "auto length = arma::dot(r, r);",
           "auto row = A.row(0);",
           "auto it = std::find(A.begin(), A.end(), 2.0);",
           "auto zeros = arma::zeros<arma::mat>(2, 3);",
           "arma::mat e = A * B.t();",
           "// auto e = A * B.t();",
       }) {
    EXPECT_THAT(found_in(line), IsEmpty()) << line;
  }
}

TEST(Unfinished, SaysLineAndType) {
  EXPECT_EQ(advice(found_in("\n\nauto e = arma::exp(A - B);").at(0)),
            "line 5: auto keeps an unfinished Armadillo expression, whose parts may be gone by the next line; write "
            "arma::mat e = ...");
  EXPECT_THAT(advice(found_in("auto e = X - arma::exp(X);").at(0)), HasSubstr("write arma::cube e = ..."));
  EXPECT_THAT(advice(found_in("auto e = arma::sum(A % B);").at(0)), HasSubstr("write arma::rowvec e = ..."));
  EXPECT_THAT(advice(found_in("auto e = arma::sum(A % B, 1);").at(0)), HasSubstr("write arma::vec e = ..."));
  EXPECT_THAT(advice(found_in("auto e = A * B;").at(0)), HasSubstr("computed again at each use"));
}

TEST(Unfinished, AccusesNoSolution) {
  for (const auto& lesson : attn::lesson::find_lessons(ATTN_ROOT)) {
    for (const auto& file : std::filesystem::directory_iterator(lesson.solution_folder())) {
      EXPECT_THAT(unfinished_expressions(attn::lesson::read_file(file.path())), IsEmpty()) << file.path();
    }
  }
}

}  // namespace
}  // namespace attn::judge
