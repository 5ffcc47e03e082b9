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

/// What files of recordings keep of a fingerprint. Of each mean, what is left over multiples of 2^24 units of 1e-9, moved by a
/// number that the shape gives; or 2^18 units in a short digest, which is enough for small tolerances. Two fingerprints that
/// differ by chance have equal digests with a probability of (2 t / 2^18)^2, if each mean may differ by t units: 5e-10 for
/// what double rounds. For a tolerance of 1e-3 it is 1e-4 with 2^24 units.
class Digest {
 public:
  Digest() = default;
  explicit Digest(const Fingerprint& print);

  /// The short one, unless numbers that may differ so much need the long one.
  Digest for_tolerance(double tolerance) const;

  /// Of words: what was thrown, say. Those of different words differ by much more than a tolerance.
  static Digest of(std::string_view words);

  /// @throws std::invalid_argument when the text is not six or eight digits in base 64.
  static Digest read(std::string_view text);

  std::string text() const;

  /// @param tolerance of the numbers, as in Fingerprint::equals
  bool equals(const Digest& other, double tolerance) const;

  bool operator<(const Digest& other) const { return residues_ < other.residues_; }

 private:
  explicit Digest(std::uint32_t modulus) : modulus_(modulus) {}
  static constexpr std::uint32_t short_modulus = 1U << 18, long_modulus = 1U << 24;

  std::uint32_t modulus_ = short_modulus;
  std::array<std::uint32_t, 2> residues_ = {0, 0};
};

/// A number in base 64, with so many digits.
std::string in_base_64(std::uint32_t number, int digits);

/// @throws std::invalid_argument when the text is not a number in base 64.
std::uint32_t from_base_64(std::string_view text);

}  // namespace attn::judge
