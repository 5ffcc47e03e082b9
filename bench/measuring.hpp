#pragma once

#include <armadillo>
#include <cstddef>
#include <functional>

namespace attn::bench {

/// The embedding width and the heads of every layer that is measured.
inline constexpr arma::uword embed_dim = 512, num_heads = 8;

/// Floating-point operations of a whole layer: four projections, and two products for the (query, key) pairs that may
/// attend to each other. The softmax is not counted, as usual.
double layer_flops(arma::uword B, arma::uword L, bool causal);

/// Seconds that a call takes.
double seconds(const std::function<void()>& call);

/// Floating-point operations per second of OpenBLAS's sgemm for 2048 x 2048 matrices, the fastest of 5.
double sgemm_rate(int threads);

/// Bytes by which the resident memory grew at its highest while `call` ran (Linux; elsewhere 0).
std::size_t peak_growth(const std::function<void()>& call);

}  // namespace attn::bench
