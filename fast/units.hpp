#pragma once

#include <cstddef>

/// How the work is cut into pieces. README.md has the table of all units, and the reasons for their sizes.
namespace attn::fast {

inline constexpr std::size_t panels_per_group = 4;   ///< what one task takes
inline constexpr std::size_t panels_per_chunk = 64;  ///< what is packed before it is projected
inline constexpr std::size_t keys_per_block = 256;   ///< what a panel of queries takes in at a time; a multiple of R

/// How many pieces of `piece` cover a whole: rounded up.
inline constexpr std::size_t divided_up(std::size_t whole, std::size_t piece) {
  return whole / piece + (whole % piece == 0 ? 0 : 1);
}

}  // namespace attn::fast
