#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels.hpp"
#include "panels.hpp"

/// The trainer's arrays have R more floats than they need: the kernels may read them.
namespace attn::fast {

inline void reserve(AlignedFloats& array, std::size_t size) { array.reserve(size + max_rows); }

inline AlignedFloats zeros(std::size_t size) {
  AlignedFloats array;
  reserve(array, size);
  std::fill_n(array.data(), size + max_rows, 0.0f);
  return array;
}

}  // namespace attn::fast
