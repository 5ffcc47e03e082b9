#include "trainer.hpp"

#include <algorithm>

#include "attn/initialization.hpp"

namespace attn::training {

LanguageModel new_model(const Task& task, std::uint64_t seed) {
  LanguageModelConfig config;
  config.architecture = Architecture::gpt2;
  config.vocab_size = symbols + 1;
  config.num_layers = 2;
  config.hidden_dim = 64;
  config.attention.embed_dim = 32;
  config.attention.num_heads = 2;
  config.attention.num_kv_heads = 2;
  config.attention.head_dim = 16;
  config.attention.bias = true;
  config.norm_epsilon = 1e-5;
  config.max_position = 2 * length;
  LanguageModel model(config);
  initialize(model, seed);
  constexpr double factor = 5;  // GPT-2's deviation of 0.02 is one for matrices that are much wider
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.decayed) parameter.vector() *= factor;
  }
  model.position_embedding *= task.positions / (factor * 0.02);
  return model;
}

TrainingConfig config_of(const Task& task, arma::uword steps) {
  TrainingConfig config;
  config.optimizer.beta2 = 0.95;  // the mean of about 20 steps: a training has a few hundred
  config.schedule.max_rate = 5e-3;
  config.schedule.min_rate = 1e-4;
  config.schedule.warmup_steps = std::min(task.warmup_steps, steps);
  config.schedule.total_steps = steps;
  return config;
}

double loss_of(LanguageModel& model, const Batch& batch) {
  model.reset();
  const double loss = cross_entropy(model.extend(batch.ids), batch.targets);
  model.reset();
  return loss;
}

double accuracy_of(LanguageModel& model, const Batch& batch) {
  model.reset();
  const arma::cube logits = model.extend(batch.ids);  // (L x V x B)
  model.reset();
  arma::uword right = 0;
  arma::uword all = 0;
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    const arma::ucolvec likeliest = arma::index_max(logits.slice(b), 1);  // (L x 1)
    for (arma::uword i = 0; i < likeliest.n_elem; ++i) {
      if (batch.targets(i, b) == ignored_target) continue;
      ++all;
      right += likeliest(i) == batch.targets(i, b) ? 1 : 0;
    }
  }
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

std::vector<arma::uword> written_after(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword count) {
  model.reset();
  arma::cube logits = model.extend(arma::umat(arma::uvec(ids)));  // (L x V x 1)
  std::vector<arma::uword> written;
  while (written.size() < count) {
    written.push_back(logits.slice(0).tail_rows(1).index_max());
    if (written.size() < count) logits = model.extend(arma::umat(1, 1, arma::fill::value(written.back())));
  }
  model.reset();
  return written;
}

}  // namespace attn::training
