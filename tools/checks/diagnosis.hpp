#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/shape.hpp"
#include "verdict/failure.hpp"

namespace attn::judge {

/// The same numbers as a cube in double precision; a matrix is a cube of one slice.
inline arma::cube as_cube(const arma::cube& x) { return x; }
inline arma::cube as_cube(const arma::mat& x) {
  arma::cube cube(x.n_rows, x.n_cols, 1);
  cube.slice(0) = x;
  return cube;
}
template <class Number>
arma::cube as_cube(const arma::Mat<Number>& x) {
  return as_cube(arma::mat(arma::conv_to<arma::mat>::from(x)));
}
template <class Number>
arma::cube as_cube(const arma::Cube<Number>& x) {
  return arma::conv_to<arma::cube>::from(x);
}

/// Agreement with PyTorch in float64: relative to the expected value, absolute below one.
inline constexpr double default_tolerance = 1e-10;

/// What a result should be.
struct Expected {
  arma::cube values;              ///< a matrix is a cube of one slice
  std::vector<std::string> axes;  ///< two letters for a matrix, three for a cube: L, E, B
  double tolerance = default_tolerance;
};

// Each of these returns what is wrong as a part of a message (failure.hpp): to stream to an assertion, or to put
// together with +. Empty when all is well.

/// Compares a result with what it should be. The shape is judged first and alone; then NaN; then the values. Nothing
/// broadcasts. Where they differ, what is needed to find the mistake that gives these values goes with it.
std::string diagnose(const arma::cube& actual, const Expected& expected);

/// The shape alone. Where the sizes are those of the expected axes in another order, says which.
std::string diagnose_shape(const arma::cube& actual, const std::vector<Axis>& expected);

/// Rows that do not sum to one, or hold a negative or a NaN.
std::string diagnose_rows_sum_to_one(const arma::cube& actual);

/// Names a catalogued mistake of the lesson being checked, by id, where a check can tell it by something other than
/// values.
/// @throws std::out_of_range when the catalogue has no such id.
std::string likely_mistake(const std::string& id);

/// What a mistake may be recognised by, where a check itself says what is wrong with a result.
std::string clue(const arma::cube& actual, const arma::cube& expected);

/// A line that says what a check is about: `EXPECT_THAT(...) << note("...")`. It names no mistake.
std::string note(const std::string& sentence);

/// An input that is small enough to be shown whole: `EXPECT_THAT(...) << given("X", X)`. Empty for a larger one.
std::string given(const std::string& name, const arma::cube& x);
inline std::string given(const std::string& name, const arma::mat& x) { return given(name, as_cube(x)); }

/// One "label   text" line.
std::string line(const std::string& label, const std::string& text);

/// Whether a result is the expected one with 0 in place of NaN, and nothing else is wrong.
bool hides_nan(const arma::cube& actual, const arma::cube& expected);

/// What distinguishes this result from others, in spite of rounding.
Fingerprint fingerprint_of(const arma::cube& x);

/// Begins a check: its comparisons are numbered from 0.
void begin_comparisons();

/// The next comparison is the last one once more. A matcher that fails is asked again, for an explanation.
void repeat_comparison();

}  // namespace attn::judge
