#include "trainer/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace attn::fast {

namespace {

using std::size_t;

void require_columns(const std::vector<arma::vec>& columns, const std::vector<size_t>& sizes) {
  bool fits = columns.size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) fits = columns[i].n_elem == sizes[i];
  if (!fits) throw std::invalid_argument("state does not fit the parameters, expected their number and sizes");
}

}  // namespace

void TrainerOptimizer::update(Workers& workers, TrainerModel& model, const TrainerGradients& gradients, double norm,
                              double learning_rate, const TrainingConfig& training) {
  const AdamWConfig& config = training.optimizer;
  ++steps_;
  const double t = static_cast<double>(steps_);
  const auto single = [](double x) { return static_cast<float>(x); };
  AdamWNumbers numbers;
  numbers.clipping = single(std::min(1.0, training.max_norm / (norm + 1e-6)));
  numbers.beta1 = single(config.beta1);
  numbers.rest1 = single(1 - config.beta1);
  numbers.beta2 = single(config.beta2);
  numbers.rest2 = single(1 - config.beta2);
  numbers.rate = single(learning_rate / (1 - std::pow(config.beta1, t)));
  numbers.correction = single(1 / (1 - std::pow(config.beta2, t)));
  numbers.epsilon = single(config.epsilon);
  const float kept = single(1 - learning_rate * config.weight_decay);
  const std::vector<TrainerParameters::Section> sections = model.parameters.sections();
  workers.run([&](size_t thread) {
    workers.share_out(thread, sections.size(), [&](Scratch&, size_t i) {
      const auto [first, count, decayed] = sections[i];
      model.kernels.adamw(model.parameters.values.data() + first, gradients.numbers().data() + first, m_.data() + first,
                          v_.data() + first, count, decayed ? kept : 1, numbers);
    });
  });
}

AdamWState TrainerOptimizer::state(const TrainerParameters& parameters) const {
  AdamWState state;
  for (auto [columns, array] : {std::pair(&state.m, &m_), {&state.v, &v_}}) {
    std::vector<double*> numbers;
    for (const size_t size : parameters.sizes()) columns->emplace_back(size);
    for (arma::vec& column : *columns) numbers.push_back(column.memptr());
    parameters.write(*array, numbers);
  }
  state.t = steps_;
  return state;
}

void TrainerOptimizer::restore(const TrainerParameters& parameters, const AdamWState& state) {
  const bool fresh = state.m.empty() && state.v.empty();
  if (!fresh) {
    require_columns(state.m, parameters.sizes());
    require_columns(state.v, parameters.sizes());
  }
  for (auto [columns, array] : {std::pair(&state.m, &m_), {&state.v, &v_}}) {
    std::vector<const double*> numbers;
    for (const arma::vec& column : *columns) numbers.push_back(column.memptr());
    if (fresh) {
      std::fill_n(array->data(), parameters.size(), 0.0f);
    } else {
      parameters.read(numbers, *array);
    }
  }
  steps_ = state.t;
}

}  // namespace attn::fast
