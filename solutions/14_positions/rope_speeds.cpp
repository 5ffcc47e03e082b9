#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/positions.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

using Method = RopeScaling::Method;

void require_number(const std::string& name, double value, bool accepted, const std::string& expected) {
  if (accepted && std::isfinite(value)) return;
  throw std::invalid_argument(name + " is " + std::to_string(value) + ", expected a finite number " + expected);
}

void require_fitting(arma::uword D, double base, const RopeScaling& scaling) {
  require_multiple("D", D, "a pair's width", 2);
  require_number("base", base, base > 1, "above 1");
  require_number("factor", scaling.factor, scaling.factor >= 1, "of at least 1");
  if (scaling.method == Method::ntk_aware && D == 2) {
    throw std::invalid_argument("D is 2, expected at least 4 for ntk_aware");
  }
  if (scaling.method == Method::yarn || scaling.method == Method::llama3) {
    require_positive("original_max_position_embeddings", scaling.original_max_position_embeddings);
  }
  if (scaling.method == Method::yarn) {
    require_number("beta_slow", scaling.beta_slow, scaling.beta_slow > 0, "above 0");
    require_number("beta_fast", scaling.beta_fast, scaling.beta_fast > scaling.beta_slow, "above beta_slow");
  }
  if (scaling.method == Method::llama3) {
    const double low = scaling.low_freq_factor;
    require_number("low_freq_factor", low, low > 0, "above 0");
    require_number("high_freq_factor", scaling.high_freq_factor, scaling.high_freq_factor > low,
                   "above low_freq_factor");
  }
}

/// How much of its speed each pair keeps, from 0 to 1: (1 x D / 2).
arma::rowvec kept_by_yarn(arma::uword D, double base, const RopeScaling& scaling) {
  const double width = static_cast<double>(D);
  const double trained = static_cast<double>(scaling.original_max_position_embeddings);
  const auto pair_that_turns = [&](double times) {  // so often in training: a place between the pairs
    return width * std::log(trained / (2 * arma::datum::pi * times)) / (2 * std::log(base));
  };
  const double low = std::max(std::floor(pair_that_turns(scaling.beta_fast)), 0.0);
  const double high = std::min(std::ceil(pair_that_turns(scaling.beta_slow)), width - 1);
  const arma::rowvec pairs = arma::regspace<arma::rowvec>(0, width / 2 - 1);
  return 1 - arma::clamp((pairs - low) / std::max(high - low, 0.001), 0, 1);
}

arma::rowvec kept_by_llama3(const arma::rowvec& speeds, const RopeScaling& scaling) {
  const double trained = static_cast<double>(scaling.original_max_position_embeddings);
  const arma::rowvec turns = trained * speeds / (2 * arma::datum::pi);  // of each pair, in training
  const double low = scaling.low_freq_factor;
  return arma::clamp((turns - low) / (scaling.high_freq_factor - low), 0, 1);
}

}  // namespace

arma::rowvec rope_speeds(arma::uword D, double base, const RopeScaling& scaling) {
  require_fitting(D, base, scaling);
  const double width = static_cast<double>(D);
  if (scaling.method == Method::ntk_aware) base *= std::pow(scaling.factor, width / (width - 2));
  arma::rowvec speeds(D / 2);
  for (arma::uword p = 0; p < speeds.n_elem; ++p) speeds(p) = std::pow(base, -2.0 * static_cast<double>(p) / width);

  arma::rowvec kept(D / 2, arma::fill::ones);
  if (scaling.method == Method::position_interpolation) kept.zeros();
  if (scaling.method == Method::yarn) kept = kept_by_yarn(D, base, scaling);
  if (scaling.method == Method::llama3) kept = kept_by_llama3(speeds, scaling);
  return kept % speeds + (1 - kept) % speeds / scaling.factor;
}

}  // namespace attn
