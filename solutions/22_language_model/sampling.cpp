#include "attn/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

namespace {

void require_usable(const SamplingConfig& config) {
  if (!(config.temperature >= 0 && std::isfinite(config.temperature))) {
    throw std::invalid_argument("temperature is " + std::to_string(config.temperature) +
                                ", expected a finite number of at least 0");
  }
  if (!(config.top_p > 0 && config.top_p <= 1)) {
    throw std::invalid_argument("top_p is " + std::to_string(config.top_p) + ", expected above 0 and at most 1");
  }
}

/// How many of the tokens, given by falling probability, are the nucleus.
arma::uword nucleus_size(const arma::rowvec& falling, double top_p) {
  double sum = 0;
  for (arma::uword n = 0; n < falling.n_elem; ++n) {
    sum += falling(n);
    if (sum >= top_p) return n + 1;  // the token that reaches top_p is kept, too
  }
  return falling.n_elem;
}

/// Keeps the first `count` tokens of the order, and divides by their sum.
void keep(arma::rowvec& probabilities, const arma::uvec& order, arma::uword count) {
  for (arma::uword n = count; n < order.n_elem; ++n) probabilities(order(n)) = 0;
  probabilities /= arma::accu(probabilities);
}

}  // namespace

arma::mat log_softmax_rows(const arma::mat& logits) {
  require_shape("logits", logits, {{"L"}, {"V"}});
  arma::mat shifted = logits;  // (L x V)
  shifted.each_col() -= arma::vec(arma::max(logits, 1));
  const arma::vec log_sums = arma::log(arma::vec(arma::sum(arma::exp(shifted), 1)));
  shifted.each_col() -= log_sums;
  return shifted;
}

arma::rowvec token_probabilities(const arma::rowvec& logits, const SamplingConfig& config) {
  require_shape("logits", logits, {{"1", 1}, {"V"}});
  require_usable(config);
  if (logits.has_nan()) throw std::invalid_argument("logits holds NaN, expected numbers");
  arma::rowvec probabilities(logits.n_elem, arma::fill::zeros);  // (1 x V)
  if (config.temperature == 0) {
    probabilities(logits.index_max()) = 1;  // the first of equals
    return probabilities;
  }
  // The maximum is subtracted before the division, so that no temperature is too small.
  probabilities = softmax_rows(arma::rowvec((logits - logits.max()) / config.temperature));

  const bool top_k = config.top_k > 0 && config.top_k < logits.n_elem;
  if (!top_k && config.top_p == 1) return probabilities;
  const arma::uvec order = arma::stable_sort_index(probabilities, "descend");  // of equals, the smaller id first
  if (top_k) keep(probabilities, order, config.top_k);
  if (config.top_p < 1) {
    keep(probabilities, order, nucleus_size(arma::rowvec(probabilities.cols(order)), config.top_p));
  }
  return probabilities;
}

arma::uword pick_token(const arma::rowvec& probabilities, double u) {
  require_shape("probabilities", probabilities, {{"1", 1}, {"V"}});
  if (!(u >= 0 && u < 1)) {
    throw std::invalid_argument("u is " + std::to_string(u) + ", expected at least 0 and below 1");
  }
  double sum = 0;
  for (arma::uword token = 0; token < probabilities.n_elem; ++token) {
    sum += probabilities(token);
    if (sum > u) return token;  // never one of probability 0: the sum grew here
  }
  for (arma::uword token = probabilities.n_elem; token-- > 0;) {
    if (probabilities(token) > 0) return token;  // rounding left the sum at or below u
  }
  throw std::invalid_argument("probabilities holds zeros only, expected the sum 1");
}

}  // namespace attn
