#pragma once

#include <armadillo>
#include <functional>
#include <string>

namespace attn::judge {

/// Makes the inputs and the layer, and returns the code to be timed, which returns what it computed.
using SpeedSetUp = std::function<std::function<arma::cube()>()>;

/// Makes the measuring of what the program's ATTN_SPEED says its only check, if there is an ATTN_SPEED: "Speed.<what>",
/// whose result has the milliseconds of one run, the fastest. It runs under the supervisor's limits like any other, and
/// takes about 50 ms when the code is fast.
void measure_speed_instead();

/// What ATTN_SPEED does. Returns true.
bool register_speed(const char* what, SpeedSetUp set_up);

}  // namespace attn::judge

/// Says, once in a lesson's checks, which code is timed in the learner's files and in the reference. The reference
/// should take 0.5 to 5 ms without optimisation.
///
///     ATTN_SPEED("forward, 2 sequences of 64 tokens, E = 64", [] {
///       const arma::cube X(64, 64, 2, arma::fill::randn);
///       return [layer = SelfAttentionV1(64), X]() mutable { return layer.forward(X); };
///     });
#define ATTN_SPEED(what, ...) const bool speed_is_registered = ::attn::judge::register_speed(what, __VA_ARGS__)
