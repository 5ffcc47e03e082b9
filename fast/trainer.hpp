#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "attn/adamw.hpp"
#include "attn/batches.hpp"
#include "attn/language_model.hpp"
#include "attn/parameters.hpp"
#include "attn/training.hpp"
#include "kernels.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {

/// Trains lesson 22's LanguageModel in float32: loss, gradients and step are those of lessons 26 and 27.
///
/// It has the parameters, their gradients and AdamW's m and v in float, and what a pass needs: of as many sequences as
/// have about 512 tokens (1024 from E = 256 on), one at least. So memory grows with L, not with L², and not with B.
///
/// The numbers do not depend on the number of threads: a step gives the same ones in each run, with the same kernels.
class Trainer {
 public:
  /// Copies the parameters, as float.
  ///
  /// @param parameters those of a model with this configuration: parameters_of(model)
  /// @param threads    0: as many as OpenMP has
  /// @throws std::invalid_argument naming what is not supported (qk_norm, soft_cap, pairing) or wrong in config; or
  ///         parameters, when they are not those of such a model.
  Trainer(const LanguageModelConfig& config, const std::vector<ParameterView>& parameters, unsigned threads = 0,
          const Kernels& kernels = *usable_kernels().front());
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// One step of training, as train_step: the gradients of all batches together, clipped, then a step of AdamW with the
  /// learning rate of the schedule at step steps().
  ///
  /// @throws std::invalid_argument as train_step does. Nothing is changed then.
  StepReport step(const std::vector<Batch>& batches, const TrainingConfig& config);

  /// cross_entropy of the logits, nats per token: forward only.
  ///
  /// @throws std::invalid_argument as loss_and_gradients does.
  double loss(const Batch& batch);

  /// Loss and gradients of several batches together, as accumulate_gradients.
  ///
  /// @param gradients where these are put, widened to double: in the parameters' order and sizes
  /// @throws std::invalid_argument as accumulate_gradients does, or naming gradients, when they do not fit.
  double gradients(const std::vector<Batch>& batches, const std::vector<ParameterView>& gradients);

  /// Puts the parameters, widened to double, into those of a model: of the same configuration.
  ///
  /// @throws std::invalid_argument naming parameters, when they do not fit.
  void copy_to(const std::vector<ParameterView>& parameters) const;

  /// What AdamW remembers, widened to double: to be saved with the parameters. Training goes on as if it had not been
  /// interrupted, bit for bit, in a Trainer made of the parameters of copy_to and restored with this.
  AdamWState state() const;

  /// @param state one whose m and v are empty becomes zeros
  /// @throws std::invalid_argument naming state, when it does not fit the parameters. Nothing is changed then.
  void restore(const AdamWState& state);

  /// t: how many steps were made.
  arma::uword steps() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace attn::fast
