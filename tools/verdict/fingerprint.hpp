#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// What files of recordings keep of a fingerprint: six characters. Of each mean, what is left over multiples of 2^18 units
/// of 1e-9, moved by a number that the shape gives. Two fingerprints that differ by chance have equal digests with a
/// probability of (2 t / 2^18)^2, if each mean may differ by t units: 2e-10 for what double rounds, 6e-5 for a tolerance of 1e-5.
class Digest {
 public:
  Digest() = default;
  explicit Digest(const Fingerprint& print);

  /// Of words: what was thrown, say. Those of different words differ by much more than a tolerance.
  static Digest of(std::string_view words);

  /// @throws std::invalid_argument when the text is not six digits in base 64.
  static Digest read(std::string_view text);

  std::string text() const;

  /// @param tolerance of the numbers, as in Fingerprint::equals
  bool equals(const Digest& other, double tolerance) const;

  bool operator<(const Digest& other) const { return residues_ < other.residues_; }

 private:
  std::array<std::uint32_t, 2> residues_ = {0, 0};
};

/// A number in base 64, with so many digits.
std::string in_base_64(std::uint32_t number, int digits);

/// @throws std::invalid_argument when the text is not a number in base 64.
std::uint32_t from_base_64(std::string_view text);

}  // namespace attn::judge
