#pragma once

#include <armadillo>

/// What the planted lessons ask for: every element doubled.
arma::cube doubled(const arma::cube& x);

/// Every element divided by four.
arma::cube quartered(const arma::cube& x);
