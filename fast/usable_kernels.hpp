#pragma once

#include <vector>

#include "kernels.hpp"

namespace attn::fast {

/// The kernels that this machine can run, the fastest first; the portable ones are always among them.
///
/// The environment variable ATTN_KERNELS (AVX-512, AVX2 or portable) leaves out those that are faster than the one it
/// names: to measure and to test the others.
///
/// @throws std::invalid_argument naming ATTN_KERNELS, when it is something else.
const std::vector<const Kernels*>& usable_kernels();

}  // namespace attn::fast
