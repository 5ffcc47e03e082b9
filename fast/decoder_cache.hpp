#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels.hpp"
#include "panels.hpp"
#include "stream.hpp"
#include "units.hpp"

namespace attn::fast {

/// The upper half of a float32, rounded to the nearest; to the even one where two are as near. NaN stays NaN.
inline std::uint16_t to_bfloat16(float number) {
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  if (number != number) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// Keys and values of all layers, as float32 or bfloat16, in panels: what flash attention reads, and what a single
/// query can stream. Memory is taken for `capacity` tokens, but a page of it only when a token comes to it.
class DecoderCache {
 public:
  /// @param heads    G
  /// @param head_dim D
  /// @param R        tokens in a panel
  DecoderCache(std::size_t layers, std::size_t heads, std::size_t head_dim, std::size_t capacity, std::size_t R,
               Number type)
      : heads_(heads),
        D_(head_dim),
        R_(R),
        type_(type),
        number_(type == Number::float32 ? 4 : 2),
        per_head_(divided_up(capacity, R) * panel()),
        parts_(2 * layers * heads) {
    floats_.reserve(divided_up(parts_ * per_head_ * number_, sizeof(float)));
  }

  /// The first number of a head's keys or values.
  char* keys(std::size_t layer, std::size_t head) { return part(2 * layer * heads_ + head); }
  char* values(std::size_t layer, std::size_t head) { return part((2 * layer + 1) * heads_ + head); }

  /// Puts a key or a value, D numbers that are `between` floats apart, at a token's place. The first token of a panel
  /// clears the places after it, so that there is never a NaN.
  void put(char* head, std::size_t token, const float* numbers, std::size_t between) {
    char* to = head + token / R_ * panel() * number_;
    if (token % R_ == 0) std::fill_n(to, panel() * number_, char{0});
    to += token % R_ * number_;
    if (type_ == Number::float32) {
      auto* column = reinterpret_cast<float*>(to);
      for (std::size_t d = 0; d < D_; ++d) column[d * R_] = numbers[d * between];
    } else {
      auto* column = reinterpret_cast<std::uint16_t*>(to);
      for (std::size_t d = 0; d < D_; ++d) column[d * R_] = to_bfloat16(numbers[d * between]);
    }
  }

  /// Clears what is after so many tokens in the last panel.
  void forget_after(std::size_t tokens) {
    if (tokens % R_ == 0) return;
    for (std::size_t i = 0; i < parts_ * D_; ++i) {
      char* column = part(i / D_) + (tokens / R_ * panel() + i % D_ * R_) * number_;
      std::fill(column + tokens % R_ * number_, column + R_ * number_, char{0});
    }
  }

  CachedHead at(std::size_t layer, std::size_t head, std::size_t length) {
    return {keys(layer, head), values(layer, head), type_, length};
  }

  /// Floats that panels() needs for its copies of that many tokens' keys or values.
  std::size_t copied(std::size_t tokens) const {
    return type_ == Number::float32 ? 0 : divided_up(tokens, R_) * panel();
  }

  /// The panels of a head's keys or values as float32: where they are, or a copy.
  /// @param copy of copied(tokens) floats
  ConstPanels panels(const char* head, std::size_t tokens, const Kernels& kernels, float* copy) const {
    if (type_ == Number::float32) return {reinterpret_cast<const float*>(head), panel()};
    kernels.stream.widen(head, copied(tokens), copy);
    return {copy, panel()};
  }

 private:
  std::size_t panel() const { return D_ * R_; }  // numbers
  char* part(std::size_t number) { return reinterpret_cast<char*>(floats_.data()) + number * per_head_ * number_; }

  std::size_t heads_, D_, R_;
  Number type_;
  std::size_t number_;    // bytes of one
  std::size_t per_head_;  // numbers
  std::size_t parts_;     // keys or values of one head of one layer
  AlignedFloats floats_;
};

}  // namespace attn::fast
