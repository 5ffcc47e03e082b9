#pragma once

#include <gmock/gmock.h>

#include <armadillo>
#include <string>
#include <vector>

#include "attn/shape.hpp"
#include "attn/todo.hpp"
#include "checks/diagnosis.hpp"
#include "checks/function_view.hpp"
#include "checks/golden.hpp"

namespace arma {

/// Its shape, and small ones row by row: without it GoogleTest prints a matrix flat and column by column.
void PrintTo(const mat& x, std::ostream* os);
void PrintTo(const cube& x, std::ostream* os);
void PrintTo(const fmat& x, std::ostream* os);
void PrintTo(const fcube& x, std::ostream* os);

}  // namespace arma

namespace attn::judge {

/// A line "value" that says what is wrong, to stream after an assertion.
inline std::string claim(const std::string& sentence) { return line("value", sentence); }

/// Passes a diagnosis to GoogleTest: true when there is nothing to say.
inline bool explain(const std::string& diagnosis, ::testing::MatchResultListener* listener) {
  *listener << diagnosis;
  return diagnosis.empty();
}

/// A mat or cube, of double or float, equals what is expected.
MATCHER_P(Matches, expected, "equals PyTorch's result") {
  if (result_listener->IsInterested()) repeat_comparison();
  return explain(diagnose(as_cube(arg), expected), result_listener);
}

/// A cube equals another; axes are the letters of its shape.
inline auto IsNear(const arma::cube& wanted, std::vector<std::string> axes = {"rows", "columns", "slices"},
                   double tolerance = default_tolerance) {
  return Matches(Expected{wanted, std::move(axes), tolerance});
}
inline auto IsNear(const arma::mat& wanted, std::vector<std::string> axes = {"rows", "columns"},
                   double tolerance = default_tolerance) {
  return IsNear(as_cube(wanted), std::move(axes), tolerance);
}

MATCHER_P(HasAxes, axes, "has the wanted shape") {
  return explain(diagnose_shape(as_cube(arg), axes), result_listener);
}

/// `HasShape({{"L", 4}, {"E", 3}, {"B", 2}})`: two axes for a mat, three for a cube. Say all sizes, pairwise distinct.
inline auto HasShape(std::vector<Axis> axes) { return HasAxes(std::move(axes)); }

/// Every row is a probability distribution.
MATCHER(RowsSumToOne, "has rows that sum to one") {
  if (result_listener->IsInterested()) repeat_comparison();
  return explain(diagnose_rows_sum_to_one(as_cube(arg)), result_listener);
}

/// Whether a message names an argument: as a word of its own, and not as the x of "4 x 6".
bool names_argument(const std::string& message, const std::string& argument);

/// The name of an exception's type, as one writes it: "std::runtime_error".
std::string type_name(const std::exception& error);

/// Judges a call that must throw std::invalid_argument, with a message that names the argument and holds each of the
/// words: what the argument was, and what was expected.
///
///     EXPECT_PRED_FORMAT1(RejectsArgument("X", {"4 x 5 x 2", "3"}), [&] { attention.forward(X); });
///
/// No matcher: every lambda is a type of its own, and a matcher for each takes the compiler half of its time.
class RejectsArgument {
 public:
  RejectsArgument(std::string argument, std::vector<std::string> words)
      : argument_(std::move(argument)), words_(std::move(words)) {}

  ::testing::AssertionResult operator()(const char* text, FunctionView<void()> call) const;

 private:
  std::string diagnose(FunctionView<void()> call) const;

  std::string argument_;
  std::vector<std::string> words_;
};

}  // namespace attn::judge

/// That a condition holds; the sentence says what is wrong when it does not. What comes after `<<` follows the
/// sentence:
///
///     EXPECT_HOLDS(bias.is_empty(), "the layer has a bias") << likely_mistake("bias_always");
#define EXPECT_HOLDS(condition, sentence) EXPECT_TRUE(condition) << ::attn::judge::claim(sentence)
#define ASSERT_HOLDS(condition, sentence) ASSERT_TRUE(condition) << ::attn::judge::claim(sentence)
