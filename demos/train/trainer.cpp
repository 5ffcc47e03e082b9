#include "trainer.hpp"

#include <cmath>

#include "attn/initialization.hpp"

namespace attn::training {

namespace {

/// As the task needs it at first.
void initialize_for(LanguageModel& model, const Task& task, std::uint64_t seed) {
  initialize(model, seed);
  constexpr double factor = 5;  // GPT-2's deviation of 0.02 is one for matrices that are much wider
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.decayed) parameter.vector() *= factor;
  }
  model.position_embedding *= task.positions / (factor * 0.02);
}

/// GPT-2's deviation of 0.02 is that of matrices with E = 2500: 1 / sqrt(E), which keeps the size of what goes
/// through. Of embeddings it stays: the head is tied, and all tokens are predicted nearly alike at first.
void initialize_for_text(LanguageModel& model, std::uint64_t seed) {
  initialize(model, seed);
  const double factor = 1 / (0.02 * std::sqrt(static_cast<double>(model.config().attention.embed_dim)));
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.decayed && parameter.name.rfind("blocks.", 0) == 0) parameter.vector() *= factor;
  }
}

}  // namespace

Training new_run(const Recipe& recipe) {
  Training training{recipe, LanguageModel(model_config_of(recipe)), {}, {}, std::mt19937_64(recipe.seed)};
  if (recipe.is_text()) {
    initialize_for_text(training.model, recipe.seed);
  } else {
    initialize_for(training.model, task_named(recipe.task), recipe.seed);
  }
  return training;
}

std::mt19937_64 held_out_generator(const Recipe& recipe) { return std::mt19937_64(recipe.seed ^ 0x9E3779B97F4A7C15); }

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
