#pragma once

#include <cstddef>

#include "trainer/activations.hpp"
#include "trainer/gradients.hpp"
#include "trainer/model.hpp"
#include "trainer/pass.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// From the gradient of the last stream back to the embeddings.
class BackwardPass {
 public:
  using size_t = std::size_t;

  BackwardPass(const TrainerModel& model, const Pass& pass, Activations& saved, LayerGradients& d,
               TrainerGradients& gradients)
      : model_(model), pass_(pass), saved_(saved), d_(d), sums_(model, pass, gradients) {}

  /// Called by all threads.
  void run(Workers& workers, size_t thread) const;

 private:
  Tasks::Kind of_qkv(size_t n) const;
  Tasks::Kind of_head() const;
  void before_attention(Scratch& own, size_t n, TokenBlock block) const;
  void after_attention(Scratch& own, size_t n, TokenBlock block) const;

  const TrainerModel& model_;
  const Pass& pass_;
  Activations& saved_;
  LayerGradients& d_;
  GradientSums sums_;
};

}  // namespace attn::fast
