#pragma once

#include <armadillo>
#include <vector>

#include "attn/language_model.hpp"
#include "decoder_cache.hpp"
#include "decoder_weights.hpp"
#include "kernels.hpp"
#include "query_group.hpp"
#include "tasks.hpp"
#include "team.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {

/// Of which of the new tokens the logits are asked for.
enum class Logits { last, all };

/// The most tokens that are taken in rows, and in panels, at a time.
inline constexpr std::size_t tokens_per_step = 16, tokens_per_prefill = 512;

/// In prefill, what of the weights a thread takes at a time: they stay in its cache for all panels.
inline constexpr std::size_t tiles_together = 8, inputs_together = 256;

/// As many as OpenMP has.
std::size_t usual_threads();

/// Lesson 22's LanguageModel for one sequence, in float32. Weights are float32 or bfloat16, and are read where they
/// are: once for up to 16 new tokens.
///
/// Besides the weights it takes the cache (capacity · N · 2 · G · D numbers) and some working memory.
class Decoder {
 public:
  /// @param config   without window, soft_cap and interleaved pairs
  /// @param tensors  float32 or bfloat16; what they point to has to live as long as the decoder
  /// @param capacity the most tokens that it will take
  /// @param threads  at least 1
  /// @param cached   how keys and values are kept. With bfloat16 each of their numbers is rounded, by 2^-9 of itself at
  ///                 most, as in a PyTorch model in bfloat16
  /// @throws std::invalid_argument naming the field of config, the tensor, capacity or threads, and what was expected.
  /// @throws std::bad_alloc
  Decoder(const LanguageModelConfig& config, const Tensors& tensors, std::size_t capacity,
          std::size_t threads = usual_threads(), const Kernels& kernels = *usable_kernels().front(),
          Number cached = Number::float32);

  /// Takes any number of new tokens: a prompt, a part of it, the next token.
  ///
  /// @param ids (L)
  /// @return    the logits after the last token (1 x V), or after each (L x V); valid until the next call
  /// @throws std::invalid_argument naming ids, when it is empty or an id is not below V; or capacity, when they are too
  ///         many. The cache is then as it was before.
  const arma::fmat& extend(const arma::uvec& ids, Logits logits = Logits::last);

  /// Forgets all tokens but the first `length`, which must not be above length().
  void reset(std::size_t length = 0);

  /// How many tokens were taken.
  std::size_t length() const { return length_; }

  std::size_t capacity() const { return capacity_; }

 private:
  /// What one thread needs for itself.
  struct Own {
    AlignedFloats normalized;  // up to tokens_per_step rows
    AlignedFloats scratch;     // of attention, and packed weights
    QueryGroup queries;
    std::vector<float> head;  // D
  };

  // decoder.cpp
  void reserve(std::size_t rows, bool in_rows);
  std::size_t place(std::size_t token, bool in_rows) const;
  void embed(const arma::uword* ids, std::size_t L, bool in_rows);
  void find_angles(std::size_t L);
  void turn(const Norm& norm, std::size_t l, float* head) const;
  void compute_logits(std::size_t first, std::size_t L, bool in_rows, float* result);
  Range share(std::size_t outputs, std::size_t thread) const;

  // decoder_step.cpp: up to tokens_per_step tokens, in rows
  void step(std::size_t thread, std::size_t L);
  ConstRows normalize_rows(const Norm& norm, ConstRows x, std::size_t L, Own& own) const;
  void multiply_rows(const Projection& projection, Range outputs, ConstRows x, std::size_t L, Rows result) const;
  void add_bias(const Projection& projection, Range outputs, float* result) const;
  void multiply(const Projection& projection, std::size_t thread, ConstRows x, std::size_t L, Rows result);
  void multiply_qkv(const LayerWeights& layer, std::size_t thread, ConstRows x, std::size_t L);
  void add_to_x(const Projection& projection, std::size_t thread, ConstRows x, std::size_t L);
  void feed_forward(const LayerWeights& layer, std::size_t thread, ConstRows x, std::size_t L);
  void attend_rows(std::size_t layer, std::size_t kv_head, std::size_t L, Own& own);

  // decoder_prefill.cpp: many tokens, in panels
  void prefill(std::size_t thread, std::size_t L);
  void clear(Panels result, std::size_t panels, Range columns) const;
  void normalize_panel(const Norm& norm, const float* x, float* result) const;
  void add_product(const Projection& projection, Range outputs, ConstPanels x, std::size_t panels, Panels result,
                   Own& own) const;
  void feed_forward_panels(const LayerWeights& layer, Range outputs, std::size_t panels, Own& own);
  void attend_panels(std::size_t layer, std::size_t kv_head, std::size_t L, Own& own);

  LanguageModelConfig config_;
  DecoderWeights weights_;
  const Kernels& kernels_;
  std::size_t E_, H_, G_, D_, F_, R_, W_;  // W is (H + 2G)·D
  std::size_t capacity_, length_ = 0;
  std::vector<double> speeds_;  // (D/2), of RoPE; empty: none
  DecoderCache cache_;
  Team team_;
  std::vector<Own> own_;  // of each thread

  // The new tokens: rows, or panels in prefill.
  AlignedFloats x_;           // E
  AlignedFloats normalized_;  // E
  AlignedFloats qkv_;         // W: queries, keys, values; each head's context takes its queries' place
  AlignedFloats hidden_;      // 2F: gate or gpt2's only part, and up
  AlignedFloats parts_;       // of a Conv1D's result: each thread's sums over its inputs
  AlignedFloats angles_;      // D: a cosine and a sine for each pair
  arma::fmat logits_;
};

}  // namespace attn::fast
