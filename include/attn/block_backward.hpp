#pragma once

#include <armadillo>
#include <variant>

#include "attn/feed_forward_backward.hpp"
#include "attn/language_model.hpp"
#include "attn/mask.hpp"
#include "attn/multi_head_backward.hpp"
#include "attn/norm_backward.hpp"

namespace attn {

/// The gradients of a block's parameters.
struct BlockGradients {
  NormGradients attention_norm;
  MultiHeadGradients attention;
  NormGradients feed_forward_norm;
  FeedForwardGradients feed_forward;
};

/// What the forward pass of a block keeps for the backward pass. Each norm needs only what went into it.
struct KeptBlock {
  arma::cube X;                  ///< (L x E x B), the input
  KeptMultiHead attention;       ///< its X is attention_norm(X)
  arma::cube h;                  ///< (L x E x B), the stream between the two branches
  KeptFeedForward feed_forward;  ///< its X is feed_forward_norm(h)
};

/// What the forward pass of a block gives.
struct BlockForward {
  arma::cube output;  ///< (L x E x B)
  KeptBlock kept;
};

/// What block_backward gives.
struct BlockBackward {
  arma::cube d_X;  ///< (L x E x B)
  BlockGradients d_layer;
};

/// The backward pass of the norm that a variant holds.
inline NormBackward norm_backward(const AnyNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  if (const auto* layer = std::get_if<LayerNorm>(&norm)) return layer_norm_backward(*layer, X, d_Y);
  return rms_norm_backward(std::get<RMSNorm>(norm), X, d_Y);
}

/// The forward pass, one that keeps, of the feed-forward network that a variant holds.
inline FeedForwardForward network_forward(const AnyFeedForward& network, const arma::cube& X) {
  if (const auto* layer = std::get_if<FeedForward>(&network)) return feed_forward_forward(*layer, X);
  return swiglu_forward(std::get<SwiGLU>(network), X);
}

/// The backward pass of the feed-forward network that a variant holds.
inline FeedForwardBackward network_backward(const AnyFeedForward& network, const arma::cube& d_output,
                                            const KeptFeedForward& kept) {
  if (const auto* layer = std::get_if<FeedForward>(&network)) return feed_forward_backward(*layer, d_output, kept);
  return swiglu_backward(std::get<SwiGLU>(network), d_output, kept);
}

/// What lesson 22's DecoderBlock does with whole sequences and an empty cache, and what its backward pass needs.
/// Leaves the block's cache alone.
///
///   h = X + attention(attention_norm(X)),     output = h + feed_forward(feed_forward_norm(h))
///
/// @param X    (L x E x B)
/// @param mask as in multi_head_forward: a causal mask and a window are given here
/// @throws std::invalid_argument naming X or mask, its shape and what was expected; qk_norm or soft_cap, when the
///         attention has it.
BlockForward block_forward(const DecoderBlock& block, const arma::cube& X, const Mask& mask = {});

/// Backward pass of block_forward, its steps in reverse. X and h are each used twice, by a branch and by the sum after it.
///
/// @param d_output (L x E x B): how much the loss changes per change of each number of the output
/// @param kept     what block_forward kept
/// @throws std::invalid_argument naming d_output, its shape and what was expected.
BlockBackward block_backward(const DecoderBlock& block, const arma::cube& d_output, const KeptBlock& kept);

}  // namespace attn
