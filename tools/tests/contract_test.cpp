// The vocabulary in include/attn that every lesson uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/mask.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"
#include "attn/view.hpp"

namespace attn {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr arma::uword large = arma::uword(1) << 32;

TEST(Requirements, ReturnOrTakeWhatFits) {
  require_shape("X", arma::cube(4, 3, 2), {{"L"}, {"E", 3}, {"B"}});
  require_shape("x", arma::mat(4, 3), {{"L"}, {"E", 3}});
  EXPECT_EQ(require_positive("dim", 3), 3U);
  EXPECT_EQ(require_multiple("embed_dim", 6, "num_heads", 2), 6U);
  EXPECT_EQ(require_product({{"L", 3}, {"S", 5}, {"B", 2}}), 30U);
  EXPECT_EQ(require_product({{"L", large}, {"S", large - 1}}), large * (large - 1));
  for (const arma::uword slices : {1U, 2U, 6U}) require_mask("mask", Mask(4, 5, slices), 4, 5, 2, 3);
  require_mask("mask", Mask(), 4, 5, 2, 3);
}

TEST(Requirements, NameWhatDoesNotFitAndWhatWould) {
  const std::initializer_list<Axis> cube = {{"L"}, {"E", 3}, {"B"}}, matrix = {{"L"}, {"E", 3}};
  const std::initializer_list<Axis> too_large = {{"L", large}, {"S", large}},
                                    with_zero = {{"L", large}, {"S", large}, {"B", 0}};
  const std::pair<std::function<void()>, const char*> cases[] = {
      {[&] { require_shape("X", arma::cube(4, 5, 2), cube); }, "X is 4 x 5 x 2, expected L x 3 x B (no size may be 0)"},
      {[&] { require_shape("x", arma::mat(4, 5), matrix); }, "x is 4 x 5, expected L x 3 (no size may be 0)"},
      {[&] { require_shape("X", arma::cube(0, 3, 2), cube); }, "X is 0 x 3 x 2, expected L x 3 x B (no size may be 0)"},
      {[&] { require_shape("X", arma::cube(4, 3, 0), cube); }, "X is 4 x 3 x 0, expected L x 3 x B (no size may be 0)"},
      {[&] { require_shape("X", arma::cube(), cube); }, "X is 0 x 0 x 0, expected L x 3 x B (no size may be 0)"},
      {[] { require_positive("dim", 0); }, "dim is 0, expected at least 1"},
      {[] { require_multiple("embed_dim", 7, "num_heads", 2); },
       "embed_dim is 7, expected a multiple of num_heads = 2"},
      {[] { require_multiple("embed_dim", 7, "num_heads", 0); }, "num_heads is 0, expected at least 1"},
      {[] { require_multiple("embed_dim", 0, "num_heads", 2); }, "embed_dim is 0, expected at least 1"},
      {[&] { require_product(too_large); }, "L x S is 4294967296 x 4294967296, expected a product below 2^64"},
      {[&] { require_product(with_zero); }, "B is 0, expected at least 1"},
      {[] { require_mask("mask", Mask(4, 5, 2), 4, 4, 2, 3); },
       "mask is 4 x 5 x 2, expected 4 x 4 x 1, 4 x 4 x 2 or 4 x 4 x 6"},
      {[] { require_mask("mask", Mask(4, 5, 3), 4, 5, 2, 3); },
       "mask is 4 x 5 x 3, expected 4 x 5 x 1, 4 x 5 x 2 or 4 x 5 x 6"},
      {[] { require_mask("mask", Mask(5, 4, 1), 4, 5, 2); }, "mask is 5 x 4 x 1, expected 4 x 5 x 1 or 4 x 5 x 2"},
      {[] { require_mask("mask", Mask(5, 4, 1), 4, 5, 1); }, "mask is 5 x 4 x 1, expected 4 x 5 x 1"},
  };
  for (const auto& [call, message] : cases) EXPECT_THAT(call, ThrowsMessage<std::invalid_argument>(StrEq(message)));
}

/// Cubes of up to 64 numbers lie inside the object: views of both kinds, and of many slices and of few.
TEST(View, KeepsMemoryAndNumbersOfSmallAndOfLargeCubes) {
  for (const arma::uword length : {1U, 2U, 16U, 100U}) {
    const arma::uword E = 6, B = 4;
    arma::cube X(length, E, B, arma::fill::randn);
    const std::vector<double> numbers(X.begin(), X.end());
    const double* memory = X.memptr();
    for (const arma::SizeCube& size :
         {arma::size(length, 2, 12), arma::size(length, 1, 24), arma::size(E, length, B), arma::size(length * 24, 1, 1),
          arma::size(1, 1, length * 24), arma::size(length, E, B), arma::size(length, E, B)}) {
      const double first_of_last = X.slice(X.n_slices - 1)(0);  // makes Armadillo's list of slices, for the old sizes
      EXPECT_EQ(first_of_last, numbers[X.n_elem - X.n_elem_slice]);
      view(X, size.n_rows, size.n_cols, size.n_slices);
      EXPECT_EQ(arma::size(X), size);
      EXPECT_EQ(X.memptr(), memory) << shape_text(X);
      EXPECT_EQ(std::vector<double>(X.begin(), X.end()), numbers) << shape_text(X);
      EXPECT_EQ(X.slice(X.n_slices - 1).n_rows, size.n_rows);
    }
  }
}

TEST(View, ReadsColumnAfterColumnAndSliceAfterSlice) {
  arma::cube X(2, 4, 2);
  X.slice(0) = {{0, 1, 2, 3}, {10, 11, 12, 13}};
  X.slice(1) = {{100, 101, 102, 103}, {110, 111, 112, 113}};
  view(X, 2, 2, 4);
  const arma::mat third = {{100, 101}, {110, 111}};
  EXPECT_TRUE(arma::approx_equal(X.slice(2), third, "absdiff", 0));
}

TEST(View, RefusesAnotherNumberOfElementsAndLeavesTheCubeAsItWas) {
  arma::cube X(4, 3, 2, arma::fill::ones);
  for (const arma::uword columns : {2U, 5U, 0U}) EXPECT_THROW(view(X, 4, columns, 2), std::invalid_argument);
  EXPECT_THAT([&] { view(X, 4, 5, 2); },
              ThrowsMessage<std::invalid_argument>(StrEq("X is 4 x 3 x 2 and has 24 elements, 4 x 5 x 2 has 40")));
  EXPECT_EQ(arma::size(X), arma::size(4, 3, 2));
  EXPECT_EQ(arma::accu(X), 24);
}

TEST(Todo, TellsTheTaskTheFileAndTheLine) {
  EXPECT_THAT([] { todo("07.2", "/home/somebody/course/lessons/07_heads/heads.cpp", 31); },
              ThrowsMessage<NotWritten>(StrEq("TODO(07.2) is not written yet: lessons/07_heads/heads.cpp:31")));
}

}  // namespace
}  // namespace attn
