#include "verdict/fingerprint.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace attn::judge {

namespace {

/// Pseudo-random in [-1, 1], the same everywhere (splitmix64).
double weight_of(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>(z >> 11) / static_cast<double>(1ULL << 52) - 1;
}

/// Numbers that stand for those that cannot be added up.
double finite(double x) {
  if (std::isnan(x)) return 3.7;
  return std::isinf(x) ? (x > 0 ? 5.3 : -7.1) : x;
}

/// How far two means of equal results may be apart. Rounding errors of many numbers cancel, so that a tenth of what each may
/// have is plenty; recordings keep 1e-9.
double most_apart(double tolerance) { return std::max(2e-9, tolerance / 10); }

constexpr double units_per_one = 1e9;  ///< of a digest
constexpr std::string_view digits_of_64 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// FNV-1a.
template <typename Values>
std::uint64_t hash_of(const Values& values) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const auto value : values) hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
  return hash ^ (hash >> 32);
}

}  // namespace

Fingerprint Fingerprint::of(std::vector<std::size_t> sizes, const double* numbers) {
  Fingerprint print;
  print.sizes = std::move(sizes);
  const std::size_t count = print.count();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = std::asinh(finite(numbers[i])) / static_cast<double>(count);
    print.means[0] += value * weight_of(2 * i);
    print.means[1] += value * weight_of(2 * i + 1);
  }
  return print;
}

bool Fingerprint::equals(const Fingerprint& other, double tolerance) const {
  const double most = most_apart(tolerance);
  return sizes == other.sizes && std::abs(means[0] - other.means[0]) <= most &&
         std::abs(means[1] - other.means[1]) <= most;
}

std::size_t Fingerprint::count() const {
  std::size_t count = 1;
  for (const std::size_t size : sizes) count *= size;
  return count;
}

bool Fingerprint::is_zero() const { return equals({sizes, {0, 0}}, 0); }

Digest::Digest(const Fingerprint& print) : modulus_(long_modulus) {
  const std::uint64_t shape = hash_of(print.sizes);
  for (std::size_t i = 0; i < residues_.size(); ++i) {
    const auto units = static_cast<std::uint64_t>(std::llround(print.means[i] * units_per_one));  // wraps around
    residues_[i] = static_cast<std::uint32_t>((units + (shape >> (18 * i))) % modulus_);
  }
}

Digest Digest::for_tolerance(double tolerance) const {
  constexpr double small = 1e-6;
  if (tolerance > small) return *this;
  Digest digest(short_modulus);
  digest.residues_ = {residues_[0] % short_modulus, residues_[1] % short_modulus};
  return digest;
}

Digest Digest::of(std::string_view words) {
  const std::uint64_t hash = hash_of(words);
  Digest digest(short_modulus);
  digest.residues_ = {static_cast<std::uint32_t>(hash % short_modulus),
                      static_cast<std::uint32_t>((hash >> 18) % short_modulus)};
  return digest;
}

Digest Digest::read(std::string_view text) {
  constexpr std::size_t short_text = 6, long_text = 8;
  if (text.size() != short_text && text.size() != long_text) {
    throw std::invalid_argument("\"" + std::string(text) + "\" is not a digest");
  }
  Digest digest(text.size() == short_text ? short_modulus : long_modulus);
  digest.residues_ = {from_base_64(text.substr(0, text.size() / 2)), from_base_64(text.substr(text.size() / 2))};
  return digest;
}

std::string Digest::text() const {
  const int digits = modulus_ == short_modulus ? 3 : 4;
  return in_base_64(residues_[0], digits) + in_base_64(residues_[1], digits);
}

bool Digest::equals(const Digest& other, double tolerance) const {
  const std::uint32_t modulus = std::min(modulus_, other.modulus_);
  const auto most = static_cast<std::uint32_t>(std::min(most_apart(tolerance), 1e-3) * units_per_one) + 1;
  const auto near = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t apart = (a % modulus + modulus - b % modulus) % modulus;
    return std::min(apart, modulus - apart) <= most;
  };
  return near(residues_[0], other.residues_[0]) && near(residues_[1], other.residues_[1]);
}

std::string in_base_64(std::uint32_t number, int digits) {
  std::string text;
  for (int i = 0; i < digits; ++i, number /= 64) text.insert(text.begin(), digits_of_64[number % 64]);
  return text;
}

std::uint32_t from_base_64(std::string_view text) {
  std::uint32_t number = 0;
  for (const char digit : text) {
    const auto value = digits_of_64.find(digit);
    if (value == std::string_view::npos) throw std::invalid_argument("\"" + std::string(text) + "\" is not a number");
    number = 64 * number + static_cast<std::uint32_t>(value);
  }
  if (text.empty()) throw std::invalid_argument("a number is missing");
  return number;
}

}  // namespace attn::judge
