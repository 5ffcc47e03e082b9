#include <cmath>

#include "trainer_parts.hpp"
#include "units.hpp"

namespace attn::fast {

using std::size_t;

/// Queries of one sequence that are computed together, and the keys that any of them sees.
struct Trainer::Parts::Seen {
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

Trainer::Parts::Seen Trainer::Parts::seen_by(size_t first) const {
  const size_t rows = std::min(queries_per_block, L - first), window = config.attention.window;
  const size_t begin = window != 0 && first + 1 > window ? (first + 1 - window) / R * R : 0;
  const size_t keys = first + rows - begin;
  return {first, rows, begin, keys, divided_up(keys, R) * R, window};
}

void Trainer::Parts::turn_rows(float* rows, size_t count, size_t first, float sign) const {
  for (size_t i = 0; i < count; ++i) {
    const size_t angles = (first + i) % L * (D / 2);
    for (size_t h = 0; h < H + G; ++h) {
      kernels.train.turn_pairs(rows + i * row_W + h * D, &cosines[angles], &sines[angles], D / 2, sign);
    }
  }
}

/// One head of one sequence: softmax(Q K^T / sqrt(D)) V, for some queries at a time, with all keys that they see.
void Trainer::Parts::attend(Own& own, KeptLayer& layer, size_t b, size_t h) {
  const size_t g = h / (H / G);
  const float* queries = layer.qkv.data() + b * L * row_W + h * D;
  const float* keys = layer.qkv.data() + b * L * row_W + (H + g) * D;
  const float* values = keys + G * D;
  const float scale = log2e / std::sqrt(static_cast<float>(D));
  for (size_t j = 0; j < L; j += R) {
    kernels.train.turn_to_strip(keys + j * row_W, row_W, std::min(R, L - j), D, own.keys.data() + j * D);
  }
  for (size_t first = 0; first < L; first += queries_per_block) {
    const Seen seen = seen_by(first);
    kernels.train.multiply({queries + first * row_W, row_W, 1}, {own.keys.data() + seen.begin * D, R * D, R},
                           {own.scores.data(), R, score_stride}, seen.rows, seen.columns, D);
    for (size_t i = 0; i < seen.rows; ++i) {
      layer.softmax[(b * H + h) * L + first + i] = kernels.train.softmax(
          own.scores.data() + i * score_stride, seen.first_of(i), seen.last_of(i), seen.columns, scale, 1);
    }
    kernels.train.multiply({own.scores.data(), score_stride, 1}, {values + seen.begin * row_W, R, row_W},
                           {layer.context.data() + (b * L + first) * row_C + h * D, R, row_C}, seen.rows, D, seen.keys);
  }
}

/// The heads of one sequence that share a key and a value, backward: Dao 2023, algorithm 2, with whole rows of scores,
/// which are computed again. The gradients take the place of queries, keys and values.
///
///   dV = P^T dO,   dP = dO V^T,   dS = P ∘ (dP - sum(O ∘ dO)) / sqrt(D),   dQ = dS K,   dK = dS^T Q
void Trainer::Parts::attend_backward(Own& own, KeptLayer& layer, size_t b, size_t g) {
  const TrainKernels& train = kernels.train;
  float* keys = layer.qkv.data() + b * L * row_W + (H + g) * D;
  float* values = keys + G * D;
  const float root = 1 / std::sqrt(static_cast<float>(D));
  for (size_t j = 0; j < L; j += R) {
    train.turn_to_strip(keys + j * row_W, row_W, std::min(R, L - j), D, own.keys.data() + j * D);
    train.turn_to_strip(values + j * row_W, row_W, std::min(R, L - j), D, own.values.data() + j * D);
  }
  std::fill_n(own.d_keys.data(), L * D, 0.0f);
  std::fill_n(own.d_values.data(), L * D, 0.0f);
  float *scores = own.scores.data(), *d_scores = own.d_scores.data();
  for (size_t h = g * (H / G); h < (g + 1) * (H / G); ++h) {
    for (size_t first = 0; first < L; first += queries_per_block) {
      const Seen seen = seen_by(first);
      float* queries = layer.qkv.data() + (b * L + first) * row_W + h * D;
      const size_t place = (b * L + first) * row_C + h * D;  // in context
      const float *context = layer.context.data() + place, *d_output = d_context.data() + place;
      train.multiply({queries, row_W, 1}, {own.keys.data() + seen.begin * D, R * D, R}, {scores, R, score_stride},
                     seen.rows, seen.columns, D);
      train.multiply({d_output, row_C, 1}, {own.values.data() + seen.begin * D, R * D, R}, {d_scores, R, score_stride},
                     seen.rows, seen.columns, D);
      for (size_t i = 0; i < seen.rows; ++i) {
        const float delta = train.dot(context + i * row_C, d_output + i * row_C, D);
        train.softmax_backward(scores + i * score_stride, d_scores + i * score_stride, seen.first_of(i),
                               seen.last_of(i), seen.columns, root * log2e, layer.softmax[(b * H + h) * L + first + i],
                               delta, root);
      }
      float *d_k = own.d_keys.data() + seen.begin * D, *d_v = own.d_values.data() + seen.begin * D;
      train.multiply({scores, 1, score_stride}, {d_output, R, row_C}, {d_v, R, D, nullptr, d_v}, seen.keys, D,
                     seen.rows);
      train.multiply({d_scores, 1, score_stride}, {queries, R, row_W}, {d_k, R, D, nullptr, d_k}, seen.keys, D,
                     seen.rows);
      train.multiply({d_scores, score_stride, 1}, {keys + seen.begin * row_W, R, row_W}, {queries, R, row_W}, seen.rows,
                     D, seen.keys);
    }
  }
  for (size_t i = 0; i < L; ++i) {
    std::copy_n(own.d_keys.data() + i * D, D, keys + i * row_W);
    std::copy_n(own.d_values.data() + i * D, D, values + i * row_W);
  }
}

}  // namespace attn::fast
