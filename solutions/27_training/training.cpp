#include "attn/training.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace attn {

namespace {

/// How many targets count.
double counted(const Batch& batch) {
  const arma::uvec places = arma::find(batch.targets != ignored_target);
  return static_cast<double>(places.n_elem);
}

}  // namespace

LossAndGradients accumulate_gradients(const LanguageModel& model, const std::vector<Batch>& batches) {
  if (batches.empty()) throw std::invalid_argument("batches is empty, expected at least one");
  double total = 0;
  for (const Batch& batch : batches) total += counted(batch);
  LossAndGradients sum;
  for (const Batch& batch : batches) {
    LossAndGradients part = loss_and_gradients(model, batch.ids, batch.targets);
    const double share = counted(batch) / std::max(total, 1.0);
    for (const ParameterView& gradient : parameters_of(part.gradients)) gradient.vector() *= share;
    part.loss *= share;
    if (&batch == &batches.front()) {
      sum = std::move(part);
      continue;
    }
    sum.loss += part.loss;
    const std::vector<ParameterView> sums = parameters_of(sum.gradients), parts = parameters_of(part.gradients);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].vector() += parts[i].vector();
  }
  return sum;
}

StepReport train_step(LanguageModel& model, AdamWState& state, const std::vector<Batch>& batches,
                      const TrainingConfig& config) {
  const double learning_rate = learning_rate_at(state.t, config.schedule);
  LossAndGradients result = accumulate_gradients(model, batches);
  const std::vector<ParameterView> gradients = parameters_of(result.gradients);
  const double norm = clip_gradients(gradients, config.max_norm);
  adamw_step(parameters_of(model), gradients, state, learning_rate, config.optimizer);
  model.reset();
  return {result.loss, norm, learning_rate};
}

}  // namespace attn
