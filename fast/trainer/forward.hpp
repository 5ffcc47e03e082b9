#pragma once

#include <cstddef>

#include "trainer/activations.hpp"
#include "trainer/model.hpp"
#include "trainer/pass.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// A pass through the layers up to the losses; and with a backward pass, to the gradient of the last stream.
class ForwardPass {
 public:
  using size_t = std::size_t;

  /// @param d where the gradient of the last stream goes, and what is added to those of the final norm
  ForwardPass(const TrainerModel& model, const Pass& pass, Activations& saved, LayerGradients& d)
      : model_(model), pass_(pass), saved_(saved), d_(d) {}

  /// Called by all threads.
  void run(Workers& workers, size_t thread) const;

 private:
  void embed(TokenBlock block) const;
  void before_attention(Scratch& own, size_t n, TokenBlock block) const;
  void after_attention(Scratch& own, size_t n, TokenBlock block) const;
  void finish(Scratch& own, TokenBlock block) const;
  double loss_of(float* logits, size_t token) const;

  const TrainerModel& model_;
  const Pass& pass_;
  Activations& saved_;
  LayerGradients& d_;
};

}  // namespace attn::fast
