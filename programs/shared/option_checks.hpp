#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

/// Checks of command lines that CLI11 does not have in words for a reader.
namespace attn {

/// An integer of at least 0: CLI11's NonNegativeNumber shows the largest double, 309 digits.
inline CLI::Validator is_count() {
  const auto wrong = [](const std::string& text) {
    std::uint64_t value = 0;
    const bool right = text.find('-') == std::string::npos && CLI::detail::lexical_cast(text, value);
    return right ? "" : "it is " + text + ", expected an integer of at least 0, and below 2^64";
  };
  return CLI::Validator(wrong, "");
}

}  // namespace attn
