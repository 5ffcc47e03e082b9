#include "attn/float16.hpp"

#include <cmath>
#include <limits>

namespace attn {

namespace {

/// IEEE 754's rule for any split of 16 bits into a sign, an exponent and a fraction.
double from_bits(unsigned bits, int fraction_bits, int bias) {
  const unsigned all_ones = (0x7FFFU >> fraction_bits);
  const unsigned exponent = (bits & 0x7FFFU) >> fraction_bits;
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const double sign = (bits & 0x8000U) == 0 ? 1 : -1;
  if (exponent == all_ones) {
    if (fraction != 0) return std::numeric_limits<double>::quiet_NaN();
    return sign * std::numeric_limits<double>::infinity();
  }
  // A subnormal number has no leading one, and the exponent of the smallest normal numbers.
  const unsigned digits = exponent == 0 ? fraction : fraction | (1U << fraction_bits);
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - fraction_bits;
  return sign * std::ldexp(digits, power);
}

}  // namespace

double from_float16(std::uint16_t bits) {
  const int fraction_bits = 10, bias = 15;
  return from_bits(bits, fraction_bits, bias);
}

double from_bfloat16(std::uint16_t bits) {
  const int fraction_bits = 7, bias = 127;
  return from_bits(bits, fraction_bits, bias);
}

}  // namespace attn
