#include <algorithm>
#include <cmath>

#include "decoder.hpp"

namespace attn::fast {

using std::size_t;

/// All blocks for L new tokens. Between two meetings of the threads each one computes its own columns, and reads what
/// all have computed before.
void Decoder::step(size_t thread, size_t L) {
  Own& own = own_[thread];
  const ConstRows x = {x_.data(), E_}, context = {qkv_.data(), W_}, hidden = {hidden_.data(), 2 * F_};
  const auto kv_heads = [&](size_t t) { return G_ * t / team_.size(); };
  for (size_t n = 0; n < weights_.layers.size(); ++n) {
    const LayerWeights& layer = weights_.layers[n];
    multiply_qkv(layer, thread, normalize_rows(layer.attention_norm, x, L, own), L);
    team_.wait_for_all();
    for (size_t g = kv_heads(thread); g < kv_heads(thread + 1); ++g) attend_rows(n, g, L, own);
    team_.wait_for_all();
    add_to_x(layer.output, thread, context, L);
    team_.wait_for_all();
    feed_forward(layer, thread, normalize_rows(layer.feed_forward_norm, x, L, own), L);
    team_.wait_for_all();
    add_to_x(layer.down, thread, hidden, L);
    team_.wait_for_all();
  }
}

/// Every thread normalizes all of x for itself: that takes less time than waiting for another thread.
ConstRows Decoder::normalize_rows(const Norm& norm, ConstRows x, size_t L, Own& own) const {
  const float* bias = norm.bias.empty() ? nullptr : norm.bias.data();
  for (size_t l = 0; l < L; ++l) {
    kernels_.stream.normalize(x.data + l * x.stride, E_, norm.weight.data(), bias, norm.epsilon,
                              own.normalized.data() + l * E_);
  }
  return {own.normalized.data(), E_};
}

/// Some outputs of a projection whose weights are (outputs x inputs).
/// @param result where the first of them goes
void Decoder::multiply_rows(const Projection& projection, Range outputs, ConstRows x, size_t L, Rows result) const {
  kernels_.stream.multiply_rows(projection.from(outputs.first, 0), projection.inputs, outputs.count, x, L, result);
  for (size_t l = 0; l < L; ++l) add_bias(projection, outputs, result.data + l * result.stride);
}

void Decoder::add_bias(const Projection& projection, Range outputs, float* result) const {
  if (projection.bias.empty()) return;
  for (size_t i = 0; i < outputs.count; ++i) result[i] += projection.bias[outputs.first + i];
}

/// All outputs of a projection: called by all threads, each computes its share.
void Decoder::multiply(const Projection& projection, size_t thread, ConstRows x, size_t L, Rows result) {
  const Range outputs = share(projection.outputs, thread);
  const Rows mine = {result.data + outputs.first, result.stride};
  if (!projection.by_columns) return multiply_rows(projection, outputs, x, L, mine);

  // Each thread reads its rows of (inputs x outputs) as they are in memory, and has a part of all sums.
  const Range inputs = share(projection.inputs, thread);
  const auto part = [&](size_t t) { return parts_.data() + t * L * projection.outputs; };
  kernels_.stream.multiply_columns(projection.from(0, inputs.first), inputs.count, projection.outputs,
                                   {x.data + inputs.first, x.stride}, L, {part(thread), projection.outputs});
  team_.wait_for_all();
  for (size_t l = 0; l < L; ++l) {
    float* sum = mine.data + l * mine.stride;
    std::fill_n(sum, outputs.count, 0.0f);
    for (size_t t = 0; t < team_.size(); ++t) {
      const float* from = part(t) + l * projection.outputs + outputs.first;
      for (size_t i = 0; i < outputs.count; ++i) sum[i] += from[i];
    }
    add_bias(projection, outputs, sum);
  }
}

/// A thread's share is of all parts side by side, as long as they are stored by rows.
void Decoder::multiply_qkv(const LayerWeights& layer, size_t thread, ConstRows x, size_t L) {
  if (layer.qkv.size() == 1) return multiply(layer.qkv.front(), thread, x, L, {qkv_.data(), W_});
  const Range outputs = share(W_, thread);
  size_t begin = 0;  // of a part
  for (const Projection& part : layer.qkv) {
    const size_t first = std::max(begin, outputs.first);
    const size_t end = std::min(begin + part.outputs, outputs.first + outputs.count);
    if (first < end) multiply_rows(part, {first - begin, end - first}, x, L, {qkv_.data() + first, W_});
    begin += part.outputs;
  }
}

void Decoder::add_to_x(const Projection& projection, size_t thread, ConstRows x, size_t L) {
  multiply(projection, thread, x, L, {normalized_.data(), E_});
  const Range outputs = share(E_, thread);
  for (size_t l = 0; l < L; ++l) {
    const float* from = normalized_.data() + l * E_ + outputs.first;
    float* sum = x_.data() + l * E_ + outputs.first;
    for (size_t i = 0; i < outputs.count; ++i) sum[i] += from[i];
  }
}

void Decoder::feed_forward(const LayerWeights& layer, size_t thread, ConstRows x, size_t L) {
  const Range outputs = share(F_, thread);
  const Rows gate = {hidden_.data(), 2 * F_}, up = {hidden_.data() + F_, 2 * F_};
  const bool gated = layer.gate.weights.data != nullptr;
  if (gated) multiply(layer.gate, thread, x, L, gate);
  multiply(layer.up, thread, x, L, gated ? up : gate);
  for (size_t l = 0; l < L; ++l) {
    float* row = gate.data + l * gate.stride + outputs.first;
    if (gated) {
      kernels_.stream.gate(row, row + F_, outputs.count);
    } else {
      kernels_.stream.gelu(row, outputs.count);
    }
  }
}

/// One key/value head, and the query heads that share it. Their context takes the queries' place.
void Decoder::attend_rows(size_t layer, size_t kv_head, size_t L, Own& own) {
  const LayerWeights& weights = weights_.layers[layer];
  const size_t heads = H_ / G_;
  const float scale = log2e / std::sqrt(static_cast<float>(D_));
  char *keys = cache_.keys(layer, kv_head), *values = cache_.values(layer, kv_head);
  for (size_t l = 0; l < L; ++l) {
    float* queries = qkv_.data() + l * W_ + kv_head * heads * D_;
    float* key = qkv_.data() + l * W_ + (H_ + kv_head) * D_;
    turn(weights.key_norm, l, key);
    cache_.put(keys, length_ + l, key, 1);
    cache_.put(values, length_ + l, key + G_ * D_, 1);
    for (size_t h = 0; h < heads; ++h) turn(weights.query_norm, l, queries + h * D_);
    for (size_t i = 0; i < heads * D_; ++i) queries[i] *= scale;
    const CachedHead cached = cache_.at(layer, kv_head, length_ + l + 1);
    kernels_.stream.attend(queries, heads, D_, cached, own.scratch.data(), queries);
  }
}

}  // namespace attn::fast
