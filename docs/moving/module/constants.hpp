#pragma once

#include <armadillo>
#include <limits>

/// Infinity, known when it is compiled. Armadillo sets it when a program starts; with WebAssembly's linker that is after the
/// constants of a solution are made from it, and they would be 0.
template <>
inline const double arma::Datum<double>::inf = std::numeric_limits<double>::infinity();
template <>
inline const float arma::Datum<float>::inf = std::numeric_limits<float>::infinity();
