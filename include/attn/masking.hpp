#pragma once

#include <armadillo>

#include "attn/mask.hpp"

namespace attn {

/// Scores with `value` wherever the mask is 0.
///
/// The mask may have fewer slices than the scores: with M of them, each is for N / M neighbouring slices. So
/// one slice is shared by all, and B slices serve the H·B slices of many heads, each of them H.
///
/// @param scores (L x S x N)
/// @param mask   (L x S x M), M a divisor of N; empty: nothing is blocked
/// @return       (L x S x N)
/// @throws std::invalid_argument naming mask, its shape and the shape of scores, when they do not fit.
arma::cube masked_fill(const arma::cube& scores, const Mask& mask, double value);

/// Blocks padding: in slice b, every query may attend to the first lengths(b) keys and to no other.
///
/// @param lengths one number per sequence, each at most S; 0 means that it is all padding
/// @return        (L x S x B), B = number of lengths
/// @throws std::invalid_argument naming lengths, L or S, when lengths is empty or one is above S, or L or S is zero.
Mask padding_mask(const arma::uvec& lengths, arma::uword L, arma::uword S);

/// Blocks the future: query i may attend to key j when j <= i + S - L. The last query sees all keys, as it must when
/// the first S - L keys come from earlier calls (PyTorch's torch.nn.attention.bias.causal_lower_right).
///
/// @return (L x S x 1)
/// @throws std::invalid_argument naming L or S, when one is zero.
Mask causal_mask(arma::uword L, arma::uword S);

/// May attend where both masks allow it. One of them may have a single slice, which then serves all slices of the
/// other; an empty one blocks nothing.
///
/// @param a, b (L x S x M) and (L x S x M), or one of them (L x S x 1)
/// @return     (L x S x M); empty when both are
/// @throws std::invalid_argument naming b and both shapes, when they do not fit.
Mask combine_masks(const Mask& a, const Mask& b);

/// softmax_rows for scores that hold -inf: those weights are 0. A row that holds nothing else becomes zeros, not NaN: a
/// query that may attend to no key takes nothing.
///
/// @param scores (L x S x N)
/// @return       (L x S x N), rows sum to one or are all zero
/// @throws std::invalid_argument when a size is zero.
arma::cube safe_softmax_rows(const arma::cube& scores);

/// softmax(Q K^T / sqrt(D)) V, where blocked scores count as -inf (Vaswani et al. 2017, sections 3.2.1 and 3.2.3).
///
/// @param Q    (L x D x N)
/// @param K    (S x D x N)
/// @param V    (S x Dv x N)
/// @param mask (L x S x M), M a divisor of N, as in masked_fill; empty: nothing is blocked
/// @return     (L x Dv x N); zeros for a query that may attend to no key. NaN or infinity in the value of a blocked key
///             makes it NaN, as 0 * NaN is NaN
/// @throws std::invalid_argument naming Q, K, V or mask, its shape and what was expected.
arma::cube scaled_dot_product_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V,
                                        const Mask& mask = {});

}  // namespace attn
