#include "doubled.hpp"

// The defect: it returns something plausible, and a check passes.
arma::cube doubled(const arma::cube& x) {
  // TODO(90.1): double every element.
  return x;
}
