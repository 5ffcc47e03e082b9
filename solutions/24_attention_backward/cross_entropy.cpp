#include "attn/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

namespace {

void require_classes(const arma::cube& logits, const arma::umat& targets) {
  require_shape("logits", logits, {{"L"}, {"V"}, {"B"}});
  require_shape("targets", targets, {{"L", logits.n_rows}, {"B", logits.n_slices}});
  for (const arma::uword target : targets) {
    if (target == ignored_target || target < logits.n_cols) continue;
    throw std::invalid_argument("targets holds " + std::to_string(target) +
                                ", expected numbers below V = " + std::to_string(logits.n_cols));
  }
}

/// How many targets count, and at least 1: what the sums are divided by.
double divisor(const arma::umat& targets) {
  const arma::uvec counted = arma::find(targets != ignored_target);
  return static_cast<double>(std::max<arma::uword>(counted.n_elem, 1));
}

}  // namespace

double cross_entropy(const arma::cube& logits, const arma::umat& targets) {
  require_classes(logits, targets);
  double sum = 0;
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    for (arma::uword i = 0; i < logits.n_rows; ++i) {
      if (targets(i, b) == ignored_target) continue;
      arma::rowvec row = logits.slice(b).row(i);  // (1 x V)
      row -= row.max();                           // what all logits share would cost digits
      const double log_sum = std::log(arma::accu(arma::exp(row)));
      sum += log_sum - row(targets(i, b));
    }
  }
  return sum / divisor(targets);
}

arma::cube cross_entropy_backward(const arma::cube& logits, const arma::umat& targets) {
  require_classes(logits, targets);
  arma::cube d_logits = softmax_rows(logits);  // (L x V x B)
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    for (arma::uword i = 0; i < logits.n_rows; ++i) {
      if (targets(i, b) == ignored_target) {
        d_logits.slice(b).row(i).zeros();
      } else {
        d_logits(i, targets(i, b), b) -= 1;
      }
    }
  }
  return d_logits / divisor(targets);
}

}  // namespace attn
