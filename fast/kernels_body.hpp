// The inner loops: see kernels.hpp. Each kernels_*.cpp includes this file after it has defined
//
//   ATTN_LANES         floats in a vector register
//   ATTN_LARGER        optional: the instruction for larger(), where a compiler does not find it
//   ATTN_TILE_COLUMNS  most columns of a tile: 2 registers each, and a few more for the factors
//
// and is compiled with flags of its own. So everything here is local to that file, and no header with inline functions
// is included (but the compiler's own, for instructions): the linker would keep just one copy of such a function,
// perhaps one that not every machine can run.
#include "kernels.hpp"

namespace {

using std::size_t;

constexpr int lanes = ATTN_LANES;
constexpr int tile_columns = ATTN_TILE_COLUMNS;
constexpr int R = 2 * lanes;  // tokens in a panel
static_assert(R <= attn::fast::max_rows, "");

typedef float Vector __attribute__((vector_size(4 * lanes)));
typedef float Unaligned __attribute__((vector_size(4 * lanes), aligned(4)));
typedef unsigned Integers __attribute__((vector_size(4 * lanes)));

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void store(float* to, Vector x) { *reinterpret_cast<Vector*>(to) = x; }
inline Vector all(float x) { return x - Vector{}; }

/// The larger of each pair; b where one of them is NaN.
#ifdef ATTN_LARGER
inline Vector larger(Vector a, Vector b) { return ATTN_LARGER(a, b); }
#else
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }
#endif

/// A tile: R rows and N columns of a product, in registers, as 2 N accumulators. Each step takes one column of the left
/// factor (R numbers) and one row of the right one (N numbers).
template <int N>
struct Tile {
  Vector low[N], high[N];

  inline __attribute__((always_inline)) void clear() {
    for (int n = 0; n < N; ++n) low[n] = high[n] = Vector{};
  }

  /// The same for the lower half of the rows alone. The right factor's rows are N numbers.
  inline __attribute__((always_inline)) void add_to_low(const float* left, const float* right, size_t steps) {
#pragma GCC unroll 4
    for (size_t k = 0; k < steps; ++k) {
      const Vector a = load(left + k * R);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) low[n] += a * all(right[k * N + static_cast<size_t>(n)]);
    }
  }

  /// Row k of the right factor begins at right + k * Row, its numbers are Column floats apart.
  template <int Row, int Column>
  inline __attribute__((always_inline)) void add(const float* left, const float* right, size_t steps) {
#pragma GCC unroll 4
    for (size_t k = 0; k < steps; ++k) {
      const Vector a = load(left + k * R), b = load(left + k * R + lanes);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        const Vector factor = all(right[k * Row + static_cast<size_t>(n) * Column]);
        low[n] += a * factor;
        high[n] += b * factor;
      }
    }
  }

  inline __attribute__((always_inline)) void store_to(float* panel) const {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      store(panel + n * R, low[n]);
      store(panel + n * R + lanes, high[n]);
    }
  }
};

/// Calls Function<N>::run(arguments...) for an N that is known only at run time, 1 to tile_columns.
template <template <int> class Function, int N = tile_columns, class... Arguments>
inline void with_width(size_t width, Arguments... arguments) {
  if (width == N) {
    Function<N>::run(arguments...);
  } else if constexpr (N > 1) {
    with_width<Function, N - 1>(width, arguments...);
  }
}

/// Cuts columns into tiles of about the same width, none wider than tile_columns.
template <template <int> class Function, class... Arguments>
inline void for_tiles(size_t columns, Arguments... arguments) {
  const size_t tiles = (columns + tile_columns - 1) / tile_columns;
  for (size_t t = 0, first = 0; t < tiles; ++t) {
    const size_t next = columns * (t + 1) / tiles;
    with_width<Function>(next - first, first, arguments...);
    first = next;
  }
}

template <int N>
struct Project {
  static void run(const float* x, const float* weights, const float* bias, size_t inputs, attn::fast::Columns result) {
    for (int n = 0; n < N; ++n) {  // the memory for the result is fetched while the sums are computed
      __builtin_prefetch(result.data + static_cast<size_t>(n) * result.stride, 1);
      __builtin_prefetch(result.data + static_cast<size_t>(n) * result.stride + lanes, 1);
    }
    Tile<N> sums;
    for (int n = 0; n < N; ++n) sums.low[n] = sums.high[n] = all(bias[n]);
    if (result.rows <= lanes) {
      sums.add_to_low(x, weights, inputs);
    } else {
      sums.template add<N, 1>(x, weights, inputs);
    }
    if (result.rows == R || result.rows == lanes) {
      for (int n = 0; n < N; ++n) {
        float* column = result.data + static_cast<size_t>(n) * result.stride;
        *reinterpret_cast<Unaligned*>(column) = sums.low[n];
        if (result.rows == R) *reinterpret_cast<Unaligned*>(column + lanes) = sums.high[n];
      }
      return;
    }
    alignas(64) float whole[N * R];
    sums.store_to(whole);
    for (int n = 0; n < N; ++n) {
      for (size_t i = 0; i < result.rows; ++i) {
        result.data[static_cast<size_t>(n) * result.stride + i] = whole[static_cast<size_t>(n) * R + i];
      }
    }
  }
};

template <int N>
struct Scores {
  static void run(size_t first, const float* queries, const float* keys, size_t head_dim, float* result) {
    Tile<N> sums;
    sums.clear();
    sums.template add<R, 1>(queries, keys + first, head_dim);
    sums.store_to(result + first * R);
  }
};

template <int N>
struct Mix {
  static void run(size_t first, const float* weights, attn::fast::ConstPanels values, size_t panels,
                  const float* rescale, float* output) {
    Tile<N> sums;
    for (int n = 0; n < N; ++n) {
      const float* column = output + (first + static_cast<size_t>(n)) * R;
      sums.low[n] = load(column) * load(rescale);
      sums.high[n] = load(column + lanes) * load(rescale + lanes);
    }
    for (size_t p = 0; p < panels; ++p) {
      sums.template add<1, R>(weights + p * R * R, values.data + p * values.stride + first * R, R);
    }
    sums.store_to(output + first * R);
  }
};

void project(const float* x, const float* weights, const float* bias, size_t inputs, size_t count,
             attn::fast::Columns result) {
  with_width<Project>(count, x, weights, bias, inputs, result);
}

void scores(const float* queries, const float* keys, size_t head_dim, float* result) {
  for_tiles<Scores>(R, queries, keys, head_dim, result);
}

void mix(const float* weights, attn::fast::ConstPanels values, size_t panels, size_t value_dim, const float* rescale,
         float* output) {
  for_tiles<Mix>(value_dim, weights, values, panels, rescale, output);
}

void mask(float* panel, const int* visible) {
  const float blocked = -__builtin_inff();
  for (int j = 0; j < R; ++j) {
    for (int i = 0; i < R; ++i) panel[j * R + i] = j < visible[i] ? panel[j * R + i] : blocked;
  }
}

/// 2^x for x <= 0, to 3e-7 of the result, or to 2^-149 where that is more; 0 for x <= -126.5, so for -inf too; NaN for
/// NaN.
///
/// x = n + f with n an integer and |f| <= 1/2. 2^f is a polynomial (near-minimax, degree 5, exact at 0). 2^n is a float
/// whose exponent bits are n + 127: adding 1.5 * 2^23 + 127 rounds x to an integer and leaves that in the lowest bits.
/// For n = -127 they are 0, and so is the float. A product with NaN is NaN, whatever bits the NaN has.
inline Vector exp2(Vector x) {
  const Vector least = all(-127.0f);
  x = larger(least, x);  // NaN stays
  const Vector shifted = x + 12583039.0f;
  const Vector f = x - (shifted - 12583039.0f);
  Vector power = f * 0.0013264667f + 0.009671498f;
  power = power * f + 0.055507336f;
  power = power * f + 0.24022242f;
  power = power * f + 0.693147f;
  power = power * f + 1.0f;
  return power * reinterpret_cast<Vector>(reinterpret_cast<Integers>(shifted) << 23);
}

/// The maxima of each row, of `before` and of a panel's columns. Several at a time: a maximum takes longer than it
/// takes to start the next.
inline Tile<1> largest(const float* panel, size_t columns, Tile<1> before) {
  Tile<4> found;
  for (int n = 0; n < 4; ++n) {
    found.low[n] = before.low[0];
    found.high[n] = before.high[0];
  }
  for (size_t j = 0; j < columns; j += 4) {
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) {
      const float* column = panel + (j + static_cast<size_t>(n)) * R;
      found.low[n] = larger(found.low[n], load(column));
      found.high[n] = larger(found.high[n], load(column + lanes));
    }
  }
  Tile<1> result;
  result.low[0] = larger(larger(found.low[0], found.low[1]), larger(found.low[2], found.low[3]));
  result.high[0] = larger(larger(found.high[0], found.high[1]), larger(found.high[2], found.high[3]));
  return result;
}

void exponentials(float* scores, size_t panels, float* maximum, float* sum, float* rescale) {
  Tile<1> before, total;
  before.low[0] = load(maximum);
  before.high[0] = load(maximum + lanes);
  const Tile<1> now = largest(scores, panels * R, before);
  const Vector low_factor = exp2(before.low[0] - now.low[0]);
  const Vector high_factor = exp2(before.high[0] - now.high[0]);
  total.low[0] = load(sum) * low_factor;
  total.high[0] = load(sum + lanes) * high_factor;
#pragma GCC unroll 2
  for (size_t j = 0; j < panels * R; ++j) {
    const Vector low = exp2(load(scores + j * R) - now.low[0]);
    const Vector high = exp2(load(scores + j * R + lanes) - now.high[0]);
    store(scores + j * R, low);
    store(scores + j * R + lanes, high);
    total.low[0] += low;
    total.high[0] += high;
  }
  now.store_to(maximum);
  total.store_to(sum);
  store(rescale, low_factor);
  store(rescale + lanes, high_factor);
}

}  // namespace
