#pragma once

#include <armadillo>

namespace attn {

/// Backward pass of weights = softmax of each row of scores. Needs the weights, not the scores, and builds no Jacobian:
/// the work of a row grows with S, not with S^2 (Dao et al. 2022, FlashAttention, appendix B.2).
///
/// Where a weight is 0, the gradient of its score is 0. So a query that may attend to no key gets a row of zeros.
///
/// @param weights   (L x S x N), what the softmax gave
/// @param d_weights (L x S x N): how much the loss changes per change of each weight
/// @return          (L x S x N): how much the loss changes per change of each score
/// @throws std::invalid_argument naming weights, when a size is zero, or d_weights, its shape and what was expected.
arma::cube softmax_backward(const arma::cube& weights, const arma::cube& d_weights);

}  // namespace attn
