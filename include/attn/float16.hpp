#pragma once

#include <cstdint>

namespace attn {

/// The number that 16 bits mean as a float16, also called half: IEEE 754 binary16.
///
///   bit 15: sign   bits 14 to 10: exponent e   bits 9 to 0: fraction f
///
///   e = 0         (-1)^sign · f · 2^-24                     zeros and subnormal numbers
///   e = 1 to 30   (-1)^sign · (1 + f / 1024) · 2^(e - 15)
///   e = 31        infinity with the sign if f = 0, otherwise NaN
///
/// IEEE 754-2019, section 3.4; PyTorch's torch.float16.
double from_float16(std::uint16_t bits);

/// The number that 16 bits mean as a bfloat16: the upper half of a float32, whose exponent it shares.
///
///   bit 15: sign   bits 14 to 7: exponent e   bits 6 to 0: fraction f
///
///   e = 0          (-1)^sign · f · 2^-133
///   e = 1 to 254   (-1)^sign · (1 + f / 128) · 2^(e - 127)
///   e = 255        infinity with the sign if f = 0, otherwise NaN
///
/// PyTorch's torch.bfloat16.
double from_bfloat16(std::uint16_t bits);

}  // namespace attn
