#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "kernels.hpp"

namespace attn::fast {

/// Floats at an address that is a multiple of 64. They are not initialised.
class AlignedFloats {
 public:
  /// Makes room for at least `size` floats; their values are lost when it grows.
  /// @throws std::bad_alloc
  void reserve(std::size_t size);

  float* data() const { return floats_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* floats) const { std::free(floats); }
  };
  std::unique_ptr<float[], Free> floats_;
  std::size_t size_ = 0;
};

/// Copies up to R rows of a matrix into a panel, times a factor. The panel's other rows become 0.
///
/// @param x      the element of the matrix that becomes the panel's first; column-major
/// @param n_rows the rows of the matrix
/// @param rows   how many rows to copy; above R it counts as R
void copy_to_panel(const float* x, std::size_t n_rows, std::size_t n_cols, std::size_t rows, std::size_t R,
                   float factor, float* panel);

}  // namespace attn::fast
