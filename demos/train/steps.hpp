#pragma once

#include <functional>
#include <memory>

#include "attn/training.hpp"
#include "trainer.hpp"

namespace attn::training {

/// Makes the steps of a training.
class Steps {
 public:
  virtual ~Steps() = default;

  /// One step: train_step of lesson 27, or what gives the same but for rounding. The loss is not appended.
  virtual StepReport make(Training& training, const Batch& batch, const TrainingConfig& config) = 0;

  /// Sees to it that the training has the parameters, and what the optimizer remembers, as they are now.
  virtual void put_into(Training& training) = 0;
};

/// Steps for a training that was just begun, or read from a file.
using MakeSteps = std::function<std::unique_ptr<Steps>(Training&)>;

/// train_step, with the learner's lessons or the reference's.
std::unique_ptr<Steps> steps_of_lessons(Training&);

}  // namespace attn::training
