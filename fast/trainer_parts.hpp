#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "panels.hpp"
#include "team.hpp"
#include "trainer.hpp"
#include "trainer_parameters.hpp"

namespace attn::fast {

inline constexpr std::size_t tokens_per_block = 96;    ///< about as many rows go through a layer together
inline constexpr std::size_t tokens_per_strip = 256;   ///< of a product over all tokens, what is copied at a time
inline constexpr std::size_t rows_per_gradient = 192;  ///< of a weight's gradient, what is one task
inline constexpr std::size_t strips_per_gradient = 4;  ///< likewise: for them the inputs stay in the second cache
inline constexpr std::size_t queries_per_block = 32;   ///< whose scores are kept at the same time

inline constexpr std::size_t numbers_per_task = 1 << 14;  ///< where a task is the same for all parameters

/// About as many tokens go forward and backward together. What is kept of a narrow model then fits into the caches; the
/// gradients of a wide one are read less often.
inline constexpr std::size_t tokens_per_pass(std::size_t E) { return E < 256 ? 512 : 1024; }

/// From one row to the next: an odd number of lines of the cache, so that the rows of a tile do not compete for places
/// in it.
inline constexpr std::size_t stride_of(std::size_t columns) { return ((columns + 15) / 16 | 1) * 16; }

/// Its members are in rows: T tokens, one sequence after the other, T = B · L.
struct Trainer::Parts {
  using size_t = std::size_t;

  Parts(const LanguageModelConfig& config, size_t threads, const Kernels& kernels);

  /// A matrix turned: (columns x rows) in strips.
  struct Turned {
    AlignedFloats numbers;
    Strips strips(size_t rows, size_t width) const { return {numbers.data(), rows * width, width}; }  // width: R
  };

  /// What the backward pass needs of a layer.
  struct KeptLayer {
    AlignedFloats qkv;      ///< (T x W), turned by RoPE; their gradients in the end
    AlignedFloats context;  ///< (T x H D)
    AlignedFloats h;        ///< (T x E), the stream after attention
    AlignedFloats up;       ///< (T x U); their activations in the end
    std::vector<RowStatistics> attention_norm, feed_forward_norm;  ///< T
    std::vector<SoftmaxStatistics> softmax;                        ///< (B x H x L)
    Turned qkv_turned, output_turned, up_turned, down_turned;      ///< its weights
  };

  /// What one thread needs for itself.
  struct Own {
    AlignedFloats normalized;        ///< (block x E)
    AlignedFloats hidden;            ///< (block x F)
    AlignedFloats strip;             ///< (tokens_per_strip x R)
    AlignedFloats scores, d_scores;  ///< (queries_per_block x score_stride)
    AlignedFloats keys, values;      ///< (D x L) in strips
    AlignedFloats d_keys, d_values;  ///< (L x D)
  };

  /// Kinds of tasks that threads share out among themselves: task(own, i) for i = 0 to count - 1.
  struct Tasks {
    struct Kind {
      size_t count;
      std::function<void(Own&, size_t)> task;
    };
    std::vector<Kind> kinds;
  };

  // trainer.cpp
  void check(const Batch& batch) const;
  double run(const std::vector<Batch>& batches, bool backward);
  void prepare();
  void share_out(size_t thread, const Tasks& tasks);
  template <class Each>
  void for_blocks(size_t thread, Each each) {  // each(own, block, first row, rows)
    team.share_out(thread, blocks, [&](size_t block) {
      const size_t first = block * rows_per_block;
      if (first < T) each(owns[thread], block, first, std::min(rows_per_block, T - first));
    });
  }
  Strips strips_of(const Place& weight) const { return {parameters.value(weight), weight.rows * R, R}; }
  arma::uword at(const arma::umat& of_batch, size_t token) const {
    return of_batch(token % L, first_sequence + token / L);
  }
  size_t first_block_of(size_t half) const { return blocks * half / halves; }
  size_t first_token_of(size_t half) const { return std::min(T, first_block_of(half) * rows_per_block); }
  float* partial(size_t norm, size_t block) const { return partials.data() + (norm * blocks + block) * 2 * E; }

  // trainer_forward.cpp
  void find_angles(size_t tokens);
  void turn_weights();
  void forward(size_t thread);
  void embed(size_t first, size_t rows);
  void before_attention(Own& own, size_t n, size_t first, size_t rows);
  void after_attention(Own& own, size_t n, size_t first, size_t rows);
  void finish(Own& own, size_t block, size_t first, size_t rows);
  double lose(float* logits, size_t token) const;

  // trainer_attention.cpp
  struct Seen;
  Seen seen_by(size_t first) const;
  void attend(Own& own, KeptLayer& layer, size_t b, size_t h);
  void attend_backward(Own& own, KeptLayer& layer, size_t b, size_t g);
  void turn_rows(float* rows, size_t count, size_t first, float sign) const;

  // trainer_backward.cpp
  void backward(size_t thread);
  void before_attention_backward(Own& own, size_t n, size_t block, size_t first, size_t rows);
  void after_attention_backward(Own& own, size_t n, size_t block, size_t first, size_t rows);

  // trainer_gradients.cpp: sums over the tokens
  /// A matrix of activations or their gradients, in rows.
  struct Activations {
    const AlignedFloats& numbers;
    size_t row;
  };
  void add_gradients(Tasks& tasks, const LinearPlaces& linear, Activations inputs, Activations d_outputs);
  void add_gradients(Tasks& tasks, const NormPlaces& norm, size_t partial);
  void add_strips(Own& own, const LinearPlaces& linear, Activations inputs, Activations d_outputs, size_t half,
                  size_t first_column, size_t first_row);
  void add_embeddings(Tasks& tasks);
  void add_halves();

  // trainer_update.cpp
  double gradient_norm();
  void update(double norm, double learning_rate, const TrainingConfig& config);

  const LanguageModelConfig config;
  const Kernels& kernels;
  const size_t R, V, E, H, G, D, F;
  const bool gated;
  const size_t W, U;                                      ///< (H + 2 G) D, and F or 2 F
  const size_t row_E, row_C, row_F, row_U, row_W, row_V;  ///< from one row of E, H D, F, U, W, V columns to the next
  TrainerParameters parameters;
  arma::uword steps = 0;

  // of the pass that runs: the B sequences of a batch from `first_sequence` on
  const Batch* batch = nullptr;
  size_t first_sequence = 0;
  size_t B = 0, L = 0, T = 0, blocks = 0, rows_per_block = 0, score_stride = 0;
  float share = 0;          ///< of the loss: 1 / targets that count
  bool first_pass = false;  ///< the gradients of a later one are added
  bool with_backward = false;

  std::vector<KeptLayer> layers;
  std::vector<AlignedFloats> streams;      ///< (T x E), before each layer and after the last
  AlignedFloats logits;                    ///< (T x V, filled up to a multiple of R), then their gradients
  AlignedFloats final_normalized;          ///< (T x E)
  std::vector<RowStatistics> final_norm;   ///< T
  AlignedFloats d_stream, d_h, d_context;  ///< (T x E), (T x E), (T x H D)
  AlignedFloats d_up;                      ///< (T x U)
  AlignedFloats normalized, normalized_h;  ///< (T x E), what qkv and up were computed from
  AlignedFloats partials;                  ///< of the gradients of two norms: (2 x blocks x 2 E)
  Turned head;
  std::vector<double> losses;         ///< of each block
  std::vector<float> cosines, sines;  ///< (L x D/2); empty for gpt2

  std::vector<Own> owns;
  Team team;
};

}  // namespace attn::fast
