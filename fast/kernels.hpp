#pragma once

#include <cstddef>

#include "stream.hpp"
#include "train_kernels.hpp"

/// The inner loops, compiled once for each kind of vector registers, and chosen when the program runs.
///
/// All of them work on *panels*. A panel holds R tokens of a matrix, column after column: element (token i, feature c)
/// is at c * R + i. That is Armadillo's own order, cut into pieces of R rows. R is `Kernels::rows`, two vector
/// registers. So one instruction works on R/2 tokens at once, and never has to add or compare across a register: a row
/// of the softmax is a lane. A product's result is a panel again, and the next product reads it as it is.
///
/// Panels are aligned to 64 bytes. Nothing here allocates or throws.
namespace attn::fast {

/// Several panels of the same matrix, or of some of its columns.
struct Panels {
  float* data = nullptr;   ///< column 0 of the first panel
  std::size_t stride = 0;  ///< floats from one panel to the next
};

struct ConstPanels {
  const float* data = nullptr;
  std::size_t stride = 0;
  ConstPanels(const float* first, std::size_t floats) : data(first), stride(floats) {}
  ConstPanels(const Panels& panels) : data(panels.data), stride(panels.stride) {}
};

/// Where project() puts its result: columns of `rows` tokens each, `stride` floats from one column to the next. It
/// need not be aligned.
struct Columns {
  float* data = nullptr;
  std::size_t stride = 0;
  std::size_t rows = 0;
};

struct Kernels {
  const char* name;          ///< "AVX-512", "AVX2" or "portable"
  std::size_t rows;          ///< R, tokens in a panel
  std::size_t tile_columns;  ///< most columns of a tile: what a product sums up in registers at a time

  /// X W + b for one panel and the columns of one tile.
  /// @param x       a panel of `inputs` columns
  /// @param weights (inputs x count), row-major
  /// @param bias    (count)
  /// @param count   at most tile_columns
  void (*project)(const float* x, const float* weights, const float* bias, std::size_t inputs, std::size_t count,
                  Columns result);

  /// Q K^T for a panel of queries and a panel of keys: R columns, one for each key.
  void (*scores)(const float* queries, const float* keys, std::size_t head_dim, float* result);

  /// Blocked scores become -inf.
  /// @param scores  R columns, one for each key of a panel
  /// @param visible (R), how many of these keys each query may attend to: the first ones, 0 to R
  void (*mask)(float* scores, const int* visible);

  /// One step of the online softmax in base 2, for a panel of queries: scores become 2^(score - maximum); maximum and
  /// sum are updated. A maximum starts at lowest_maximum, and a sum at 0.
  /// @param scores  `panels` times R columns
  /// @param rescale (R), result: the factor that was applied to the sum, and that the output still needs
  void (*exponentials)(float* scores, std::size_t panels, float* maximum, float* sum, float* rescale);

  /// output = output * rescale + weights V, for a panel of queries and `panels` panels of keys.
  /// @param output a panel of value_dim columns, at first 0
  void (*mix)(const float* weights, ConstPanels values, std::size_t panels, std::size_t value_dim, const float* rescale,
              float* output);

  StreamKernels stream;  ///< those of the decoder
  TrainKernels train;    ///< those of the trainer
};

/// The most tokens in a panel, over all kernels.
inline constexpr std::size_t max_rows = 32;

/// Scores are in base 2, since 2^x is simpler to compute than e^x: queries are multiplied by this, and by 1 / sqrt(D).
inline constexpr float log2e = 1.44269504f;
inline constexpr float ln2 = 0.693147181f;  ///< takes a log-sum-exp back to base e

/// The maximum of a query that has seen no key: the lowest finite float, as -inf minus itself would be NaN.
inline constexpr float lowest_maximum = -3.40282347e38f;

}  // namespace attn::fast
