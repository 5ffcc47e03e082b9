#pragma once

#include <armadillo>

namespace attn {

/// Backward pass of weights = softmax of each row of scores. Builds no Jacobian: each row takes S multiplications and
/// additions, not S^2 (Dao et al. 2022, FlashAttention, appendix B.2).
///
///   d_scores = weights ∘ (d_weights - rowsum(d_weights ∘ weights))
///
/// A row of zeros, the weights of a query that may attend to no key, becomes zeros; so does each weight of 0.
///
/// @param weights   (L x S x N), what the softmax gave
/// @param d_weights (L x S x N): how much the loss changes per change of each weight
/// @return          (L x S x N): how much the loss changes per change of each score
/// @throws std::invalid_argument naming weights, when a size is zero, or d_weights, its shape and what was expected.
arma::cube softmax_backward(const arma::cube& weights, const arma::cube& d_weights);

}  // namespace attn
