#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

/// Blocks of tokens and sums over all tokens in turns, as the sums of one layer are computed beside its attention. A
/// layer's qkv can only follow its attention: it is summed up beside the attention of the layer below.
void Trainer::Parts::backward(size_t thread) {
  for (size_t n = layers.size(); n-- > 0;) {
    const bool last = n + 1 == layers.size();
    for_blocks(thread, [&](Own& own, size_t block, size_t first, size_t rows) {
      if (!last) before_attention_backward(own, n + 1, block, first, rows);
      after_attention_backward(own, n, block, first, rows);
    });
    const BlockPlaces& places = parameters.blocks[n];
    KeptLayer& layer = layers[n];
    Tasks tasks;
    if (last) {
      if (parameters.head.empty()) {
        add_gradients(tasks, {parameters.tokens, {}}, {logits, row_V}, {final_normalized, row_E});
      } else {
        add_gradients(tasks, {parameters.head, {}}, {final_normalized, row_E}, {logits, row_V});
      }
      add_gradients(tasks, parameters.final_norm, 0);
    } else {
      add_gradients(tasks, parameters.blocks[n + 1].qkv, {normalized, row_E}, {layers[n + 1].qkv, row_W});
      add_gradients(tasks, parameters.blocks[n + 1].attention_norm, 0);
    }
    add_gradients(tasks, places.up, {normalized_h, row_E}, {d_up, row_U});
    add_gradients(tasks, places.down, {layer.up, row_U}, {d_stream, row_E});
    add_gradients(tasks, places.output, {layer.context, row_C}, {d_h, row_E});
    add_gradients(tasks, places.feed_forward_norm, 1);
    // Many small tasks come last, as then no thread waits long for the others; few large ones first.
    const Tasks::Kind attention = {B * G, [&](Own& own, size_t i) { attend_backward(own, layer, i / G, i % G); }};
    tasks.kinds.insert(B * G < 4 * team.size() ? tasks.kinds.begin() : tasks.kinds.end(), attention);
    share_out(thread, tasks);
  }
  for_blocks(thread, [&](Own& own, size_t block, size_t first, size_t rows) {
    before_attention_backward(own, 0, block, first, rows);
  });
  Tasks tasks;
  add_gradients(tasks, parameters.blocks.front().qkv, {normalized, row_E}, {layers.front().qkv, row_W});
  add_gradients(tasks, parameters.blocks.front().attention_norm, 0);
  add_embeddings(tasks);
  share_out(thread, tasks);
}

/// From the stream after a layer to its attention's output: through the feed-forward network, its norm, and the output
/// projection. Leaves what the sums need: activations in `up`, d_up, normalized_h, d_h.
void Trainer::Parts::after_attention_backward(Own& own, size_t n, size_t block, size_t first, size_t rows) {
  const NormPlaces& norm = parameters.blocks[n].feed_forward_norm;
  KeptLayer& layer = layers[n];
  const float *d_x = d_stream.data() + first * row_E, *h = layer.h.data() + first * row_E;
  float *d_hidden = d_up.data() + first * row_U, *of_h = d_h.data() + first * row_E;
  kernels.train.multiply({d_x, row_E, 1}, layer.down_turned.strips(E, R), {d_hidden, R, row_U}, rows, F, E);
  const auto activate_backward = gated ? kernels.train.gated_backward : kernels.train.gelu_backward;
  for (size_t i = 0; i < rows; ++i) activate_backward(layer.up.data() + (first + i) * row_U, d_hidden + i * row_U, F);
  kernels.train.multiply({d_hidden, row_U, 1}, layer.up_turned.strips(U, R), {own.normalized.data(), R, row_E}, rows, E,
                         U);

  float* d_weight = partial(1, block);
  std::fill_n(d_weight, 2 * E, 0.0f);
  const float *weight = parameters.value(norm.weight), *bias = parameters.value(norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    const RowStatistics statistics = layer.feed_forward_norm[first + i];
    kernels.train.normalize_backward(h + i * row_E, own.normalized.data() + i * row_E, E, weight, statistics,
                                     d_x + i * row_E, of_h + i * row_E, d_weight,
                                     bias == nullptr ? nullptr : d_weight + E);
    kernels.train.normalize_again(h + i * row_E, E, weight, bias, statistics,
                                  normalized_h.data() + (first + i) * row_E);
  }
  kernels.train.multiply({of_h, row_E, 1}, layer.output_turned.strips(E, R),
                         {d_context.data() + first * row_C, R, row_C}, rows, H * D, E);
}

/// From the gradients of queries, keys and values to the stream before the layer.
void Trainer::Parts::before_attention_backward(Own& own, size_t n, size_t block, size_t first, size_t rows) {
  const NormPlaces& norm = parameters.blocks[n].attention_norm;
  KeptLayer& layer = layers[n];
  float* d_qkv = layer.qkv.data() + first * row_W;
  if (gated) turn_rows(d_qkv, rows, first, -1);
  kernels.train.multiply({d_qkv, row_W, 1}, layer.qkv_turned.strips(W, R), {own.normalized.data(), R, row_E}, rows, E,
                         W);

  float* d_weight = partial(0, block);
  std::fill_n(d_weight, 2 * E, 0.0f);
  const float *weight = parameters.value(norm.weight), *bias = parameters.value(norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    const float* x = streams[n].data() + (first + i) * row_E;
    const RowStatistics statistics = layer.attention_norm[first + i];
    kernels.train.normalize_backward(x, own.normalized.data() + i * row_E, E, weight, statistics,
                                     d_h.data() + (first + i) * row_E, d_stream.data() + (first + i) * row_E, d_weight,
                                     bias == nullptr ? nullptr : d_weight + E);
    kernels.train.normalize_again(x, E, weight, bias, statistics, normalized.data() + (first + i) * row_E);
  }
}

}  // namespace attn::fast
