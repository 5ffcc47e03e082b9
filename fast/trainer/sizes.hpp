#pragma once

#include <cstddef>

#include "attn/language_model.hpp"
#include "units.hpp"

namespace attn::fast {

/// From one row to the next: an odd number of lines of the cache, so that the rows of a tile do not compete for places
/// in it.
inline constexpr std::size_t stride_of(std::size_t columns) { return ((columns + 15) / 16 | 1) * 16; }

/// A model's widths, and those of the rows in which the trainer stores activations.
struct ModelSizes {
  /// @param config  checked, with head_dim
  /// @param columns R, of a strip
  ModelSizes(const LanguageModelConfig& config, std::size_t columns)
      : R(columns),
        V(config.vocab_size),
        E(config.attention.embed_dim),
        H(config.attention.num_heads),
        G(config.attention.num_kv_heads),
        D(config.attention.head_dim),
        F(config.hidden_dim),
        gated(config.architecture != Architecture::gpt2),
        window(config.attention.window),
        norm_epsilon(static_cast<float>(config.norm_epsilon)),
        W((H + 2 * G) * D),
        U(gated ? 2 * F : F),
        row_E(stride_of(E)),
        row_C(stride_of(H * D)),
        row_F(stride_of(F)),
        row_U(stride_of(U)),
        row_W(stride_of(W)),
        row_V(stride_of(divided_up(V, R) * R)) {}

  std::size_t R, V, E, H, G, D, F;
  bool gated;  ///< Llama's architecture: SwiGLU, and RoPE
  std::size_t window;
  float norm_epsilon;
  std::size_t W, U;                                      ///< (H + 2 G) D, and F or 2 F
  std::size_t row_E, row_C, row_F, row_U, row_W, row_V;  ///< from one row of E, H D, F, U, W, V columns to the next
};

}  // namespace attn::fast
