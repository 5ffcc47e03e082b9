#pragma once

#include <algorithm>
#include <cstddef>

#include "panels.hpp"
#include "stream.hpp"
#include "units.hpp"

namespace attn::fast {

/// Keys and values of all layers, in panels: what flash attention reads, and what a single query can stream. Memory is
/// taken for `capacity` tokens, but a page of it only when a token comes to it.
class DecoderCache {
 public:
  /// @param heads    G
  /// @param head_dim D
  /// @param R        tokens in a panel
  DecoderCache(std::size_t layers, std::size_t heads, std::size_t head_dim, std::size_t capacity, std::size_t R)
      : heads_(heads),
        D_(head_dim),
        R_(R),
        per_head_(divided_up(capacity, R) * head_dim * R),
        parts_(2 * layers * heads) {
    floats_.reserve(parts_ * per_head_);
  }

  std::size_t panel() const { return D_ * R_; }  ///< floats

  float* keys(std::size_t layer, std::size_t head) { return floats_.data() + (2 * layer * heads_ + head) * per_head_; }
  float* values(std::size_t layer, std::size_t head) { return keys(layer, head) + heads_ * per_head_; }

  /// Puts a key or a value, D numbers that are `between` floats apart, at a token's place. The first token of a panel
  /// clears the places after it, so that there is never a NaN.
  void put(float* head, std::size_t token, const float* numbers, std::size_t between) {
    float* to = head + token / R_ * panel() + token % R_;
    if (token % R_ == 0) std::fill_n(to, panel(), 0.0f);
    for (std::size_t d = 0; d < D_; ++d) to[d * R_] = numbers[d * between];
  }

  /// Clears what is after so many tokens in the last panel.
  void forget_after(std::size_t tokens) {
    if (tokens % R_ == 0) return;
    for (std::size_t i = 0; i < parts_ * D_; ++i) {
      float* column = floats_.data() + i / D_ * per_head_ + tokens / R_ * panel() + i % D_ * R_;
      std::fill(column + tokens % R_, column + R_, 0.0f);
    }
  }

 private:
  std::size_t heads_, D_, R_, per_head_, parts_;  // parts: keys or values of one head of one layer
  AlignedFloats floats_;
};

}  // namespace attn::fast
