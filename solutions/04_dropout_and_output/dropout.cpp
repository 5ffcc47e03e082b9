#include "attn/dropout.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

double require_probability(double p) {
  // written so that NaN is rejected too: every comparison with NaN is false
  if (!(p >= 0 && p < 1)) throw std::invalid_argument("p is " + std::to_string(p) + ", expected 0 <= p < 1");
  return p;
}

}  // namespace

Dropout::Dropout(double p) : p_(require_probability(p)) {}

arma::cube Dropout::apply(const arma::cube& x, const Mask& keep, double p) {
  require_probability(p);
  if (arma::size(keep) != arma::size(x)) {
    throw std::invalid_argument("keep is " + shape_text(keep) + ", expected " + shape_text(x) + ", as x");
  }
  arma::cube kept = x / (1 - p);
  kept.elem(arma::find(keep == 0)).zeros();
  return kept;
}

Mask Dropout::draw(arma::uword rows, arma::uword cols, arma::uword slices, double p) {
  product_of({{"rows", rows}, {"cols", cols}, {"slices", slices}});
  require_probability(p);
  const arma::cube chance(rows, cols, slices, arma::fill::randu);  // even in [0, 1)
  return chance >= p;
}

arma::cube Dropout::operator()(const arma::cube& x) {
  if (!training_) return x;
  return apply(x, next_mask(x), p_);
}

}  // namespace attn
