// The second part of stream_body.hpp: attention of one token, activations and norms.
namespace {

/// The scores of N query heads with the keys of P panels, which are `apart` panels from each other. In `scores` a row
/// of `panels` · R numbers belongs to each head.
template <int N, int P, class Cached>
inline __attribute__((always_inline)) void score_panels(const float* queries, size_t head_dim, const Cached* keys,
                                                        size_t apart, size_t panels, float* scores) {
  Tile<N> sums[P];
  for (int p = 0; p < P; ++p) sums[p].clear();
  for (size_t d = 0; d < head_dim; ++d) {
    Vector factors[N];
#pragma GCC unroll 4
    for (int h = 0; h < N; ++h) factors[h] = all(queries[static_cast<size_t>(h) * head_dim + d]);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Cached* column = keys + (static_cast<size_t>(p) * apart * head_dim + d) * R;
      const Vector low = load_weights(column), high = load_weights(column + lanes);
#pragma GCC unroll 4
      for (int h = 0; h < N; ++h) {
        sums[p].low[h] += low * factors[h];
        sums[p].high[h] += high * factors[h];
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int h = 0; h < N; ++h) {
      float* row = scores + (static_cast<size_t>(h) * panels + static_cast<size_t>(p) * apart) * R;
      store(row, sums[p].low[h]);
      store(row + lanes, sums[p].high[h]);
    }
  }
}

template <int N, class Cached>
inline void score_heads(const float* queries, size_t head_dim, const Cached* keys, size_t panels, float* scores) {
  constexpr int P = N == 1 ? streams : 2;
  const size_t apart = panels / P;
  for (size_t p = 0; p < apart; ++p) {
    score_panels<N, P>(queries, head_dim, keys + p * head_dim * R, apart, panels, scores + p * R);
  }
  for (size_t p = apart * P; p < panels; ++p) {
    score_panels<N, 1>(queries, head_dim, keys + p * head_dim * R, 0, panels, scores + p * R);
  }
}

/// Scores in base 2 become weights that are not divided by their sum yet, which is returned.
inline float exponentials_of_row(float* scores, size_t length, size_t panels) {
  for (size_t j = length; j < panels * R; ++j) scores[j] = -__builtin_inff();
  float largest_score = attn::fast::lowest_maximum;
  Vector most = all(largest_score);
  for (size_t j = 0; j < panels * R; j += lanes) most = larger(most, load(scores + j));
  for (int i = 0; i < lanes; ++i) largest_score = most[i] > largest_score ? most[i] : largest_score;
  Vector sum = Vector{};
  for (size_t j = 0; j < panels * R; j += lanes) {
    const Vector weight = exp2(load(scores + j) - largest_score);
    store(scores + j, weight);
    sum += weight;
  }
  return total(sum);
}

/// Adds values times weights for N heads and P panels, which are `apart` panels from each other. A sum is kept for each
/// lane.
template <int N, int P, class Cached>
inline __attribute__((always_inline)) void mix_panels(const float* weights, size_t head_dim, const Cached* values,
                                                      size_t apart, size_t panels, float* sums) {
  Tile<N> factors[P];
  for (int p = 0; p < P; ++p) {
    for (int h = 0; h < N; ++h) {
      const float* row = weights + (static_cast<size_t>(h) * panels + static_cast<size_t>(p) * apart) * R;
      factors[p].low[h] = load(row);
      factors[p].high[h] = load(row + lanes);
    }
  }
  for (size_t d = 0; d < head_dim; ++d) {
    Vector together[N];
    for (int h = 0; h < N; ++h) together[h] = load(sums + (static_cast<size_t>(h) * head_dim + d) * lanes);
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const Cached* column = values + (static_cast<size_t>(p) * apart * head_dim + d) * R;
      const Vector low = load_weights(column), high = load_weights(column + lanes);
#pragma GCC unroll 4
      for (int h = 0; h < N; ++h) together[h] += low * factors[p].low[h] + high * factors[p].high[h];
    }
    for (int h = 0; h < N; ++h) store(sums + (static_cast<size_t>(h) * head_dim + d) * lanes, together[h]);
  }
}

template <int N, class Cached>
inline void mix_heads(const float* weights, size_t head_dim, const Cached* values, size_t panels, float* sums) {
  constexpr int P = N == 1 ? streams : 2;
  const size_t apart = panels / P;
  for (size_t i = 0; i < N * head_dim; ++i) store(sums + i * lanes, Vector{});
  for (size_t p = 0; p < apart; ++p) {
    mix_panels<N, P>(weights + p * R, head_dim, values + p * head_dim * R, apart, panels, sums);
  }
  for (size_t p = apart * P; p < panels; ++p) {
    mix_panels<N, 1>(weights + p * R, head_dim, values + p * head_dim * R, 0, panels, sums);
  }
}

template <int N, class Cached>
inline void attend_heads(const float* queries, size_t head_dim, CachedHead cached, float* scratch, float* result) {
  const size_t panels = (cached.length + R - 1) / R;
  float* scores = scratch;
  float* sums = scratch + N * panels * R;
  score_heads<N>(queries, head_dim, static_cast<const Cached*>(cached.keys), panels, scores);
  float factors[N];
  for (int h = 0; h < N; ++h) {
    factors[h] = 1 / exponentials_of_row(scores + static_cast<size_t>(h) * panels * R, cached.length, panels);
  }
  mix_heads<N>(scores, head_dim, static_cast<const Cached*>(cached.values), panels, sums);
  for (size_t i = 0; i < N * head_dim; ++i) result[i] = total(load(sums + i * lanes)) * factors[i / head_dim];
}

template <class Cached>
inline void attend_all(const float* queries, size_t heads, size_t head_dim, CachedHead cached, float* scratch,
                       float* result) {
  static_assert(attn::fast::heads_together == 4, "");
  for (; heads >= 4; heads -= 4) {
    attend_heads<4, Cached>(queries, head_dim, cached, scratch, result);
    queries += 4 * head_dim;
    result += 4 * head_dim;
  }
  if (heads == 3) attend_heads<3, Cached>(queries, head_dim, cached, scratch, result);
  if (heads == 2) attend_heads<2, Cached>(queries, head_dim, cached, scratch, result);
  if (heads == 1) attend_heads<1, Cached>(queries, head_dim, cached, scratch, result);
}

void attend(const float* queries, size_t heads, size_t head_dim, CachedHead cached, float* scratch, float* result) {
  if (cached.type == Number::float32) {
    attend_all<float>(queries, heads, head_dim, cached, scratch, result);
  } else {
    attend_all<Brain>(queries, heads, head_dim, cached, scratch, result);
  }
}

void widen(const void* numbers, size_t count, float* to) {
  const auto* from = static_cast<const Brain*>(numbers);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) *reinterpret_cast<Anywhere*>(to + i) = load_weights(from + i);
  for (; i < count; ++i) to[i] = load_weight(from + i);
}

/// x / (1 + e^-z)
inline Vector times_sigmoid(Vector x, Vector z) {
  const Vector size = larger(z, -z);
  const Vector power = exp2(size * -attn::fast::log2e);  // of e^-|z|, which does not overflow
  const Vector share = 1.0f / (1.0f + power);
  return x * (z < 0.0f ? power * share : share);
}

/// Calls function(vector, index) for all numbers; what is after the last full register is copied.
template <class Function>
inline void for_all(float* x, size_t count, Function function) {
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    *reinterpret_cast<Unaligned*>(x + i) = function(*reinterpret_cast<Unaligned*>(x + i), i, size_t{lanes});
  }
  if (i == count) return;
  alignas(64) float rest[lanes] = {};
  for (size_t j = i; j < count; ++j) rest[j - i] = x[j];
  store(rest, function(load(rest), i, count - i));
  for (size_t j = i; j < count; ++j) x[j] = rest[j - i];
}

void gate(float* gates, const float* up, size_t count) {
  for_all(gates, count, [&](Vector x, size_t first, size_t found) {
    Vector factor = Vector{};
    if (found == lanes) {
      factor = load_weights(up + first);
    } else {
      for (size_t i = 0; i < found; ++i) factor[i] = up[first + i];
    }
    return times_sigmoid(x, x) * factor;
  });
}

void gelu(float* x, size_t count) {
  for_all(x, count, [](Vector y, size_t, size_t) {
    // (1 + tanh(u)) / 2 is the sigmoid of 2u; 2 sqrt(2/π) = 1.5957691
    return times_sigmoid(y, 1.5957691f * (y + 0.044715f * y * y * y));
  });
}

/// The sum of (x - mean)².
inline float squares(const float* x, size_t count, float mean) {
  Vector sums[4] = {};
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int p = 0; p < 4; ++p) {
      const Vector y = load_weights(x + i + p * lanes) - mean;
      sums[p] += y * y;
    }
  }
  float sum = total((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

inline float mean_of(const float* x, size_t count) {
  Vector sum = Vector{};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) sum += load_weights(x + i);
  float all_numbers = total(sum);
  for (; i < count; ++i) all_numbers += x[i];
  return all_numbers / static_cast<float>(count);
}

void normalize(const float* x, size_t count, const float* weight, const float* bias, float epsilon, float* result) {
  const float mean = bias == nullptr ? 0 : mean_of(x, count);
  const float variance = squares(x, count, mean) / static_cast<float>(count);
  const float factor = 1 / __builtin_sqrtf(variance + epsilon);
  for (size_t i = 0; i < count; ++i) result[i] = (x[i] - mean) * factor * weight[i];
  if (bias == nullptr) return;
  for (size_t i = 0; i < count; ++i) result[i] += bias[i];
}

constexpr attn::fast::StreamKernels stream_kernels = {
    multiply_rows, multiply_columns, multiply_tile, attend, widen, pack, multiply_panel, gate, gelu, normalize};

}  // namespace
