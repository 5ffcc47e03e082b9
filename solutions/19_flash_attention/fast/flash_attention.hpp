#pragma once

#include <armadillo>

#include "attn/flash_attention.hpp"
#include "kernels.hpp"

namespace attn::fast {

/// As attn::flash_attention, with these kernels; query_block and key_block are checked, and otherwise not used.
FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options, const Kernels& kernels);

}  // namespace attn::fast
