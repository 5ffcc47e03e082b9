#include "panels.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "units.hpp"

namespace attn::fast {

void AlignedFloats::reserve(std::size_t size) {
  if (size <= size_) return;
  if (size > ~std::size_t{0} / sizeof(float) - 64) throw std::bad_alloc();  // its bytes would wrap around
  floats_.reset();  // before the new ones are taken: memory would peak with both
  size_ = 0;
  void* memory = std::aligned_alloc(64, divided_up(size * sizeof(float), 64) * 64);
  if (memory == nullptr) throw std::bad_alloc();
  floats_.reset(static_cast<float*>(memory));
  size_ = size;
}

void copy_to_panel(const float* x, std::size_t n_rows, std::size_t n_cols, std::size_t rows, std::size_t R,
                   float factor, float* panel) {
  rows = std::min(rows, R);
  for (std::size_t c = 0; c < n_cols; ++c) {
    const float* from = x + c * n_rows;
    float* to = panel + c * R;
    for (std::size_t i = 0; i < rows; ++i) to[i] = from[i] * factor;
    std::fill(to + rows, to + R, 0.0f);
  }
}

}  // namespace attn::fast
