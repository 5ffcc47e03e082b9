#pragma once

#include <armadillo>

#include "attn/linear.hpp"
#include "attn/linear_backward.hpp"

namespace attn {

/// Backward pass of one projection whose columns give queries, keys and values: [Q | K | V] = qkv_proj(X). The three
/// gradients side by side, in the same order, are the gradient of its result.
///
/// Equals three calls of linear_backward, of the three parts of qkv_proj: their d_X added up, the gradients of their
/// weights and biases side by side.
///
/// @param qkv_proj E -> H·D + G·D + G·D, as join_columns makes it of three projections
/// @param X        (L x E x B), what went into it
/// @param d_Q      (L x H·D x B): how much the loss changes per change of each number of Q, its heads merged
/// @param d_K      (L x G·D x B), likewise of K
/// @param d_V      (L x G·D x B), likewise of V
/// @throws std::invalid_argument naming X, d_Q, d_K or d_V, its shape and what was expected; d_Q, d_K and d_V, when
///         their columns together are not those of qkv_proj.
LinearBackward fused_qkv_backward(const Linear& qkv_proj, const arma::cube& X, const arma::cube& d_Q,
                                  const arma::cube& d_K, const arma::cube& d_V);

}  // namespace attn
