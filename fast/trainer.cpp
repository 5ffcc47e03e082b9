#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "threads.hpp"
#include "trainer/activations.hpp"
#include "trainer/backward.hpp"
#include "trainer/forward.hpp"
#include "trainer/gradients.hpp"
#include "trainer/model.hpp"
#include "trainer/optimizer.hpp"
#include "trainer/pass.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

namespace {

using std::size_t;

void refuse(bool wrong, const std::string& what) {
  if (wrong) throw std::invalid_argument(what);
}

/// Checks a configuration, and returns it with head_dim.
LanguageModelConfig checked(LanguageModelConfig config, const std::vector<ParameterView>& parameters) {
  DecoderAttentionConfig& attention = config.attention;
  const bool gpt2 = config.architecture == Architecture::gpt2;
  require_positive("vocab_size", config.vocab_size);
  require_positive("num_layers", config.num_layers);
  require_at_most("num_layers", config.num_layers, "the entries of parameters", parameters.size());
  require_positive("hidden_dim", config.hidden_dim);
  require_positive("embed_dim", attention.embed_dim);
  require_multiple("num_heads", attention.num_heads, "num_kv_heads", attention.num_kv_heads);
  if (attention.head_dim == 0) {
    attention.head_dim = require_multiple("embed_dim", attention.embed_dim, "num_heads", attention.num_heads);
    attention.head_dim /= attention.num_heads;
  }
  require_multiple("head_dim", attention.head_dim, "a pair's width", 2);
  require_product({{"num_heads", attention.num_heads}, {"head_dim", attention.head_dim}});
  if (!attention.rope_speeds.is_empty()) {
    require_shape("rope_speeds", attention.rope_speeds, {{"1", 1}, {"D/2", attention.head_dim / 2}});
  }
  if (gpt2) require_positive("max_position", config.max_position);
  refuse(!gpt2 && config.max_position != 0, "max_position is not 0: llama has no table of positions");
  refuse(!gpt2 && attention.pairing != RopePairing::half_split, "pairing: the trainer turns half-split pairs only");
  refuse(attention.qk_norm, "qk_norm is true: the trainer does not normalize queries and keys");
  refuse(attention.soft_cap != 0, "soft_cap is not 0: the trainer does not cap scores");
  return config;
}

size_t counted(const Batch& batch) {
  size_t count = 0;
  for (const arma::uword target : batch.targets) count += target != ignored_target;
  return count;
}

/// Lesson 27's learning_rate_at: the trainer links no solution.
double rate_at(arma::uword step, const LearningRateSchedule& schedule) {
  const arma::uword W = schedule.warmup_steps, T = schedule.total_steps;
  require_at_most("warmup_steps", W, "total_steps", T);
  if (step < W) return schedule.max_rate * static_cast<double>(step + 1) / static_cast<double>(W);
  if (step >= T) return schedule.min_rate;
  const double progress = static_cast<double>(step - W) / static_cast<double>(T - W);
  return schedule.min_rate + (schedule.max_rate - schedule.min_rate) * (1 + std::cos(arma::datum::pi * progress)) / 2;
}

std::vector<double*> columns_of(const std::vector<ParameterView>& views) {
  std::vector<double*> columns;
  for (const ParameterView& view : views) columns.push_back(view.values);
  return columns;
}

}  // namespace

/// What a trainer owns, and runs with it.
struct Trainer::Parts {
  Parts(const LanguageModelConfig& config, const std::vector<ParameterView>& parameters, size_t threads,
        const Kernels& kernels)
      : workers(threads),
        model(config, parameters, kernels),
        gradients(model.parameters),
        optimizer(model.parameters),
        activations(config.num_layers) {}

  void check(const Batch& batch) const;
  double run(const std::vector<Batch>& batches, bool with_backward);
  void run(const Pass& pass);

  Workers workers;
  TrainerModel model;
  TrainerGradients gradients;
  TrainerOptimizer optimizer;
  Activations activations;
  LayerGradients layer_gradients;
};

void Trainer::Parts::check(const Batch& batch) const {
  const size_t V = model.sizes.V, positions = model.parameters.positions.rows;
  require_shape("ids", batch.ids, {{"L"}, {"B"}});
  require_shape("targets", batch.targets, {{"L", batch.ids.n_rows}, {"B", batch.ids.n_cols}});
  require_at_most("ids, its largest,", batch.ids.max(), "V - 1", V - 1);
  for (const arma::uword target : batch.targets) {
    refuse(target != ignored_target && target >= V,
           "targets holds " + std::to_string(target) + ", expected numbers below V = " + std::to_string(V));
  }
  refuse(positions != 0 && batch.ids.n_rows > positions, "position is " + std::to_string(batch.ids.n_rows - 1) +
                                                             ", expected below " + std::to_string(positions) +
                                                             ", the rows of position_embedding");
}

double Trainer::Parts::run(const std::vector<Batch>& batches, bool with_backward) {
  refuse(batches.empty(), "batches is empty, expected at least one");
  size_t count = 0;
  for (const Batch& batch : batches) {
    check(batch);
    count += counted(batch);
  }
  count = std::max<size_t>(count, 1);
  double sum = 0;
  bool adds = false;
  model.transposed.update(workers, model.kernels, model.parameters, model.sizes.R, with_backward);
  for (const Batch& batch : batches) {
    const size_t sequences = batch.ids.n_cols;
    if (model.sizes.gated) model.angles.prepare(batch.ids.n_rows);
    const size_t passes = std::min(sequences, divided_up(batch.ids.n_elem, tokens_per_pass(model.sizes.E)));
    for (size_t i = 0; i < passes; ++i) {
      const size_t first = sequences * i / passes;
      Pass pass(batch, first, sequences * (i + 1) / passes - first);
      pass.share = 1 / static_cast<float>(count);
      pass.adds = adds;
      pass.with_backward = with_backward;
      run(pass);
      for (const double loss : activations.losses) sum += loss;
      adds = true;
    }
  }
  if (with_backward) gradients.add_halves(workers, model);
  return sum / static_cast<double>(count);
}

void Trainer::Parts::run(const Pass& pass) {
  activations.prepare(model.sizes, pass);
  workers.prepare(model.sizes, pass);
  if (pass.with_backward) layer_gradients.prepare(model.sizes, pass);
  const ForwardPass forward(model, pass, activations, layer_gradients);
  const BackwardPass backward(model, pass, activations, layer_gradients, gradients);
  workers.run([&](size_t thread) {
    forward.run(workers, thread);
    if (pass.with_backward) backward.run(workers, thread);
  });
}

Trainer::Trainer(const LanguageModelConfig& config, const std::vector<ParameterView>& parameters, unsigned threads,
                 const Kernels& kernels)
    : parts_(std::make_unique<Parts>(checked(config, parameters), parameters,
                                     threads == 0 ? static_cast<size_t>(max_threads()) : threads, kernels)) {}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

StepReport Trainer::step(const std::vector<Batch>& batches, const TrainingConfig& config) {
  const double learning_rate = rate_at(parts_->optimizer.steps(), config.schedule);
  if (!(config.max_norm > 0)) {
    throw std::invalid_argument("max_norm is " + std::to_string(config.max_norm) + ", expected a number above 0");
  }
  const double loss = parts_->run(batches, true), norm = parts_->gradients.norm(parts_->workers, parts_->model);
  parts_->optimizer.update(parts_->workers, parts_->model, parts_->gradients, norm, learning_rate, config);
  return {loss, norm, learning_rate};
}

double Trainer::loss(const Batch& batch) { return parts_->run({batch}, false); }

double Trainer::gradients(const std::vector<Batch>& batches, const std::vector<ParameterView>& gradients) {
  const TrainerParameters& own = parts_->model.parameters;
  own.require_own("gradients", gradients);
  const double loss = parts_->run(batches, true);
  own.write(parts_->gradients.numbers(), columns_of(gradients));
  return loss;
}

void Trainer::copy_to(const std::vector<ParameterView>& parameters) const {
  const TrainerParameters& own = parts_->model.parameters;
  own.require_own("parameters", parameters);
  own.write(own.values, columns_of(parameters));
}

AdamWState Trainer::state() const { return parts_->optimizer.state(parts_->model.parameters); }

void Trainer::restore(const AdamWState& state) { parts_->optimizer.restore(parts_->model.parameters, state); }

arma::uword Trainer::steps() const { return parts_->optimizer.steps(); }

}  // namespace attn::fast
