// The decoder's inner loops: see stream.hpp. Included after kernels_body.hpp, whose vectors and tiles it uses.
#include "stream.hpp"

namespace {

using attn::fast::CachedHead;
using attn::fast::ConstRows;
using attn::fast::Number;
using attn::fast::Rows;
using attn::fast::Weights;

typedef unsigned short Brain;  // the bits of a bfloat16
typedef Brain Brains __attribute__((vector_size(2 * lanes), aligned(1), may_alias));
typedef float Anywhere __attribute__((vector_size(4 * lanes), aligned(1), may_alias));

// What is read is read as four streams, from places that lie far apart: a processor fetches memory further ahead for
// several streams than for one. On the machine of docs/measurements.md one core reads 25 GB/s so, and 18 as one stream.
constexpr int streams = 4;

inline Vector load_weights(const float* from) { return *reinterpret_cast<const Anywhere*>(from); }
inline Vector load_weights(const Brain* from) {
  const Brains bits = *reinterpret_cast<const Brains*>(from);
  return reinterpret_cast<Vector>(__builtin_convertvector(bits, Integers) << 16);
}

inline float load_weight(const float* from) {
  float number;
  __builtin_memcpy(&number, from, sizeof(number));
  return number;
}
inline float load_weight(const Brain* from) {
  Brain bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  const unsigned wide = static_cast<unsigned>(bits) << 16;
  float number;
  __builtin_memcpy(&number, &wide, sizeof(number));
  return number;
}

/// The sum of a register.
inline float total(Vector x) {
  alignas(64) float sums[lanes];
  store(sums, x);
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// N tokens times `Outputs` rows of W, which are `apart` rows from each other, in W and in the result.
template <int N, int Outputs, class Weight>
inline __attribute__((always_inline)) void multiply_few(const Weight* w, size_t inputs, size_t apart, ConstRows x,
                                                        Rows result) {
  Vector sums[Outputs][N];
  for (int o = 0; o < Outputs; ++o) {
    for (int n = 0; n < N; ++n) sums[o][n] = Vector{};
  }
  size_t k = 0;
  for (; k + lanes <= inputs; k += lanes) {
    Vector weights[Outputs];
#pragma GCC unroll 8
    for (int o = 0; o < Outputs; ++o) weights[o] = load_weights(w + static_cast<size_t>(o) * apart * inputs + k);
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) {
      const Vector tokens = load_weights(x.data + static_cast<size_t>(n) * x.stride + k);
#pragma GCC unroll 8
      for (int o = 0; o < Outputs; ++o) sums[o][n] += weights[o] * tokens;
    }
  }
  for (int o = 0; o < Outputs; ++o) {
    const size_t row = static_cast<size_t>(o) * apart;
    for (int n = 0; n < N; ++n) {
      float sum = total(sums[o][n]);
      const float* token = x.data + static_cast<size_t>(n) * x.stride;
      for (size_t j = k; j < inputs; ++j) sum += load_weight(w + row * inputs + j) * token[j];
      result.data[static_cast<size_t>(n) * result.stride + row] = sum;
    }
  }
}

/// All tokens times `Outputs` rows of W, which stay in the cache from the first tokens to the last.
template <int Outputs, class Weight>
inline void multiply_all(const Weight* w, size_t inputs, size_t apart, ConstRows x, size_t L, Rows result) {
  for (; L >= 4; L -= 4) {
    multiply_few<4, Outputs>(w, inputs, apart, x, result);
    x.data += 4 * x.stride;
    result.data += 4 * result.stride;
  }
  if (L == 3) multiply_few<3, Outputs>(w, inputs, apart, x, result);
  if (L == 2) multiply_few<2, Outputs>(w, inputs, apart, x, result);
  if (L == 1) multiply_few<1, Outputs>(w, inputs, apart, x, result);
}

/// @returns how many rows it computed: a multiple of Outputs
template <int Outputs, class Weight>
inline size_t multiply_streams(const Weight* w, size_t inputs, size_t count, ConstRows x, size_t L, Rows result) {
  const size_t apart = count / Outputs;
  for (size_t i = 0; i < apart; ++i) {
    multiply_all<Outputs>(w + i * inputs, inputs, apart, x, L, {result.data + i, result.stride});
  }
  return apart * Outputs;
}

template <class Weight>
void multiply_rows_of(const Weight* w, size_t inputs, size_t count, ConstRows x, size_t L, Rows result) {
  // A long row of x takes all of the first cache: then it serves twice as many outputs.
  size_t i = L == 1 && inputs > 4096 ? multiply_streams<2 * streams>(w, inputs, count, x, L, result)
                                     : multiply_streams<streams>(w, inputs, count, x, L, result);
  for (; i < count; ++i) multiply_all<1>(w + i * inputs, inputs, 0, x, L, {result.data + i, result.stride});
}

void multiply_rows(Weights weights, size_t inputs, size_t count, ConstRows x, size_t L, Rows result) {
  if (weights.type == Number::float32) {
    multiply_rows_of(static_cast<const float*>(weights.data), inputs, count, x, L, result);
  } else {
    multiply_rows_of(static_cast<const Brain*>(weights.data), inputs, count, x, L, result);
  }
}

/// result += the sum of x · row of W, over `Inputs` rows that are `apart` rows from each other.
template <int Inputs, class Weight>
inline void add_rows(const Weight* w, size_t outputs, size_t apart, const float* x, float* result) {
  Vector factors[Inputs];
  for (int i = 0; i < Inputs; ++i) factors[i] = all(x[static_cast<size_t>(i) * apart]);
  size_t c = 0;
  for (; c + lanes <= outputs; c += lanes) {
    Vector sum = load_weights(result + c);
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; ++i) {
      sum += load_weights(w + static_cast<size_t>(i) * apart * outputs + c) * factors[i];
    }
    *reinterpret_cast<Anywhere*>(result + c) = sum;
  }
  for (; c < outputs; ++c) {
    for (int i = 0; i < Inputs; ++i) {
      result[c] += load_weight(w + static_cast<size_t>(i) * apart * outputs + c) * x[static_cast<size_t>(i) * apart];
    }
  }
}

template <class Weight>
void multiply_columns_of(const Weight* w, size_t inputs, size_t outputs, ConstRows x, size_t L, Rows result) {
  for (size_t l = 0; l < L; ++l) {
    for (size_t c = 0; c < outputs; ++c) result.data[l * result.stride + c] = 0;
  }
  const size_t apart = inputs / streams;
  for (size_t k = 0; k < apart; ++k) {
    for (size_t l = 0; l < L; ++l) {
      add_rows<streams>(w + k * outputs, outputs, apart, x.data + l * x.stride + k, result.data + l * result.stride);
    }
  }
  for (size_t k = apart * streams; k < inputs; ++k) {
    for (size_t l = 0; l < L; ++l) {
      add_rows<1>(w + k * outputs, outputs, 0, x.data + l * x.stride + k, result.data + l * result.stride);
    }
  }
}

void multiply_columns(Weights weights, size_t inputs, size_t outputs, ConstRows x, size_t L, Rows result) {
  if (weights.type == Number::float32) {
    multiply_columns_of(static_cast<const float*>(weights.data), inputs, outputs, x, L, result);
  } else {
    multiply_columns_of(static_cast<const Brain*>(weights.data), inputs, outputs, x, L, result);
  }
}

/// N tokens times a tile: a register holds a row of it, and a token's sums. `Parts` sums of each, as an addition takes
/// longer than it takes to start the next.
template <int N, int Parts>
inline __attribute__((always_inline)) void multiply_tile_of(ConstRows x, const float* tile, const float* bias,
                                                            size_t inputs, size_t count, Rows result) {
  constexpr int registers = (tile_columns + lanes - 1) / lanes;
  Vector sums[Parts][N][registers] = {};
  const auto add = [&](size_t k, int part) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int r = 0; r < registers; ++r) {
      const Vector row = load_weights(tile + k * count + static_cast<size_t>(r) * lanes);
#pragma GCC unroll 4
      for (int n = 0; n < N; ++n) sums[part][n][r] += row * all(x.data[static_cast<size_t>(n) * x.stride + k]);
    }
  };
  size_t k = 0;
  for (; k + Parts <= inputs; k += Parts) {
#pragma GCC unroll 4
    for (int part = 0; part < Parts; ++part) add(k + static_cast<size_t>(part), part);
  }
  for (; k < inputs; ++k) add(k, 0);
  for (int n = 0; n < N; ++n) {
    alignas(64) float whole[registers * lanes];
    for (int r = 0; r < registers; ++r) {
      Vector sum = sums[0][n][r];
      for (int part = 1; part < Parts; ++part) sum += sums[part][n][r];
      store(whole + r * lanes, sum);
    }
    float* to = result.data + static_cast<size_t>(n) * result.stride;
    for (size_t c = 0; c < count; ++c) to[c] = whole[c] + bias[c];
  }
}

void multiply_tile(ConstRows x, size_t L, const float* tile, const float* bias, size_t inputs, size_t count,
                   Rows result) {
  static_assert(attn::fast::few_rows == 4, "");
  if (L == 1) multiply_tile_of<1, 4>(x, tile, bias, inputs, count, result);
  if (L == 2) multiply_tile_of<2, 2>(x, tile, bias, inputs, count, result);
  if (L == 3) multiply_tile_of<3, 2>(x, tile, bias, inputs, count, result);
  if (L == 4) multiply_tile_of<4, 1>(x, tile, bias, inputs, count, result);
}

template <class Weight>
void pack_from(const Weight* w, size_t inputs, size_t count, size_t output, size_t input, float* tile) {
  for (size_t k = 0; k < inputs; ++k) {
    for (size_t c = 0; c < count; ++c) tile[k * count + c] = load_weight(w + c * output + k * input);
  }
}

void pack(Weights weights, size_t inputs, size_t count, size_t output, size_t input, float* tile) {
  if (weights.type == Number::float32) {
    pack_from(static_cast<const float*>(weights.data), inputs, count, output, input, tile);
  } else {
    pack_from(static_cast<const Brain*>(weights.data), inputs, count, output, input, tile);
  }
}

template <int N>
struct MultiplyPanel {
  static void run(const float* x, const float* tile, size_t inputs, float* result) {
    Tile<N> sums;
    for (int n = 0; n < N; ++n) {
      sums.low[n] = load(result + n * R);
      sums.high[n] = load(result + n * R + lanes);
    }
    sums.template add<N, 1>(x, tile, inputs);
    sums.store_to(result);
  }
};

void multiply_panel(const float* x, const float* tile, size_t inputs, size_t count, float* result) {
  with_width<MultiplyPanel>(count, x, tile, inputs, result);
}

}  // namespace

#include "stream_attention.hpp"
