// What the trainer does with rows: see train_kernels.hpp. Included by train_body.hpp.
namespace {

using attn::fast::AdamWNumbers;
using attn::fast::RowStatistics;
using attn::fast::SoftmaxStatistics;

/// A register's numbers, or the last few of a row.
struct Whole {
  Vector load(const float* from) const { return load_anywhere(from); }
  void store(float* to, Vector x) const { store_anywhere(to, x); }
};

struct Part {
  size_t count;
  Vector load(const float* from) const {
    Vector x = {};
    for (size_t i = 0; i < count; ++i) x[i] = from[i];
    return x;
  }
  void store(float* to, Vector x) const {
    for (size_t i = 0; i < count; ++i) to[i] = x[i];
  }
};

/// Calls step(i, part) for a row's registers. What is missing in the last one is 0.
template <class Step>
inline __attribute__((always_inline)) void for_row(size_t count, Step step) {
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(i, Whole{});
  if (i < count) step(i, Part{count - i});
}

/// A register as one number: four numbers at a time, as long as there are more.
template <class Both>
inline __attribute__((always_inline)) float reduced(Vector x, Both both) {
  alignas(64) float all_of[lanes];
  store(all_of, x);
  Four result = load_four(all_of);
#pragma GCC unroll 4
  for (int i = 4; i < lanes; i += 4) result = both(result, load_four(all_of + i));
  const Four halves = both(result, Four{result[2], result[3], result[2], result[3]});
  return both(halves, Four{halves[1], halves[1], halves[1], halves[1]})[0];
}

inline float sum_of(Vector x) {
  return reduced(x, [](Four a, Four b) { return a + b; });
}

inline Vector absolute(Vector x) { return larger(x, -x); }

void normalize_again(const float* x, size_t count, const float* weight, const float* bias, RowStatistics statistics,
                     float* y) {
  const Vector mean = all(statistics.mean), inverse = all(statistics.inverse);
  for_row(count, [&](size_t i, auto part) {
    const Vector scaled = (part.load(x + i) - mean) * inverse * part.load(weight + i);
    part.store(y + i, bias == nullptr ? scaled : scaled + part.load(bias + i));
  });
}

void normalize(const float* x, size_t count, const float* weight, const float* bias, float epsilon, float* y,
               RowStatistics* statistics) {
  const float share = 1 / static_cast<float>(count);
  float mean = 0;
  if (bias != nullptr) {
    Vector sum = {};
    for_row(count, [&](size_t i, auto part) { sum += part.load(x + i); });
    mean = sum_of(sum) * share;
  }
  float squares = 0;
  size_t i = 0;
  Vector sum = {};
  for (; i + lanes <= count; i += lanes) {
    const Vector difference = load_anywhere(x + i) - all(mean);
    sum += difference * difference;
  }
  for (; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  squares += sum_of(sum);
  *statistics = {mean, 1 / __builtin_sqrtf(squares * share + epsilon)};
  normalize_again(x, count, weight, bias, *statistics, y);
}

void normalize_backward(const float* x, const float* d_y, size_t count, const float* weight, RowStatistics statistics,
                        const float* added, float* d_x, float* d_weight, float* d_bias) {
  const Vector mean = all(statistics.mean), inverse = all(statistics.inverse);
  Vector sum = {}, along = {};  // of g, the gradient of x_hat, and of g x_hat
  for_row(count, [&](size_t i, auto part) {
    const Vector x_hat = (part.load(x + i) - mean) * inverse, d = part.load(d_y + i), g = d * part.load(weight + i);
    part.store(d_weight + i, part.load(d_weight + i) + d * x_hat);
    if (d_bias != nullptr) part.store(d_bias + i, part.load(d_bias + i) + d);
    sum += g;
    along += g * x_hat;
  });
  const float share = 1 / static_cast<float>(count);
  const Vector mean_g = all(d_bias != nullptr ? sum_of(sum) * share : 0.0f), mean_along = all(sum_of(along) * share);
  for_row(count, [&](size_t i, auto part) {
    const Vector x_hat = (part.load(x + i) - mean) * inverse, g = part.load(d_y + i) * part.load(weight + i);
    part.store(d_x + i, part.load(added + i) + (g - mean_g - x_hat * mean_along) * inverse);
  });
}

/// 1 / (1 + e^-x), from x log2(e); and its slope.
struct Sigmoid {
  Vector value, slope;
};

inline __attribute__((always_inline)) Sigmoid sigmoid(Vector x) {
  const Vector e = exp2(-absolute(x)), inverse = 1.0f / (e + 1.0f);
  return {(x < 0.0f ? e : all(1.0f)) * inverse, e * inverse * inverse};
}

// gelu_tanh(x) = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x³))
constexpr float gelu_linear = 1.59576912f, gelu_cubic = gelu_linear * 0.044715f;

inline Vector gelu_argument(Vector x) { return x * (gelu_linear + gelu_cubic * x * x) * attn::fast::log2e; }

void gelu_rows(const float* x, size_t count, float* y) {
  for_row(count, [&](size_t i, auto part) {
    const Vector a = part.load(x + i);
    part.store(y + i, a * sigmoid(gelu_argument(a)).value);
  });
}

void gelu_backward(float* x, float* d_y, size_t count) {
  for_row(count, [&](size_t i, auto part) {
    const Vector a = part.load(x + i);
    const Sigmoid s = sigmoid(gelu_argument(a));
    part.store(x + i, a * s.value);
    part.store(d_y + i, part.load(d_y + i) * (s.value + a * s.slope * (gelu_linear + 3 * gelu_cubic * a * a)));
  });
}

void gated(const float* x, size_t count, float* y) {
  for_row(count, [&](size_t i, auto part) {
    const Vector gate = part.load(x + i);
    part.store(y + i, gate * sigmoid(gate * attn::fast::log2e).value * part.load(x + count + i));
  });
}

void gated_backward(float* x, float* d_y, size_t count) {
  for_row(count, [&](size_t i, auto part) {
    const Vector gate = part.load(x + i), up = part.load(x + count + i), d = part.load(d_y + i);
    const Sigmoid s = sigmoid(gate * attn::fast::log2e);
    const Vector opened = gate * s.value;
    part.store(x + i, opened * up);
    part.store(d_y + i, d * up * (s.value + gate * s.slope));
    part.store(d_y + count + i, d * opened);
  });
}

/// A register of a row's scores, from place j on. Those outside [first, last) become -infinity.
inline __attribute__((always_inline)) Vector seen_scores(const float* row, size_t j, size_t first, size_t last) {
  const Vector scores = load(row + j);
  if (first <= j && j + lanes <= last) return scores;
  Vector place;
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) place[i] = static_cast<float>(i);
  place += static_cast<float>(j);
  const Vector unseen = all(-__builtin_inff());
  const Vector before_last = place < static_cast<float>(last) ? scores : unseen;
  return place < static_cast<float>(first) ? unseen : before_last;
}

SoftmaxStatistics softmax(float* row, size_t first, size_t last, size_t count, float scale, float factor) {
  Vector largest = seen_scores(row, 0, first, last), sum = {};
  for (size_t j = lanes; j < count; j += lanes) largest = larger(largest, seen_scores(row, j, first, last));
  const float maximum = reduced(largest, [](Four a, Four b) { return a > b ? a : b; });
  for (size_t j = 0; j < count; j += lanes) {
    const Vector power = exp2((seen_scores(row, j, first, last) - maximum) * scale);
    store(row + j, power);
    sum += power;
  }
  const float inverse = 1 / sum_of(sum);
  for (size_t j = 0; j < count; j += lanes) store(row + j, load(row + j) * (inverse * factor));
  return {maximum, inverse};
}

void softmax_backward(float* row, float* d_row, size_t first, size_t last, size_t count, float scale,
                      SoftmaxStatistics how, float delta, float factor) {
  for (size_t j = 0; j < count; j += lanes) {
    const Vector weight = exp2((seen_scores(row, j, first, last) - how.maximum) * scale) * how.inverse;
    store(row + j, weight);
    store(d_row + j, weight * (load(d_row + j) - delta) * factor);
  }
}

void turn_pairs(float* x, const float* cosine, const float* sine, size_t pairs, float sign) {
  for_row(pairs, [&](size_t i, auto part) {
    const Vector a = part.load(x + i), b = part.load(x + pairs + i);
    const Vector c = part.load(cosine + i), s = part.load(sine + i) * sign;
    part.store(x + i, a * c - b * s);
    part.store(x + pairs + i, a * s + b * c);
  });
}

float dot(const float* a, const float* b, size_t count) {
  Vector sum = {};
  for_row(count, [&](size_t i, auto part) { sum += part.load(a + i) * part.load(b + i); });
  return sum_of(sum);
}

void add(float* to, const float* from, size_t count) {
  for_row(count, [&](size_t i, auto part) { part.store(to + i, part.load(to + i) + part.load(from + i)); });
}

void adamw(float* __restrict x, const float* __restrict gradient, float* __restrict m, float* __restrict v,
           size_t count, float keep, const AdamWNumbers& numbers) {
  const AdamWNumbers n = numbers;
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * n.clipping;
    m[i] = n.beta1 * m[i] + n.rest1 * g;
    v[i] = n.beta2 * v[i] + n.rest2 * g * g;
    x[i] = x[i] * keep - n.rate * m[i] / (__builtin_sqrtf(v[i] * n.correction) + n.epsilon);
  }
}

constexpr attn::fast::TrainKernels train_kernels = {
    multiply,   copy_to_strip, turn_to_strip, normalize,      normalize_again, normalize_backward,
    gelu_rows,  gelu_backward, gated,         gated_backward, softmax,         softmax_backward,
    turn_pairs, dot,           add,           adamw};

}  // namespace
