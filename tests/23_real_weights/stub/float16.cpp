#include "attn/float16.hpp"

#include "attn/todo.hpp"

namespace attn {

double from_float16(std::uint16_t bits) {
  // TODO(23.1): take the sign, the exponent and the fraction out of the bits, and compute the number that they mean. Think of
  // subnormal numbers, infinity and NaN.
  todo("23.1");
}

double from_bfloat16(std::uint16_t bits) {
  // The second part of 23.1: another number of bits for the exponent, and the same rule.
  todo("23.1");
}

}  // namespace attn
