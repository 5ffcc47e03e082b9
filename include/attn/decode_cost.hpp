#pragma once

#include <armadillo>

namespace attn {

/// The sizes that decide what one decode of one attention layer costs.
struct DecodeSizes {
  arma::uword embed_dim;             ///< E = H·D
  arma::uword length;                ///< S: tokens of each sequence in the cache, the new one among them
  arma::uword batch_size = 1;        ///< B
  arma::uword bytes_per_number = 2;  ///< 8 for double, 4 for float, 2 for the 16 bits of most large models
};

/// All four functions throw std::invalid_argument naming the size that is zero, even one that they do not use. Every
/// count must be below 2^64: an implementation need not check that.

/// FLOPs of one decode, for the whole batch. A multiplication and an addition are two. This counts the four
/// projections, the scores and the mixing, but not the biases, the scaling and the softmax.
arma::uword decode_flops(const DecodeSizes& sizes);

/// Bytes of the keys and values that are stored: 2·B·S·E numbers. Capacity that is not used yet is not counted.
arma::uword cache_bytes(const DecodeSizes& sizes);

/// Bytes that one decode must read: the four weights, once for the whole batch, and the cache. Biases, and what is
/// as small as one token, are not counted.
arma::uword decode_bytes(const DecodeSizes& sizes);

/// decode_flops / decode_bytes (Pope et al. 2022, section 2, compare compute time with memory time).
double arithmetic_intensity(const DecodeSizes& sizes);

}  // namespace attn
