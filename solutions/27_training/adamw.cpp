#include "attn/adamw.hpp"

#include <cmath>

namespace attn {

namespace {

/// A column for each parameter, with as many numbers.
std::vector<arma::vec> zeros_like(const std::vector<ParameterView>& parameters) {
  std::vector<arma::vec> zeros;
  for (const ParameterView& parameter : parameters) zeros.emplace_back(parameter.size, arma::fill::zeros);
  return zeros;
}

}  // namespace

void adamw_step(const std::vector<ParameterView>& parameters, const std::vector<ParameterView>& gradients,
                AdamWState& state, double learning_rate, const AdamWConfig& config) {
  require_like("gradients", gradients, parameters);
  if (state.m.empty() && state.v.empty()) state.m = state.v = zeros_like(parameters);
  require_like("state", state.m, parameters);
  require_like("state", state.v, parameters);

  ++state.t;
  const double beta1 = config.beta1, beta2 = config.beta2, t = static_cast<double>(state.t);
  const double correction_m = 1 - std::pow(beta1, t), correction_v = 1 - std::pow(beta2, t);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    arma::vec x = parameters[i].vector();
    const arma::vec g = gradients[i].vector();
    arma::vec &m = state.m[i], &v = state.v[i];
    if (parameters[i].decayed) x *= 1 - learning_rate * config.weight_decay;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * arma::square(g);
    x -= learning_rate * (m / correction_m) / (arma::sqrt(v / correction_v) + config.epsilon);
  }
}

}  // namespace attn
