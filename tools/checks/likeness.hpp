#pragma once

#include <armadillo>
#include <string>

namespace attn::judge {

/// What a wrong result looks like, in one sentence, told by its numbers alone: "this is the transpose of what is
/// expected", "slice 0 is right, the others are not". Every sentence is a fact, whatever the mistake was; where it
/// suggests a cause, it asks. Empty when nothing of the kind is seen.
/// @param tolerance by how much equal numbers may differ, relative to the expected ones, absolute below one
std::string likeness(const arma::cube& got, const arma::cube& expected, double tolerance);

/// Whether two results have the same shape and the same numbers, NaN where NaN is expected.
bool all_close(const arma::cube& got, const arma::cube& expected, double tolerance);

/// The same for two numbers.
bool close(double got, double expected, double tolerance);

}  // namespace attn::judge
