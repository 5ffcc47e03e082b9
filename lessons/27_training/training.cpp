#include "attn/training.hpp"

#include <stdexcept>

#include "attn/todo.hpp"

namespace attn {

LossAndGradients accumulate_gradients(const LanguageModel& model, const std::vector<Batch>& batches) {
  // TODO(27.6): loss_and_gradients of each batch, added up; each with its share of the targets that count. Reject an
  // empty list.
  todo("27.6");
}

StepReport train_step(LanguageModel& model, AdamWState& state, const std::vector<Batch>& batches,
                      const TrainingConfig& config) {
  // TODO(27.7): gradients, clipping, a step of AdamW with the learning rate of this step, and model.reset(). Return the
  // loss before the step, the norm before clipping, and the learning rate. Whatever may throw comes before adamw_step.
  todo("27.7");
}

}  // namespace attn
