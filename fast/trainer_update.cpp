#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

namespace {

using std::size_t;

/// Lesson 27's learning_rate_at: the trainer links no solution.
double rate_at(arma::uword step, const LearningRateSchedule& schedule) {
  const arma::uword W = schedule.warmup_steps, T = schedule.total_steps;
  require_at_most("warmup_steps", W, "total_steps", T);
  if (step < W) return schedule.max_rate * static_cast<double>(step + 1) / static_cast<double>(W);
  if (step >= T) return schedule.min_rate;
  const double progress = static_cast<double>(step - W) / static_cast<double>(T - W);
  return schedule.min_rate + (schedule.max_rate - schedule.min_rate) * (1 + std::cos(arma::datum::pi * progress)) / 2;
}

void require_columns(const std::vector<arma::vec>& columns, const std::vector<size_t>& sizes) {
  bool fits = columns.size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) fits = columns[i].n_elem == sizes[i];
  if (!fits) throw std::invalid_argument("state does not fit the parameters, expected their number and sizes");
}

}  // namespace

/// Of all gradients. Sections are summed up in their order, whoever computed them.
double Trainer::Parts::gradient_norm() {
  const std::vector<TrainerParameters::Section> sections = parameters.sections(numbers_per_task);
  std::vector<float> squares(sections.size());
  team.run([&](size_t thread) {
    team.share_out(thread, sections.size(), [&](size_t i) {
      const float* numbers = parameters.gradients.data() + sections[i].first;
      squares[i] = kernels.train.dot(numbers, numbers, sections[i].count);
    });
  });
  double sum = 0;
  for (const float square : squares) sum += static_cast<double>(square);
  return std::sqrt(sum);
}

/// Clips the gradients by their norm, and makes a step of AdamW.
void Trainer::Parts::update(double norm, double learning_rate, const TrainingConfig& training) {
  const AdamWConfig& optimizer = training.optimizer;
  ++steps;
  const double t = static_cast<double>(steps);
  const auto single = [](double x) { return static_cast<float>(x); };
  AdamWNumbers numbers;
  numbers.clipping = single(std::min(1.0, training.max_norm / (norm + 1e-6)));
  numbers.beta1 = single(optimizer.beta1);
  numbers.rest1 = single(1 - optimizer.beta1);
  numbers.beta2 = single(optimizer.beta2);
  numbers.rest2 = single(1 - optimizer.beta2);
  numbers.rate = single(learning_rate / (1 - std::pow(optimizer.beta1, t)));
  numbers.correction = single(1 / (1 - std::pow(optimizer.beta2, t)));
  numbers.epsilon = single(optimizer.epsilon);
  const float kept = single(1 - learning_rate * optimizer.weight_decay);
  const std::vector<TrainerParameters::Section> sections = parameters.sections(numbers_per_task);
  team.run([&](size_t thread) {
    team.share_out(thread, sections.size(), [&](size_t i) {
      const auto [first, count, decayed] = sections[i];
      kernels.train.adamw(parameters.values.data() + first, parameters.gradients.data() + first,
                          parameters.m.data() + first, parameters.v.data() + first, count, decayed ? kept : 1, numbers);
    });
  });
}

StepReport Trainer::step(const std::vector<Batch>& batches, const TrainingConfig& config) {
  const double learning_rate = rate_at(parts_->steps, config.schedule);
  if (!(config.max_norm > 0)) {
    throw std::invalid_argument("max_norm is " + std::to_string(config.max_norm) + ", expected a number above 0");
  }
  const double loss = parts_->run(batches, true), norm = parts_->gradient_norm();
  parts_->update(norm, learning_rate, config);
  return {loss, norm, learning_rate};
}

AdamWState Trainer::state() const {
  AdamWState state;
  for (auto [columns, array] : {std::pair(&state.m, &parts_->parameters.m), {&state.v, &parts_->parameters.v}}) {
    std::vector<double*> numbers;
    for (const size_t size : parts_->parameters.sizes()) columns->emplace_back(size);
    for (arma::vec& column : *columns) numbers.push_back(column.memptr());
    parts_->parameters.write(*array, numbers);
  }
  state.t = parts_->steps;
  return state;
}

void Trainer::restore(const AdamWState& state) {
  TrainerParameters& parameters = parts_->parameters;
  const bool fresh = state.m.empty() && state.v.empty();
  if (!fresh) {
    require_columns(state.m, parameters.sizes());
    require_columns(state.v, parameters.sizes());
  }
  for (auto [columns, array] : {std::pair(&state.m, &parameters.m), {&state.v, &parameters.v}}) {
    std::vector<const double*> numbers;
    for (const arma::vec& column : *columns) numbers.push_back(column.memptr());
    if (fresh) {
      std::fill_n(array->data(), parameters.size(), 0.0f);
    } else {
      parameters.read(numbers, *array);
    }
  }
  parts_->steps = state.t;
}

}  // namespace attn::fast
