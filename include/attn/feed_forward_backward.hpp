#pragma once

#include <armadillo>

#include "attn/feed_forward.hpp"
#include "attn/linear_backward.hpp"

namespace attn {

/// The gradients of a feed-forward network's parameters.
struct FeedForwardGradients {
  LinearGradients gate_proj;  ///< empty for FeedForward, which has no gate
  LinearGradients up_proj;
  LinearGradients down_proj;
};

/// What the forward pass of a feed-forward network keeps for the backward pass.
struct KeptFeedForward {
  arma::cube X;     ///< (L x E x B), the input
  arma::cube gate;  ///< (L x F x B), X through gate_proj, before silu; empty for FeedForward
  arma::cube up;    ///< (L x F x B), X through up_proj; for FeedForward before the activation
};

/// What the forward pass gives.
struct FeedForwardForward {
  arma::cube output;  ///< (L x E x B)
  KeptFeedForward kept;
};

/// What the backward pass gives.
struct FeedForwardBackward {
  arma::cube d_X;  ///< (L x E x B)
  FeedForwardGradients d_layer;
};

/// What lesson 20's FeedForward gives, and what its backward pass needs.
///
/// @param X (L x E x B)
/// @throws std::invalid_argument naming X, its shape and what was expected.
FeedForwardForward feed_forward_forward(const FeedForward& layer, const arma::cube& X);

/// Backward pass of feed_forward_forward: down_proj, activation, up_proj. What the activation gave is computed again.
///
/// @param d_output (L x E x B): how much the loss changes per change of each number of the output
/// @param kept     what feed_forward_forward kept
/// @throws std::invalid_argument naming d_output, its shape and what was expected.
FeedForwardBackward feed_forward_backward(const FeedForward& layer, const arma::cube& d_output,
                                          const KeptFeedForward& kept);

/// What lesson 20's SwiGLU gives, and what its backward pass needs.
///
/// @param X (L x E x B)
/// @throws std::invalid_argument naming X, its shape and what was expected.
FeedForwardForward swiglu_forward(const SwiGLU& layer, const arma::cube& X);

/// Backward pass of swiglu_forward: down_proj, the product silu(gate) ∘ up, then both projections of X. The product is
/// computed again.
///
/// @param d_output (L x E x B): how much the loss changes per change of each number of the output
/// @param kept     what swiglu_forward kept
/// @throws std::invalid_argument naming d_output, its shape and what was expected.
FeedForwardBackward swiglu_backward(const SwiGLU& layer, const arma::cube& d_output, const KeptFeedForward& kept);

}  // namespace attn
