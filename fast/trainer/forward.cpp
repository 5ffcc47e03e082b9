#include "trainer/forward.hpp"

#include <algorithm>
#include <cmath>

#include "trainer/attention.hpp"

namespace attn::fast {

using std::size_t;

void ForwardPass::run(Workers& workers, size_t thread) const {
  workers.for_blocks(thread, pass_, [&](Scratch& own, TokenBlock block) {
    embed(block);
    before_attention(own, 0, block);
  });
  const size_t H = model_.sizes.H, num_layers = saved_.layers.size();
  const TrainerAttention attention(model_.sizes, model_.kernels, pass_.L);
  for (size_t n = 0; n < num_layers; ++n) {
    workers.share_out(thread, pass_.B * H,
                      [&](Scratch& own, size_t i) { attention.forward(own, saved_.layers[n], i / H, i % H); });
    workers.for_blocks(thread, pass_, [&](Scratch& own, TokenBlock block) {
      after_attention(own, n, block);
      if (n + 1 < num_layers) {
        before_attention(own, n + 1, block);
      } else {
        finish(own, block);
      }
    });
  }
}

void ForwardPass::embed(TokenBlock block) const {
  const TrainerParameters& parameters = model_.parameters;
  const Place &table = parameters.tokens, &positions = parameters.positions;
  const size_t E = model_.sizes.E, R = model_.sizes.R;
  for (size_t t = block.first; t < block.first + block.rows; ++t) {
    const arma::uword id = pass_.id(t);
    for (size_t c = 0; c < E; c += R) {
      const size_t count = std::min(R, E - c);
      float* to = saved_.streams.front().data() + t * model_.sizes.row_E + c;
      std::copy_n(parameters.value(table) + c * table.rows + id * R, count, to);
      if (!positions.empty()) {
        model_.kernels.add(to, parameters.value(positions) + c * positions.rows + t % pass_.L * R, count);
      }
    }
  }
}

void ForwardPass::before_attention(Scratch& own, size_t n, TokenBlock block) const {
  const ModelSizes& sizes = model_.sizes;
  const size_t E = sizes.E, row_E = sizes.row_E, row_W = sizes.row_W;
  const BlockPlaces& places = model_.parameters.blocks[n];
  const float* x = saved_.streams[n].data() + block.first * row_E;
  const float* weight = model_.parameters.value(places.attention_norm.weight);
  const float* bias = model_.parameters.value(places.attention_norm.bias);
  LayerActivations& layer = saved_.layers[n];
  for (size_t i = 0; i < block.rows; ++i) {
    model_.kernels.normalize(x + i * row_E, E, weight, bias, sizes.norm_epsilon, own.normalized.data() + i * row_E,
                             &layer.attention_norm[block.first + i]);
  }
  float* qkv = layer.qkv.data() + block.first * row_W;
  model_.kernels.multiply({own.normalized.data(), row_E, 1}, model_.strips_of(places.qkv.weight),
                          {qkv, sizes.R, row_W, model_.parameters.value(places.qkv.bias)}, block.rows, sizes.W, E);
  if (sizes.gated) model_.rotate(qkv, block, pass_.L, 1);
}

void ForwardPass::after_attention(Scratch& own, size_t n, TokenBlock block) const {
  const ModelSizes& sizes = model_.sizes;
  const TrainerParameters& parameters = model_.parameters;
  const TrainKernels& kernels = model_.kernels;
  const size_t E = sizes.E, F = sizes.F, R = sizes.R, rows = block.rows;
  const size_t row_E = sizes.row_E, row_F = sizes.row_F, row_U = sizes.row_U, row_C = sizes.row_C;
  const BlockPlaces& places = parameters.blocks[n];
  LayerActivations& layer = saved_.layers[n];
  float* h = layer.h.data() + block.first * row_E;
  kernels.multiply({layer.context.data() + block.first * row_C, row_C, 1}, model_.strips_of(places.output.weight),
                   {h, R, row_E, parameters.value(places.output.bias), saved_.streams[n].data() + block.first * row_E},
                   rows, E, sizes.H * sizes.D);
  const float* weight = parameters.value(places.feed_forward_norm.weight);
  const float* bias = parameters.value(places.feed_forward_norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    kernels.normalize(h + i * row_E, E, weight, bias, sizes.norm_epsilon, own.normalized.data() + i * row_E,
                      &layer.feed_forward_norm[block.first + i]);
  }
  float* up = layer.up.data() + block.first * row_U;
  kernels.multiply({own.normalized.data(), row_E, 1}, model_.strips_of(places.up.weight),
                   {up, R, row_U, parameters.value(places.up.bias)}, rows, sizes.U, E);
  const auto activate = sizes.gated ? kernels.gated : kernels.gelu;
  for (size_t i = 0; i < rows; ++i) activate(up + i * row_U, F, own.hidden.data() + i * row_F);
  kernels.multiply(
      {own.hidden.data(), row_F, 1}, model_.strips_of(places.down.weight),
      {saved_.streams[n + 1].data() + block.first * row_E, R, row_E, parameters.value(places.down.bias), h}, rows, E,
      F);
}

/// Final norm, head and loss; and backward, up to the gradient of the stream.
void ForwardPass::finish(Scratch& own, TokenBlock block) const {
  const ModelSizes& sizes = model_.sizes;
  const TrainerParameters& parameters = model_.parameters;
  const TrainKernels& kernels = model_.kernels;
  const size_t E = sizes.E, V = sizes.V, R = sizes.R, row_E = sizes.row_E, row_V = sizes.row_V, rows = block.rows;
  const bool tied = parameters.head.empty();
  const float* x = saved_.streams.back().data() + block.first * row_E;
  float* y = saved_.final_normalized.data() + block.first * row_E;
  const float* weight = parameters.value(parameters.final_norm.weight);
  const float* bias = parameters.value(parameters.final_norm.bias);
  for (size_t i = 0; i < rows; ++i) {
    kernels.normalize(x + i * row_E, E, weight, bias, sizes.norm_epsilon, y + i * row_E,
                      &saved_.final_norm[block.first + i]);
  }
  float* logits = saved_.logits.data() + block.first * row_V;
  kernels.multiply({y, row_E, 1}, tied ? model_.transposed.head.strips(E, R) : model_.strips_of(parameters.head),
                   {logits, R, row_V}, rows, V, E);
  for (size_t i = 0; i < rows; ++i) saved_.losses[block.number] += loss_of(logits + i * row_V, block.first + i);
  if (!pass_.with_backward) return;
  kernels.multiply({logits, row_V, 1}, tied ? model_.strips_of(parameters.tokens) : model_.transposed.head.strips(V, R),
                   {own.normalized.data(), R, row_E}, rows, E, V);
  float* d_weight = d_.of_norm(0, block.number);
  float* d_x = d_.stream.data() + block.first * row_E;
  std::fill_n(d_weight, 2 * E, 0.0f);
  std::fill_n(d_x, rows * row_E, 0.0f);
  for (size_t i = 0; i < rows; ++i) {
    kernels.normalize_backward(x + i * row_E, own.normalized.data() + i * row_E, E, weight,
                               saved_.final_norm[block.first + i], d_x + i * row_E, d_x + i * row_E, d_weight,
                               bias == nullptr ? nullptr : d_weight + E);
  }
}

/// The loss of one token, whose logits become their gradient.
double ForwardPass::loss_of(float* logits, size_t token) const {
  const size_t V = model_.sizes.V, R = model_.sizes.R, width = divided_up(V, R) * R;
  const arma::uword target = pass_.target(token);
  if (target == ignored_target) {
    std::fill_n(logits, width, 0.0f);
    return 0;
  }
  const auto score = static_cast<double>(logits[target]);
  const SoftmaxStatistics how = model_.kernels.softmax(logits, 0, V, width, log2e, pass_.share);
  logits[target] -= pass_.share;
  return static_cast<double>(how.maximum) - std::log(static_cast<double>(how.inverse)) - score;
}

}  // namespace attn::fast
