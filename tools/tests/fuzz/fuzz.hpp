#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

/// What the targets have in common. libFuzzer calls this function of theirs with inputs that it makes; replay.cpp, with those
/// of the corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace attn::fuzz {

inline std::string_view bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Reads what may be wrong: nothing is thrown but an std::invalid_argument, whose message is one short line that can be printed.
template <typename Read>
int read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    const bool has_control = std::any_of(message.begin(), message.end(), [](char c) { return c >= 0 && c < ' '; });
    if (message.empty() || message.size() > 700 || has_control) {
      std::fprintf(stderr, "not a message for a learner: %s\n", message.c_str());
      std::abort();
    }
  }
  return 0;
}

}  // namespace attn::fuzz
