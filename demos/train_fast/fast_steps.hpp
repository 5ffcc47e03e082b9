#pragma once

#include "steps.hpp"

namespace attn::training {

/// Steps of attn::fast::Trainer, in single precision. Bit for bit the same however often a training is stopped and
/// gone on with.
std::unique_ptr<Steps> fast_steps(Training& training);

}  // namespace attn::training
