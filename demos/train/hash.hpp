#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace attn::training {

/// FNV-1a with 64 bits (Fowler, Noll, Vo 1991): tells whether bytes have changed, unless somebody means to deceive.
class Hash {
 public:
  Hash& add(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001B3;
    return *this;
  }
  Hash& add(const std::string& text) { return add(text.data(), text.size()); }

  /// 16 hexadecimal digits.
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value_));
    return digits;
  }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace attn::training
