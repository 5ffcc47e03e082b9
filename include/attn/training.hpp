#pragma once

#include <vector>

#include "attn/adamw.hpp"
#include "attn/batches.hpp"
#include "attn/gradient_clipping.hpp"
#include "attn/language_model.hpp"
#include "attn/language_model_backward.hpp"
#include "attn/learning_rate.hpp"

namespace attn {

/// Loss and gradients of several batches, one pass after the other (gradient accumulation): what one batch with all their
/// sequences would give. Each batch counts with the number of its targets that count:
///
///   loss = sum over batches of count_k loss_k / sum over batches of count_k,     gradients likewise
///
/// Only one pass is in memory at a time.
///
/// @param batches at least one; their shapes may differ
/// @return        zeros when no target counts
/// @throws std::invalid_argument naming batches, when there is none; or as loss_and_gradients does.
LossAndGradients accumulate_gradients(const LanguageModel& model, const std::vector<Batch>& batches);

/// How a model is trained.
struct TrainingConfig {
  AdamWConfig optimizer;
  LearningRateSchedule schedule;
  double max_norm = 1;  ///< of the gradients of a step; infinity: no clipping
};

/// What one step was like.
struct StepReport {
  double loss = 0;           ///< before the step, over all its batches
  double gradient_norm = 0;  ///< before clipping
  double learning_rate = 0;
};

/// One step of training: the gradients of all batches together, clipped, then a step of AdamW with the learning rate of
/// the schedule at step state.t, the number of steps that were made before. Resets the model, as what its caches hold
/// was computed with the old weights.
///
/// @throws std::invalid_argument as accumulate_gradients, learning_rate_at, clip_gradients and adamw_step do. Model and
///         state are then as they were before.
StepReport train_step(LanguageModel& model, AdamWState& state, const std::vector<Batch>& batches,
                      const TrainingConfig& config);

}  // namespace attn
