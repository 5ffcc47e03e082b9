#include "trainer/activations.hpp"

#include "trainer/arrays.hpp"

namespace attn::fast {

void Activations::prepare(const ModelSizes& sizes, const Pass& pass) {
  const std::size_t T = pass.T;
  for (AlignedFloats& stream : streams) reserve(stream, T * sizes.row_E);
  for (LayerActivations& layer : layers) {
    reserve(layer.qkv, T * sizes.row_W);
    reserve(layer.context, T * sizes.row_C);
    reserve(layer.h, T * sizes.row_E);
    reserve(layer.up, T * sizes.row_U);
    layer.attention_norm.resize(T);
    layer.feed_forward_norm.resize(T);
    layer.softmax.resize(T * sizes.H);
  }
  reserve(logits, T * sizes.row_V);
  reserve(final_normalized, T * sizes.row_E);
  final_norm.resize(T);
  losses.assign(pass.blocks, 0);
}

void LayerGradients::prepare(const ModelSizes& sizes, const Pass& pass) {
  for (AlignedFloats* array : {&stream, &h, &normalized, &normalized_h}) reserve(*array, pass.T * sizes.row_E);
  reserve(context, pass.T * sizes.row_C);
  reserve(up, pass.T * sizes.row_U);
  blocks = pass.blocks;
  E = sizes.E;
  reserve(norms, 2 * blocks * 2 * E);
}

}  // namespace attn::fast
