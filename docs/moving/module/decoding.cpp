// Lessons 16 and 17: one token at a time, with a cache and a window.
#include "attn/decode_cost.hpp"
#include "attn/sliding_window.hpp"
#include "questions.hpp"

namespace attn::moving {

/// {"length": S, "window": w, "sinks": s, "embed_dim": E, "batch": B} -> the keys that token S - 1 attends to, and what
/// its decode costs with a cache of all tokens, and with one of these keys alone, in numbers of 16 bits
Json decoding(const Json& request) {
  const auto size = [&](const char* name) { return request.at(name).get<arma::uword>(); };
  const arma::uvec keys = window_keys(0, 1, size("length"), size("window"), size("sinks"));
  const auto cost = [&](arma::uword length) {
    const DecodeSizes sizes{size("embed_dim"), length, size("batch")};
    return Json{{"flops", decode_flops(sizes)},
                {"cache", cache_bytes(sizes)},
                {"read", decode_bytes(sizes)},
                {"intensity", arithmetic_intensity(sizes)}};
  };
  return {{"keys", keys}, {"all", cost(size("length"))}, {"window", cost(keys.n_elem)}};
}

}  // namespace attn::moving
