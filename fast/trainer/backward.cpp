#include "trainer/backward.hpp"

#include <algorithm>

#include "trainer/attention.hpp"

namespace attn::fast {

using std::size_t;

/// Blocks of tokens and sums over all tokens in turns, as the sums of one layer are computed beside its attention. A
/// layer's qkv can only follow its attention: it is summed up beside the attention of the layer below.
void BackwardPass::run(Workers& workers, size_t thread) const {
  const size_t G = model_.sizes.G, heads = pass_.B * G, row_E = model_.sizes.row_E;
  const TrainerAttention attention(model_.sizes, model_.kernels, pass_.L);
  for (size_t n = saved_.layers.size(); n-- > 0;) {
    const bool last = n + 1 == saved_.layers.size();
    workers.for_blocks(thread, pass_, [&](Scratch& own, TokenBlock block) {
      if (!last) before_attention(own, n + 1, block);
      after_attention(own, n, block);
    });
    const BlockPlaces& places = model_.parameters.blocks[n];
    LayerActivations& layer = saved_.layers[n];
    Tasks tasks{{
        last ? of_head() : of_qkv(n + 1),
        sums_.of_norm(last ? model_.parameters.final_norm : model_.parameters.blocks[n + 1].attention_norm, d_, 0),
        sums_.of_linear(places.up, {d_.normalized_h, row_E}, {d_.up, model_.sizes.row_U}),
        sums_.of_linear(places.down, {layer.up, model_.sizes.row_U}, {d_.stream, row_E}),
        sums_.of_linear(places.output, {layer.context, model_.sizes.row_C}, {d_.h, row_E}),
        sums_.of_norm(places.feed_forward_norm, d_, 1),
    }};
    // Many small tasks come last, as then no thread waits long for the others; few large ones first.
    const Tasks::Kind of_heads = {
        heads, [&](Scratch& own, size_t i) { attention.backward(own, layer, d_.context, i / G, i % G); }};
    tasks.kinds.insert(heads < 4 * workers.size() ? tasks.kinds.begin() : tasks.kinds.end(), of_heads);
    workers.share_out(thread, tasks);
  }
  workers.for_blocks(thread, pass_, [&](Scratch& own, TokenBlock block) { before_attention(own, 0, block); });
  workers.share_out(thread, {{
                                of_qkv(0),
                                sums_.of_norm(model_.parameters.blocks.front().attention_norm, d_, 0),
                                sums_.of_embeddings({d_.stream, row_E}),
                            }});
}

Tasks::Kind BackwardPass::of_qkv(size_t n) const {
  return sums_.of_linear(model_.parameters.blocks[n].qkv, {d_.normalized, model_.sizes.row_E},
                         {saved_.layers[n].qkv, model_.sizes.row_W});
}

/// A tied head is the table of tokens, transposed.
Tasks::Kind BackwardPass::of_head() const {
  const TrainerParameters& parameters = model_.parameters;
  const ActivationRows normalized = {saved_.final_normalized, model_.sizes.row_E},
                       logits = {saved_.logits, model_.sizes.row_V};
  if (parameters.head.empty()) return sums_.of_linear({parameters.tokens, {}}, logits, normalized);
  return sums_.of_linear({parameters.head, {}}, normalized, logits);
}

/// From the stream after a layer to its attention's output: through the feed-forward network, its norm, and the output
/// projection. Leaves what the sums need: activations in `up`, and of the gradients up, h and normalized_h.
void BackwardPass::after_attention(Scratch& own, size_t n, TokenBlock block) const {
  const ModelSizes& sizes = model_.sizes;
  const TrainKernels& kernels = model_.kernels;
  const size_t E = sizes.E, R = sizes.R, row_E = sizes.row_E, row_U = sizes.row_U, row_C = sizes.row_C;
  const size_t first = block.first, rows = block.rows;
  const NormPlaces& norm = model_.parameters.blocks[n].feed_forward_norm;
  const TransposedWeights::Layer& transposed = model_.transposed.layers[n];
  LayerActivations& layer = saved_.layers[n];
  const float *d_x = d_.stream.data() + first * row_E, *h = layer.h.data() + first * row_E;
  float *d_up = d_.up.data() + first * row_U, *d_h = d_.h.data() + first * row_E;
  kernels.multiply({d_x, row_E, 1}, transposed.down.strips(E, R), {d_up, R, row_U}, rows, sizes.F, E);
  const auto activate_backward = sizes.gated ? kernels.gated_backward : kernels.gelu_backward;
  for (size_t i = 0; i < rows; ++i) {
    activate_backward(layer.up.data() + (first + i) * row_U, d_up + i * row_U, sizes.F);
  }
  kernels.multiply({d_up, row_U, 1}, transposed.up.strips(sizes.U, R), {own.normalized.data(), R, row_E}, rows, E,
                   sizes.U);

  float* d_weight = d_.of_norm(1, block.number);
  std::fill_n(d_weight, 2 * E, 0.0f);
  const float *weight = model_.parameters.value(norm.weight), *bias = model_.parameters.value(norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    const RowStatistics statistics = layer.feed_forward_norm[first + i];
    kernels.normalize_backward(h + i * row_E, own.normalized.data() + i * row_E, E, weight, statistics, d_x + i * row_E,
                               d_h + i * row_E, d_weight, bias == nullptr ? nullptr : d_weight + E);
    kernels.normalize_again(h + i * row_E, E, weight, bias, statistics, d_.normalized_h.data() + (first + i) * row_E);
  }
  kernels.multiply({d_h, row_E, 1}, transposed.output.strips(E, R), {d_.context.data() + first * row_C, R, row_C}, rows,
                   sizes.H * sizes.D, E);
}

/// From the gradients of queries, keys and values to the stream before the layer.
void BackwardPass::before_attention(Scratch& own, size_t n, TokenBlock block) const {
  const ModelSizes& sizes = model_.sizes;
  const TrainKernels& kernels = model_.kernels;
  const size_t E = sizes.E, row_E = sizes.row_E, row_W = sizes.row_W, first = block.first, rows = block.rows;
  const NormPlaces& norm = model_.parameters.blocks[n].attention_norm;
  LayerActivations& layer = saved_.layers[n];
  float* d_qkv = layer.qkv.data() + first * row_W;
  if (sizes.gated) model_.rotate(d_qkv, block, pass_.L, -1);
  kernels.multiply({d_qkv, row_W, 1}, model_.transposed.layers[n].qkv.strips(sizes.W, sizes.R),
                   {own.normalized.data(), sizes.R, row_E}, rows, E, sizes.W);

  float* d_weight = d_.of_norm(0, block.number);
  std::fill_n(d_weight, 2 * E, 0.0f);
  const float *weight = model_.parameters.value(norm.weight), *bias = model_.parameters.value(norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    const float* x = saved_.streams[n].data() + (first + i) * row_E;
    const RowStatistics statistics = layer.attention_norm[first + i];
    kernels.normalize_backward(x, own.normalized.data() + i * row_E, E, weight, statistics,
                               d_.h.data() + (first + i) * row_E, d_.stream.data() + (first + i) * row_E, d_weight,
                               bias == nullptr ? nullptr : d_weight + E);
    kernels.normalize_again(x, E, weight, bias, statistics, d_.normalized.data() + (first + i) * row_E);
  }
}

}  // namespace attn::fast
