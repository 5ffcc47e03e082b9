// The trainer's products: see train_kernels.hpp. Included after kernels_body.hpp, whose vectors it uses.
#include "train_kernels.hpp"

namespace {

using attn::fast::Factor;
using attn::fast::Strips;
using attn::fast::Target;

inline Vector load_anywhere(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
inline void store_anywhere(float* to, Vector x) { *reinterpret_cast<Unaligned*>(to) = x; }

/// N rows of a product, W registers wide: 2 N accumulators, as in Tile.
template <int N, int W>
struct RowTile {
  Vector sums[N][W];

  /// Rows of the left factor are `row` floats apart, steps follow each other. Every third row has a pointer: the two
  /// after it are at multiples that an address can hold.
  inline __attribute__((always_inline)) void add_rows(Factor left, const float* right, size_t step, size_t steps) {
    constexpr int groups = (N + 2) / 3;
    const float* rows[groups];
#pragma GCC unroll 16
    for (int g = 0; g < groups; ++g) rows[g] = left.data + 3 * static_cast<size_t>(g) * left.row;
    const size_t row = left.row;
#pragma GCC unroll 2
    for (size_t k = 0; k < steps; ++k, right += step) {
      Vector columns[W];
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) columns[w] = load_anywhere(right + w * lanes);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        const Vector factor = all(rows[n / 3][static_cast<size_t>(n % 3) * row]);
#pragma GCC unroll 2
        for (int w = 0; w < W; ++w) sums[n][w] += columns[w] * factor;
      }
#pragma GCC unroll 16
      for (int g = 0; g < groups; ++g) ++rows[g];
    }
  }

  /// Rows of the left factor follow each other, steps are `step` floats apart.
  inline __attribute__((always_inline)) void add_steps(Factor left, const float* right, size_t step, size_t steps) {
    const float* row = left.data;
    for (size_t k = 0; k < steps; ++k, right += step, row += left.step) {
      Vector columns[W];
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) columns[w] = load_anywhere(right + w * lanes);
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) {
        const Vector factor = all(row[static_cast<size_t>(n)]);
#pragma GCC unroll 2
        for (int w = 0; w < W; ++w) sums[n][w] += columns[w] * factor;
      }
    }
  }

  /// Stores all columns. Which terms are added is decided once for all of them.
  inline __attribute__((always_inline)) void store_whole(const Target& target) {
    if (target.bias != nullptr) add_from(target.bias, 0);
    if (target.added != nullptr) add_from(target.added, target.row);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w)
        store_anywhere(target.data + static_cast<size_t>(n) * target.row + w * lanes, sums[n][w]);
    }
  }

  inline __attribute__((always_inline)) void add_from(const float* terms, size_t row) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) sums[n][w] += load_anywhere(terms + static_cast<size_t>(n) * row + w * lanes);
    }
  }

  /// Not a register's multiple.
  void store_part(const Target& target, size_t columns) const {
    for (int n = 0; n < N; ++n) {
      alignas(64) float row[W * lanes];
      for (int w = 0; w < W; ++w) store(row + w * lanes, sums[n][w]);
      for (size_t c = 0; c < columns; ++c) {
        const size_t place = static_cast<size_t>(n) * target.row + c;
        float sum = row[c];
        if (target.bias != nullptr) sum += target.bias[c];
        if (target.added != nullptr) sum += target.added[place];
        target.data[place] = sum;
      }
    }
  }
};

template <int N, int W>
void multiply_rows_of(Factor left, const float* right, size_t step, const Target& target, size_t columns,
                      size_t steps) {
  RowTile<N, W> tile;
#pragma GCC unroll 16
  for (int n = 0; n < N; ++n) {  // the result's place is fetched while the sums are computed
    const size_t row = static_cast<size_t>(n) * target.row;
#pragma GCC unroll 2
    for (int w = 0; w < W; ++w) {
      tile.sums[n][w] = Vector{};
      __builtin_prefetch(target.data + row + w * lanes, 1);
      if (target.added != nullptr) __builtin_prefetch(target.added + row + w * lanes);
    }
  }
  if (left.step == 1) {
    tile.add_rows(left, right, step, steps);
  } else {
    tile.add_steps(left, right, step, steps);
  }
  if (columns == W * lanes) {
    tile.store_whole(target);
  } else {
    tile.store_part(target, columns);
  }
}

template <int N>
struct MultiplyRows {
  static void run(Factor left, const float* right, size_t step, const Target* target, size_t columns, size_t steps) {
    if (columns > lanes) {
      multiply_rows_of<N, 2>(left, right, step, *target, columns, steps);
    } else {
      multiply_rows_of<N, 1>(left, right, step, *target, columns, steps);
    }
  }
};

/// Strip by strip, so that a strip stays in the first caches for all rows.
void multiply(Factor left, Strips right, Target target, size_t rows, size_t columns, size_t steps) {
  const size_t tiles = (rows + tile_columns - 1) / tile_columns;
  for (size_t c = 0; c < columns; c += R) {
    const size_t width = columns - c < R ? columns - c : R;
    for (size_t t = 0, first = 0; t < tiles; ++t) {
      const size_t next = rows * (t + 1) / tiles;
      Target tile = target;
      tile.data += first * target.row;
      if (tile.added != nullptr) tile.added += first * target.row;
      const Factor part = {left.data + first * left.row, left.row, left.step};
      with_width<MultiplyRows>(next - first, part, right.data, right.step, &tile, width, steps);
      first = next;
    }
    right.data += right.strip;
    target.data += target.strip;
    if (target.added != nullptr) target.added += target.strip;
    if (target.bias != nullptr) target.bias += R;
  }
}

constexpr size_t rows_ahead = 16;  // are fetched: rows lie too far apart for a processor to see what comes next

void copy_to_strip(const float* from, size_t row, size_t rows, size_t columns, float* strip, float* sums) {
  if (columns == R) {
    Vector low = {}, high = {};
    for (size_t i = 0; i < rows; ++i) {
      __builtin_prefetch(from + (i + rows_ahead) * row);
      __builtin_prefetch(from + (i + rows_ahead) * row + lanes);
      const Vector a = load_anywhere(from + i * row), b = load_anywhere(from + i * row + lanes);
      store(strip + i * R, a);
      store(strip + i * R + lanes, b);
      low += a;
      high += b;
    }
    if (sums != nullptr) {
      store_anywhere(sums, load_anywhere(sums) + low);
      store_anywhere(sums + lanes, load_anywhere(sums + lanes) + high);
    }
    return;
  }
  for (size_t i = 0; i < rows; ++i) {
    for (size_t c = 0; c < R; ++c) strip[i * R + c] = c < columns ? from[i * row + c] : 0;
  }
  for (size_t i = 0; i < rows && sums != nullptr; ++i) {
    for (size_t c = 0; c < columns; ++c) sums[c] += from[i * row + c];
  }
}

typedef float Four __attribute__((vector_size(16)));
typedef float FourAnywhere __attribute__((vector_size(16), aligned(4)));

inline Four load_four(const float* from) { return *reinterpret_cast<const FourAnywhere*>(from); }

/// Four rows of four numbers at a time. (Left to the compiler, it becomes a scatter, which is slow.)
void turn_to_strip(const float* from, size_t row, size_t rows, size_t columns, float* strip) {
  const size_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (size_t i = 0; i < whole_rows; i += 4) {
    const float* first = from + i * row;
    for (size_t ahead = R; ahead < R + 4; ++ahead) {
      for (size_t c = 0; c < whole_columns; c += 16) __builtin_prefetch(first + ahead * row + c);
    }
    for (size_t c = 0; c < whole_columns; c += 4) {
      const Four x = load_four(first + c), y = load_four(first + row + c), z = load_four(first + 2 * row + c),
                 w = load_four(first + 3 * row + c);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        *reinterpret_cast<FourAnywhere*>(strip + (c + static_cast<size_t>(k)) * R + i) = Four{x[k], y[k], z[k], w[k]};
      }
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    for (size_t i = c < whole_columns ? whole_rows : 0; i < rows; ++i) strip[c * R + i] = from[i * row + c];
    for (size_t i = rows; i < R; ++i) strip[c * R + i] = 0;
  }
}

}  // namespace

#include "train_body_rows.hpp"
