#pragma once

#include <cstddef>
#include <vector>

#include "panels.hpp"
#include "trainer/pass.hpp"
#include "trainer/sizes.hpp"

/// What a pass saves. Each matrix is in rows: one for each of the T tokens.
namespace attn::fast {

/// What the backward pass needs of a layer.
struct LayerActivations {
  AlignedFloats qkv;      ///< (T x W), rotated by RoPE; their gradients in the end
  AlignedFloats context;  ///< (T x H D)
  AlignedFloats h;        ///< (T x E), the stream after attention
  AlignedFloats up;       ///< (T x U); their activations in the end
  std::vector<RowStatistics> attention_norm, feed_forward_norm;  ///< T
  std::vector<SoftmaxStatistics> softmax;                        ///< (B x H x L)
};

/// What the forward pass writes.
struct Activations {
  explicit Activations(std::size_t num_layers) : layers(num_layers), streams(num_layers + 1) {}

  /// Makes room for the tokens of a pass, and sets its losses to 0.
  void prepare(const ModelSizes& sizes, const Pass& pass);

  std::vector<LayerActivations> layers;
  std::vector<AlignedFloats> streams;     ///< (T x E), before each layer and after the last
  AlignedFloats final_normalized;         ///< (T x E)
  std::vector<RowStatistics> final_norm;  ///< T
  AlignedFloats logits;                   ///< (T x V, filled up to a multiple of R), then their gradients
  std::vector<double> losses;             ///< of each block
};

/// The gradients of one layer's activations, and the activations that are computed again for them.
struct LayerGradients {
  void prepare(const ModelSizes& sizes, const Pass& pass);

  /// What a block adds to the gradients of a norm's weight and bias: (2 x E).
  /// @param norm 0 for the norm before attention and the final one, 1 for the one before the feed-forward network
  float* of_norm(std::size_t norm, std::size_t block) const { return norms.data() + (norm * blocks + block) * 2 * E; }

  AlignedFloats stream, h, context;        ///< (T x E), (T x E), (T x H D)
  AlignedFloats up;                        ///< (T x U)
  AlignedFloats normalized, normalized_h;  ///< (T x E), what qkv and up were computed from: not gradients

 private:
  AlignedFloats norms;  ///< (2 x blocks x 2 E)
  std::size_t blocks = 0, E = 0;
};

}  // namespace attn::fast
