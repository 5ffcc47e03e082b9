#include <algorithm>
#include <cmath>
#include <vector>

#include "decoder.hpp"
#include "units.hpp"

namespace attn::fast {

using std::size_t;

/// All blocks for L new tokens, in panels: weights are packed piece by piece, and each piece is used for all panels.
void Decoder::prefill(size_t thread, size_t L) {
  Own& own = own_[thread];
  const size_t panels = divided_up(L, R_);
  const Panels x = {x_.data(), E_ * R_}, normalized = {normalized_.data(), E_ * R_};
  const Panels qkv = {qkv_.data(), W_ * R_}, hidden = {hidden_.data(), 2 * F_ * R_};
  const auto normalize = [&](const Norm& norm) {
    for (size_t p = thread; p < panels; p += team_.size()) {
      normalize_panel(norm, x.data + p * x.stride, normalized.data + p * normalized.stride);
    }
    team_.wait_for_all();
  };
  for (size_t n = 0; n < weights_.layers.size(); ++n) {
    const LayerWeights& layer = weights_.layers[n];
    normalize(layer.attention_norm);
    size_t column = 0;
    for (const Projection& part : layer.qkv) {
      const Range outputs = share(part.outputs, thread);
      const Panels result = {qkv.data + column * R_, qkv.stride};
      clear(result, panels, outputs);
      add_product(part, outputs, normalized, panels, result, own);
      column += part.outputs;
    }
    team_.wait_for_all();
    const auto kv_heads = [&](size_t t) { return G_ * t / team_.size(); };
    for (size_t g = kv_heads(thread); g < kv_heads(thread + 1); ++g) attend_panels(n, g, L, own);
    team_.wait_for_all();
    add_product(layer.output, share(E_, thread), qkv, panels, x, own);
    team_.wait_for_all();
    normalize(layer.feed_forward_norm);
    feed_forward_panels(layer, share(F_, thread), panels, own);
    team_.wait_for_all();
    add_product(layer.down, share(E_, thread), hidden, panels, x, own);
    team_.wait_for_all();
  }
}

/// Columns of panels become 0.
void Decoder::clear(Panels result, size_t panels, Range columns) const {
  for (size_t p = 0; p < panels; ++p) {
    std::fill_n(result.data + p * result.stride + columns.first * R_, columns.count * R_, 0.0f);
  }
}

void Decoder::normalize_panel(const Norm& norm, const float* x, float* result) const {
  float mean[max_rows] = {}, factor[max_rows] = {};
  const float count = static_cast<float>(E_);
  if (!norm.bias.empty()) {
    for (size_t c = 0; c < E_; ++c) {
      for (size_t i = 0; i < R_; ++i) mean[i] += x[c * R_ + i];
    }
    for (size_t i = 0; i < R_; ++i) mean[i] /= count;
  }
  for (size_t c = 0; c < E_; ++c) {
    for (size_t i = 0; i < R_; ++i) factor[i] += (x[c * R_ + i] - mean[i]) * (x[c * R_ + i] - mean[i]);
  }
  for (size_t i = 0; i < R_; ++i) factor[i] = 1 / std::sqrt(factor[i] / count + norm.epsilon);
  for (size_t c = 0; c < E_; ++c) {
    const float weight = norm.weight[c], bias = norm.bias.empty() ? 0 : norm.bias[c];
    for (size_t i = 0; i < R_; ++i) result[c * R_ + i] = (x[c * R_ + i] - mean[i]) * factor[i] * weight + bias;
  }
}

/// Adds some outputs of a projection, with its bias, to panels of all outputs.
void Decoder::add_product(const Projection& projection, Range outputs, ConstPanels x, size_t panels, Panels result,
                          Own& own) const {
  const size_t width = kernels_.tile_columns, end = outputs.first + outputs.count;
  for (size_t first = outputs.first; first < end; first += tiles_together * width) {
    const size_t last = std::min(end, first + tiles_together * width);
    for (size_t k = 0; k < projection.inputs; k += inputs_together) {
      const size_t inputs = std::min(inputs_together, projection.inputs - k);
      const auto tile = [&](size_t o) { return own.scratch.data() + (o - first) * inputs; };
      for (size_t o = first; o < last; o += width) {
        kernels_.stream.pack(projection.from(o, k), inputs, std::min(width, last - o), projection.between_outputs(),
                             projection.between_inputs(), tile(o));
      }
      for (size_t p = 0; p < panels; ++p) {
        for (size_t o = first; o < last; o += width) {
          kernels_.stream.multiply_panel(x.data + p * x.stride + k * R_, tile(o), inputs, std::min(width, last - o),
                                         result.data + p * result.stride + o * R_);
        }
      }
    }
  }
  if (projection.bias.empty()) return;
  for (size_t p = 0; p < panels; ++p) {
    for (size_t o = outputs.first; o < end; ++o) {
      float* column = result.data + p * result.stride + o * R_;
      for (size_t i = 0; i < R_; ++i) column[i] += projection.bias[o];
    }
  }
}

void Decoder::feed_forward_panels(const LayerWeights& layer, Range outputs, size_t panels, Own& own) {
  const ConstPanels x = {normalized_.data(), E_ * R_};
  const Panels gate = {hidden_.data(), 2 * F_ * R_}, up = {hidden_.data() + F_ * R_, 2 * F_ * R_};
  const bool gated = layer.gate.weights.data != nullptr;
  clear(gate, panels, outputs);
  add_product(gated ? layer.gate : layer.up, outputs, x, panels, gate, own);
  if (gated) {
    clear(up, panels, outputs);
    add_product(layer.up, outputs, x, panels, up, own);
  }
  for (size_t p = 0; p < panels; ++p) {
    const size_t first = p * gate.stride + outputs.first * R_;
    if (gated) {
      kernels_.stream.gate(gate.data + first, up.data + first, outputs.count * R_);
    } else {
      kernels_.stream.gelu(gate.data + first, outputs.count * R_);
    }
  }
}

/// As attend_rows.
void Decoder::attend_panels(size_t layer, size_t kv_head, size_t L, Own& own) {
  const LayerWeights& weights = weights_.layers[layer];
  const size_t heads = H_ / G_;
  const float scale = log2e / std::sqrt(static_cast<float>(D_));
  char *keys = cache_.keys(layer, kv_head), *values = cache_.values(layer, kv_head);
  std::vector<float>& head = own.head;
  for (size_t l = 0; l < L; ++l) {
    float* token = qkv_.data() + l / R_ * W_ * R_ + l % R_;
    const auto turned = [&](const Norm& norm, const float* column) {
      for (size_t d = 0; d < D_; ++d) head[d] = column[d * R_];
      turn(norm, l, head.data());
    };
    turned(weights.key_norm, token + (H_ + kv_head) * D_ * R_);
    cache_.put(keys, length_ + l, head.data(), 1);
    cache_.put(values, length_ + l, token + (H_ + G_ + kv_head) * D_ * R_, R_);
    for (size_t h = kv_head * heads; h < (kv_head + 1) * heads; ++h) {
      float* query = token + h * D_ * R_;
      turned(weights.query_norm, query);
      for (size_t d = 0; d < D_; ++d) query[d * R_] = head[d] * scale;
    }
  }
  const size_t S = length_ + L;
  float* copy = own.scratch.data();
  const ConstPanels key_panels = cache_.panels(keys, S, kernels_, copy);
  const ConstPanels value_panels = cache_.panels(values, S, kernels_, copy + cache_.copied(S));
  const Head cached = {key_panels, value_panels, L, S, D_, D_, S, true};
  for (size_t h = kv_head * heads; h < (kv_head + 1) * heads; ++h) {
    for (size_t p = 0; p < divided_up(L, R_); p += panels_per_group) {
      const Panels queries = {qkv_.data() + (p * W_ + h * D_) * R_, W_ * R_};
      const size_t count = std::min(panels_per_group, divided_up(L, R_) - p);
      own.queries.attend(cached, queries, count, p * R_, queries, nullptr);
    }
  }
}

}  // namespace attn::fast
