#pragma once

#include <armadillo>

#include "attn/flash_attention.hpp"
#include "kernels.hpp"
#include "usable_kernels.hpp"

namespace attn::fast {

/// As attn::flash_attention, with these kernels; query_block and key_block are checked, and otherwise not used.
///
/// It computes in base 2: Q log2(e) / sqrt(D) and the scores times log2(e) must be finite, so scores from 2.3e38 on
/// overflow. A key whose exponential is below 2^-126.5 (a score 87.7 below the largest) adds nothing.
FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options, const Kernels& kernels = *usable_kernels().front());

}  // namespace attn::fast
