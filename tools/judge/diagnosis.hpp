#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/shape.hpp"

namespace attn::judge {

/// Agreement with PyTorch in float64: relative to the wanted value, absolute below one.
inline constexpr double default_tolerance = 1e-10;

/// What a result should be, and what well-known mistakes would make of it.
struct Expected {
  struct Mistake {
    std::string says;   ///< the sentence to the learner
    arma::cube values;  ///< what the mistake gives
  };

  arma::cube values;              ///< a matrix is a cube of one slice
  std::vector<std::string> axes;  ///< two letters for a matrix, three for a cube: L, E, B
  double tolerance = default_tolerance;
  std::vector<Mistake> mistakes;
};

/// The lines of a diagnosis, as a failing check prints them; empty when all is well.
///
/// The shape is judged first and alone; then NaN; then the values. Nothing broadcasts.
std::string diagnose(const arma::cube& actual, const Expected& expected);

/// The shape alone. Where the sizes are those of the wanted axes in another order, says which.
std::string diagnose_shape(const arma::cube& actual, const std::vector<Axis>& expected);

/// Rows that do not sum to one, or hold a negative or a NaN.
std::string diagnose_rows_sum_to_one(const arma::cube& actual);

/// Whether a result is the expected one with 0 in place of NaN, and nothing else is wrong.
bool hides_nan(const arma::cube& actual, const arma::cube& expected);

/// The line that names a catalogued mistake of the lesson being checked, by id, to stream behind an assertion.
/// @throws std::out_of_range when the catalogue has no such id.
std::string likely_mistake(const std::string& id);

/// A line that says what a check is about: `EXPECT_THAT(...) << note("...")`. It names no mistake.
std::string note(const std::string& sentence);

/// One "label   text" line of a diagnosis.
std::string line(const std::string& label, const std::string& text);

/// Marks where a diagnosis begins inside GoogleTest's message, so that the report can show it alone.
inline constexpr char diagnosis_mark = '\x1e';

}  // namespace attn::judge
