#include "trainer/attention.hpp"

#include <algorithm>
#include <cmath>

namespace attn::fast {

using std::size_t;

/// Queries of one sequence that are computed together, and the keys that any of them sees.
struct TrainerAttention::Seen {
  size_t first, rows;  ///< queries
  size_t begin, keys;  ///< begin is a multiple of R
  size_t columns;      ///< of their scores, a multiple of R
  size_t window;

  /// Of the columns, those that a query sees.
  size_t first_of(size_t row) const {
    const size_t end = first + row + 1;
    return window != 0 && end > window + begin ? end - window - begin : 0;
  }
  size_t last_of(size_t row) const { return first + row + 1 - begin; }
};

TrainerAttention::Seen TrainerAttention::seen_by(size_t first) const {
  const size_t rows = std::min(queries_per_block, L_ - first), window = sizes_.window;
  const size_t R = sizes_.R, begin = window != 0 && first + 1 > window ? (first + 1 - window) / R * R : 0;
  const size_t keys = first + rows - begin;
  return {first, rows, begin, keys, divided_up(keys, R) * R, window};
}

/// For some queries at a time, with all keys that they see.
void TrainerAttention::forward(Scratch& own, LayerActivations& layer, size_t b, size_t h) const {
  const size_t R = sizes_.R, D = sizes_.D, H = sizes_.H, G = sizes_.G, row_W = sizes_.row_W, row_C = sizes_.row_C;
  const size_t score_stride = own.score_stride;
  const size_t g = h / (H / G);
  const float* queries = layer.qkv.data() + b * L_ * row_W + h * D;
  const float* keys = layer.qkv.data() + b * L_ * row_W + (H + g) * D;
  const float* values = keys + G * D;
  const float scale = log2e / std::sqrt(static_cast<float>(D));
  for (size_t j = 0; j < L_; j += R) {
    kernels_.turn_to_strip(keys + j * row_W, row_W, std::min(R, L_ - j), D, own.keys.data() + j * D);
  }
  for (size_t first = 0; first < L_; first += queries_per_block) {
    const Seen seen = seen_by(first);
    kernels_.multiply({queries + first * row_W, row_W, 1}, {own.keys.data() + seen.begin * D, R * D, R},
                      {own.scores.data(), R, score_stride}, seen.rows, seen.columns, D);
    for (size_t i = 0; i < seen.rows; ++i) {
      layer.softmax[(b * H + h) * L_ + first + i] = kernels_.softmax(
          own.scores.data() + i * score_stride, seen.first_of(i), seen.last_of(i), seen.columns, scale, 1);
    }
    kernels_.multiply({own.scores.data(), score_stride, 1}, {values + seen.begin * row_W, R, row_W},
                      {layer.context.data() + (b * L_ + first) * row_C + h * D, R, row_C}, seen.rows, D, seen.keys);
  }
}

/// A head's columns of queries or keys, as a product's right factor. A copy, unless they fill registers: the kernels would
/// read the columns after them, too, where another thread may be writing the gradients of its head.
Strips TrainerAttention::own_columns(const float* rows, size_t count, AlignedFloats& copy) const {
  const size_t R = sizes_.R, D = sizes_.D;
  if (D % (R / 2) == 0) return {rows, R, sizes_.row_W};
  for (size_t c = 0; c < D; c += R) {
    kernels_.copy_to_strip(rows + c, sizes_.row_W, count, std::min(R, D - c), copy.data() + c * count, nullptr);
  }
  return {copy.data(), count * R, R};
}

/// Dao 2023, algorithm 2, with whole rows of scores, which are computed again.
///
///   dV = P^T dO,   dP = dO V^T,   dS = P ∘ (dP - sum(O ∘ dO)) / sqrt(D),   dQ = dS K,   dK = dS^T Q
void TrainerAttention::backward(Scratch& own, LayerActivations& layer, const AlignedFloats& d_context, size_t b,
                                size_t g) const {
  const size_t R = sizes_.R, D = sizes_.D, H = sizes_.H, G = sizes_.G, row_W = sizes_.row_W, row_C = sizes_.row_C;
  const size_t score_stride = own.score_stride;
  float* keys = layer.qkv.data() + b * L_ * row_W + (H + g) * D;
  float* values = keys + G * D;
  const float root = 1 / std::sqrt(static_cast<float>(D));
  for (size_t j = 0; j < L_; j += R) {
    kernels_.turn_to_strip(keys + j * row_W, row_W, std::min(R, L_ - j), D, own.keys.data() + j * D);
    kernels_.turn_to_strip(values + j * row_W, row_W, std::min(R, L_ - j), D, own.values.data() + j * D);
  }
  const Strips key_rows = own_columns(keys, L_, own.key_rows);
  std::fill_n(own.d_keys.data(), L_ * D, 0.0f);
  std::fill_n(own.d_values.data(), L_ * D, 0.0f);
  float *scores = own.scores.data(), *d_scores = own.d_scores.data();
  for (size_t h = g * (H / G); h < (g + 1) * (H / G); ++h) {
    for (size_t first = 0; first < L_; first += queries_per_block) {
      const Seen seen = seen_by(first);
      float* queries = layer.qkv.data() + (b * L_ + first) * row_W + h * D;
      const size_t place = (b * L_ + first) * row_C + h * D;  // in context
      const float *context = layer.context.data() + place, *d_output = d_context.data() + place;
      kernels_.multiply({queries, row_W, 1}, {own.keys.data() + seen.begin * D, R * D, R}, {scores, R, score_stride},
                        seen.rows, seen.columns, D);
      kernels_.multiply({d_output, row_C, 1}, {own.values.data() + seen.begin * D, R * D, R},
                        {d_scores, R, score_stride}, seen.rows, seen.columns, D);
      for (size_t i = 0; i < seen.rows; ++i) {
        const float delta = kernels_.dot(context + i * row_C, d_output + i * row_C, D);
        kernels_.softmax_backward(scores + i * score_stride, d_scores + i * score_stride, seen.first_of(i),
                                  seen.last_of(i), seen.columns, root * log2e,
                                  layer.softmax[(b * H + h) * L_ + first + i], delta, root);
      }
      float *d_k = own.d_keys.data() + seen.begin * D, *d_v = own.d_values.data() + seen.begin * D;
      kernels_.multiply({scores, 1, score_stride}, {d_output, R, row_C}, {d_v, R, D, nullptr, d_v}, seen.keys, D,
                        seen.rows);
      kernels_.multiply({d_scores, 1, score_stride}, own_columns(queries, seen.rows, own.query_rows),
                        {d_k, R, D, nullptr, d_k}, seen.keys, D, seen.rows);
      kernels_.multiply({d_scores, score_stride, 1},
                        {key_rows.data + seen.begin * key_rows.step, key_rows.strip, key_rows.step},
                        {queries, R, row_W}, seen.rows, D, seen.keys);
    }
  }
  for (size_t i = 0; i < L_; ++i) {
    std::copy_n(own.d_keys.data() + i * D, D, keys + i * row_W);
    std::copy_n(own.d_values.data() + i * D, D, values + i * row_W);
  }
}

}  // namespace attn::fast
