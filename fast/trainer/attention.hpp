#pragma once

#include <cstddef>

#include "trainer/activations.hpp"
#include "trainer/sizes.hpp"
#include "trainer/workers.hpp"

namespace attn::fast {

/// Attention over sequences of L tokens: softmax(Q K^T / sqrt(D)) V, causal, with a sliding window where the model has
/// one.
class TrainerAttention {
 public:
  using size_t = std::size_t;

  TrainerAttention(const ModelSizes& sizes, const TrainKernels& kernels, size_t sequence_length)
      : sizes_(sizes), kernels_(kernels), L_(sequence_length) {}

  /// One head h of sequence b: writes its context and softmax statistics.
  void forward(Scratch& own, LayerActivations& layer, size_t b, size_t h) const;

  /// The heads of sequence b that share key and value head g. The gradients replace queries, keys and values.
  /// @param d_context the gradients of layer.context
  void backward(Scratch& own, LayerActivations& layer, const AlignedFloats& d_context, size_t b, size_t g) const;

 private:
  struct Seen;
  Seen seen_by(size_t first) const;
  Strips own_columns(const float* rows, size_t count, AlignedFloats& copy) const;

  const ModelSizes& sizes_;
  const TrainKernels& kernels_;
  size_t L_;
};

}  // namespace attn::fast
