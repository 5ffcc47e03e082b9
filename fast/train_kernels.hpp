#pragma once

#include <cstddef>

/// The trainer's inner loops, compiled and chosen like those of kernels.hpp.
///
/// Activations are in rows: a token is a row, its features side by side. What a product reads as its right factor is
/// in *strips*: a strip is R columns of a matrix, row after row. So one instruction works on R/2 features at once, and
/// each number of the left factor that is loaded serves two registers.
///
/// Where a function is given a number of columns that fills no register, it writes these columns only, but may read up
/// to R floats after the last one.
namespace attn::fast {

/// The left factor of a product, read number by number: element (i, k) is at i * row + k * step. One of the two is 1.
struct Factor {
  const float* data;
  std::size_t row, step;
};

/// The right factor: row k of the strip that begins at column c is at c / R * strip + k * step. A matrix in rows has
/// strips, too: with strip = R and step = the length of a row.
struct Strips {
  const float* data;
  std::size_t strip, step;
};

/// Where a product goes, in strips likewise: row i of a strip is at c / R * strip + i * row.
struct Target {
  float* data;
  std::size_t strip, row;
  const float* bias = nullptr;   ///< (columns): added to each row
  const float* added = nullptr;  ///< a matrix that is added, as large as the result and stored like it; may be the same
};

/// How one row was normalized.
struct RowStatistics {
  float mean;     ///< 0 for RMSNorm
  float inverse;  ///< 1 / root
};

/// How one row of a softmax was computed: 2^((score - maximum) * scale) * inverse. The maximum is a score, so that the
/// exponent is never above 0: a rounded maximum * scale, subtracted in one instruction from an exact score * scale, would
/// make it large for large scores.
struct SoftmaxStatistics {
  float maximum, inverse;
};

/// The numbers of a step of AdamW that are the same for all parameters.
struct AdamWNumbers {
  float clipping;  ///< what the gradients are multiplied by
  float beta1, rest1, beta2, rest2;
  float rate;        ///< learning rate / correction of m
  float correction;  ///< 1 / correction of v
  float epsilon;
};

struct TrainKernels {
  /// target = left right + bias + added, for (rows x steps) times (steps x columns).
  void (*multiply)(Factor left, Strips right, Target target, std::size_t rows, std::size_t columns, std::size_t steps);

  /// Copies up to R columns of a matrix into a strip, filled up with zeros.
  /// @param sums (R): the sum of each column is added; nullptr: no sums
  void (*copy_to_strip)(const float* from, std::size_t row, std::size_t rows, std::size_t columns, float* strip,
                        float* sums);

  /// Turns up to R rows of `columns` numbers into a strip of `columns` rows, filled up with zeros.
  void (*turn_to_strip)(const float* from, std::size_t row, std::size_t rows, std::size_t columns, float* strip);

  /// LayerNorm, or without a bias RMSNorm, of one row.
  void (*normalize)(const float* x, std::size_t count, const float* weight, const float* bias, float epsilon, float* y,
                    RowStatistics* statistics);

  /// The same from what is known of the row.
  void (*normalize_again)(const float* x, std::size_t count, const float* weight, const float* bias,
                          RowStatistics statistics, float* y);

  /// Adds the gradients of weight and bias to theirs. d_x = added + the gradient of x.
  /// @param d_bias nullptr for RMSNorm
  void (*normalize_backward)(const float* x, const float* d_y, std::size_t count, const float* weight,
                             RowStatistics statistics, const float* added, float* d_x, float* d_weight, float* d_bias);

  void (*gelu)(const float* x, std::size_t count, float* y);        ///< gelu_tanh
  void (*gelu_backward)(float* x, float* d_y, std::size_t count);   ///< x becomes y, d_y becomes d_x
  void (*gated)(const float* x, std::size_t count, float* y);       ///< x = [gate | up]: y = silu(gate) ∘ up
  void (*gated_backward)(float* x, float* d_y, std::size_t count);  ///< gate becomes y, d_y becomes [d_gate | d_up]

  /// factor * softmax of the scores [first, last) of a row, the others become 0. Returns how.
  /// @param count of the row: a multiple of R
  SoftmaxStatistics (*softmax)(float* row, std::size_t first, std::size_t last, std::size_t count, float scale,
                               float factor);

  /// Scores become weights, and d_row, the gradient of these, the gradient of the products of query and key.
  /// @param delta the sum of weights and their gradients
  void (*softmax_backward)(float* row, float* d_row, std::size_t first, std::size_t last, std::size_t count,
                           float scale, SoftmaxStatistics how, float delta, float factor);

  /// Turns half-split pairs: (a cos - b sin, a sin + b cos). With sign = -1 back.
  void (*turn_pairs)(float* x, const float* cosine, const float* sine, std::size_t pairs, float sign);

  float (*dot)(const float* a, const float* b, std::size_t count);
  void (*add)(float* to, const float* from, std::size_t count);

  /// @param keep what decay leaves of x
  void (*adamw)(float* x, const float* gradient, float* m, float* v, std::size_t count, float keep,
                const AdamWNumbers& numbers);
};

}  // namespace attn::fast
