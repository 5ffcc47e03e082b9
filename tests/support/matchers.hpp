#pragma once

#include <gmock/gmock.h>

#include <armadillo>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/shape.hpp"
#include "attn/todo.hpp"
#include "support/diagnosis.hpp"
#include "support/golden.hpp"

namespace arma {

/// Row by row: without it GoogleTest prints a matrix flat and column by column.
inline void PrintTo(const mat& x, std::ostream* os) { x.raw_print(*os << attn::shape_text(x) << "\n"); }
inline void PrintTo(const cube& x, std::ostream* os) { x.raw_print(*os << attn::shape_text(x) << "\n"); }

}  // namespace arma

namespace attn::testing {

inline arma::cube as_cube(const arma::cube& x) { return x; }
inline arma::cube as_cube(const arma::mat& x) {
  arma::cube cube(x.n_rows, x.n_cols, 1);
  cube.slice(0) = x;
  return cube;
}

/// Hands a diagnosis to GoogleTest: true when there is nothing to say.
inline bool explain(const std::string& diagnosis, ::testing::MatchResultListener* listener) {
  if (!diagnosis.empty()) *listener << diagnosis_mark << diagnosis;
  return diagnosis.empty();
}

/// A mat or cube equals what PyTorch computed; a mistake that PyTorch computed too is named.
MATCHER_P(Matches, expected, "equals PyTorch's result") {
  return explain(diagnose(as_cube(arg), expected), result_listener);
}

/// A cube equals another; axes are the letters of its shape.
inline auto IsNear(const arma::cube& wanted, std::vector<std::string> axes = {"rows", "columns", "slices"},
                   double tolerance = default_tolerance) {
  return Matches(Expected{wanted, std::move(axes), tolerance, {}});
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
  return explain(diagnose_rows_sum_to_one(as_cube(arg)), result_listener);
}

/// Whether a message names an argument: as a word of its own, and not as the x of "4 x 6".
bool names_argument(const std::string& message, const std::string& argument);

/// The name of an exception's type, as one writes it: "std::runtime_error".
std::string type_name(const std::exception& error);

/// Calling `arg` throws std::invalid_argument whose message names the argument and holds each of the other words.
MATCHER_P2(ThrowsInvalidArgument, argument, words, "throws std::invalid_argument") {
  std::string wanted = line("wanted", "std::invalid_argument with a message that names \"" + argument + "\"");
  for (const std::string& word : words) wanted += " and says \"" + word + "\"";
  try {
    arg();
  } catch (const NotWritten&) {
    throw;
  } catch (const std::invalid_argument& error) {
    const std::string threw = line("threw", "std::invalid_argument: " + std::string(error.what())) + wanted;
    if (!names_argument(error.what(), argument)) {
      return explain(threw + note("did a function that you call throw it? Check " + argument + " first"),
                     result_listener);
    }
    for (const std::string& word : words) {
      if (std::string(error.what()).find(word) == std::string::npos) return explain(threw, result_listener);
    }
    return true;
  } catch (const std::exception& error) {
    const bool only_the_type = names_argument(error.what(), argument);
    return explain(line("threw", type_name(error) + ": " + error.what()) + wanted +
                       note(only_the_type ? "only the type is wrong" : "check the sizes before you compute"),
                   result_listener);
  }
  return explain(line("threw", "nothing") + wanted, result_listener);
}

/// `RejectsArgument("X", {"4 x 5 x 2", "3"})`: the argument's name, what it was, and what was expected.
inline auto RejectsArgument(std::string argument, std::vector<std::string> words) {
  return ThrowsInvalidArgument(std::move(argument), std::move(words));
}

}  // namespace attn::testing
