#pragma once

#include <cstddef>

/// The inner loops of the decoder. For one token a weight is used once: what counts is how fast weights come from
/// memory. So these kernels read them where they are, in the order in which they are stored, as float32 or bfloat16.
///
/// Compiled and chosen with the kernels of kernels.hpp, which also says what a panel is. X has few rows here, one per
/// new token, and is row-major; a product's sums are kept in registers. Nothing here allocates or throws.
namespace attn::fast {

/// How a weight, or a number of the cache, is stored.
enum class Number {
  float32,
  bfloat16  ///< the upper half of a float32
};

/// The numbers of a matrix, row-major, at any address.
struct Weights {
  const void* data = nullptr;
  Number type = Number::float32;
};

/// A row-major matrix in float32.
struct ConstRows {
  const float* data = nullptr;
  std::size_t stride = 0;  ///< floats from one row to the next
};

struct Rows {
  float* data = nullptr;
  std::size_t stride = 0;
  operator ConstRows() const { return {data, stride}; }
};

/// The keys and values of one key/value head: panels of head_dim columns, one after the other.
struct CachedHead {
  const void *keys = nullptr, *values = nullptr;
  Number type = Number::float32;
  std::size_t length = 0;  ///< S, tokens. Those after them in the last panel are finite
};

/// The most tokens of multiply_tile().
inline constexpr std::size_t few_rows = 4;

/// The most query heads whose scores are computed together.
inline constexpr std::size_t heads_together = 4;

struct StreamKernels {
  /// X W^T, for W as PyTorch's Linear has it: (outputs x inputs).
  /// @param weights row 0 of `count` rows
  /// @param x       (L x inputs)
  /// @param result  (L x count)
  void (*multiply_rows)(Weights weights, std::size_t inputs, std::size_t count, ConstRows x, std::size_t L,
                        Rows result);

  /// X W, for W as GPT-2's Conv1D has it: (inputs x outputs).
  /// @param weights row 0 of `inputs` rows
  /// @param x       (L x inputs)
  /// @param result  (L x outputs)
  void (*multiply_columns)(Weights weights, std::size_t inputs, std::size_t outputs, ConstRows x, std::size_t L,
                           Rows result);

  /// X W + b for a few tokens and the columns of one tile. Up to a register's floats after the tile are read, too.
  /// @param x     (L x inputs), L at most few_rows
  /// @param tile  (inputs x count), row-major; count is at most Kernels::tile_columns
  void (*multiply_tile)(ConstRows x, std::size_t L, const float* tile, const float* bias, std::size_t inputs,
                        std::size_t count, Rows result);

  /// softmax(Q K^T) V for the query heads of one token that share a key/value head.
  /// @param queries (heads x head_dim), with the factor log2(e) / sqrt(D)
  /// @param scratch heads · (S, rounded up to R, + 16 · head_dim) floats, aligned to 64 bytes
  /// @param result  (heads x head_dim)
  void (*attend)(const float* queries, std::size_t heads, std::size_t head_dim, CachedHead cached, float* scratch,
                 float* result);

  /// Copies numbers of bfloat16 as float32.
  void (*widen)(const void* numbers, std::size_t count, float* to);

  /// Copies a tile of W as float32, in the order in which multiply_panel() reads it: (inputs x count), row-major.
  /// @param weights the first of `inputs` numbers of the first of `count` outputs
  /// @param output  numbers from one output to the next
  /// @param input   numbers from one input to the next; this or `output` is 1
  void (*pack)(Weights weights, std::size_t inputs, std::size_t count, std::size_t output, std::size_t input,
               float* tile);

  /// Adds X W to a panel of `count` columns.
  /// @param x     a panel of `inputs` columns
  /// @param tile  (inputs x count), row-major; count is at most Kernels::tile_columns
  void (*multiply_panel)(const float* x, const float* tile, std::size_t inputs, std::size_t count, float* result);

  /// gate = silu(gate) ∘ up
  void (*gate)(float* gate, const float* up, std::size_t count);

  /// x = gelu_tanh(x)
  void (*gelu)(float* x, std::size_t count);

  /// RMSNorm, or with a bias LayerNorm, of one row.
  void (*normalize)(const float* x, std::size_t count, const float* weight, const float* bias, float epsilon,
                    float* result);
};

}  // namespace attn::fast
