#pragma once

#include <armadillo>

#include "attn/mask.hpp"

namespace attn {

/// The keys that query i may attend to in a causal sliding window (Beltagy et al. 2020, section 3.1; Jiang et al. 2023,
/// section 2), with attention sinks (Xiao et al. 2023, section 3.2).
///
/// The queries are the last L of the S tokens, as in causal_mask: query i is at position p = i + S - L. It attends to
/// the `window` newest keys, its own among them (p - window < j <= p), and to the first `sinks` keys (j < sinks), but
/// to no key after its own position (j > p). Window and sinks may be larger than the text.
///
/// The keys are computed, not searched for: a long text takes no longer than a short one.
///
/// @return the numbers of the keys, ascending, each once; empty when query i is before the first key (p < 0)
/// @throws std::invalid_argument naming L, S or window, when one is zero; i, when it is not below L; or L + S, when that is
///         not below 2^64.
arma::uvec window_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword window, arma::uword sinks = 0);

/// The same as a mask: 1 where key j is among the keys of query i.
///
/// @return (L x S x 1)
/// @throws std::invalid_argument naming L, S or window, when one is zero.
Mask sliding_window_mask(arma::uword L, arma::uword S, arma::uword window, arma::uword sinks = 0);

/// scaled_dot_product_attention under that mask, at the cost of the window alone: scores are computed, and values
/// mixed, only where the mask is 1. So time grows with L * (window + sinks) and not with L * S. All that a call allocates
/// together is less than half of an L x S matrix, where the window is much shorter than the text.
///
/// @param Q (L x D x N)
/// @param K (S x D x N)
/// @param V (S x Dv x N)
/// @return  (L x Dv x N); zeros for a query that is before the first key
/// @throws std::invalid_argument naming Q, K, V or window, what it was and what was expected.
arma::cube sliding_window_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword window,
                                    arma::uword sinks = 0);

}  // namespace attn
