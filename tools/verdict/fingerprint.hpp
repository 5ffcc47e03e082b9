#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace attn::judge {

/// Tells results apart in spite of rounding: the shape, and two weighted means of asinh(x) over the numbers x, which is
/// nearly x itself below one and grows like log(2 x) above it. An error of the numbers, absolute below one and relative
/// above, is at most as large in the means.
struct Fingerprint {
  std::vector<std::size_t> sizes;
  std::array<double, 2> means = {0, 0};

  /// @param numbers as many as the sizes say
  static Fingerprint of(std::vector<std::size_t> sizes, const double* numbers);

  /// @param tolerance by how much the numbers may differ, relative to the expected ones, absolute below one
  bool equals(const Fingerprint& other, double tolerance) const;

  std::size_t count() const;  ///< how many numbers there are
  bool is_zero() const;       ///< whether all are 0
};

}  // namespace attn::judge
