#pragma once

#include "attn/adamw.hpp"
#include "attn/training.hpp"
#include "panels.hpp"
#include "trainer/arrays.hpp"
#include "trainer/gradients.hpp"
#include "trainer/model.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// AdamW's m and v, in arrays with the parameters' places, and its step.
class TrainerOptimizer {
 public:
  explicit TrainerOptimizer(const TrainerParameters& parameters)
      : m_(zeros(parameters.size())), v_(zeros(parameters.size())) {}

  arma::uword steps() const { return steps_; }

  /// Clips the gradients by their norm, and makes a step.
  void update(Workers& workers, TrainerModel& model, const TrainerGradients& gradients, double norm,
              double learning_rate, const TrainingConfig& training);

  /// As Trainer's.
  AdamWState state(const TrainerParameters& parameters) const;
  void restore(const TrainerParameters& parameters, const AdamWState& state);

 private:
  AlignedFloats m_, v_;
  arma::uword steps_ = 0;
};

}  // namespace attn::fast
