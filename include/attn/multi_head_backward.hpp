#pragma once

#include <armadillo>

#include "attn/attention_backward.hpp"
#include "attn/decoder_attention.hpp"
#include "attn/linear_backward.hpp"
#include "attn/mask.hpp"

namespace attn {

/// What the forward pass of a layer keeps for the backward pass.
struct KeptMultiHead {
  arma::cube X;             ///< (L x E x B), the input
  KeptAttention attention;  ///< of H·B slices: queries and keys after RoPE, keys and values once for each query head
  arma::cube merged;        ///< (L x H·D x B), what the output projection takes
};

/// What the forward pass of a layer gives.
struct MultiHeadForward {
  arma::cube output;  ///< (L x E x B)
  KeptMultiHead kept;
};

/// The gradients of a layer's parameters.
struct MultiHeadGradients {
  LinearGradients query_proj;
  LinearGradients key_proj;
  LinearGradients value_proj;
  LinearGradients output_proj;
};

/// What multi_head_backward gives.
struct MultiHeadBackward {
  arma::cube d_X;  ///< (L x E x B)
  MultiHeadGradients d_layer;
};

/// What lesson 21's layer does with whole sequences and an empty cache: projections, heads, RoPE at positions 0, 1, ...,
/// attention with H query heads that share G key/value heads, merge, output projection. Leaves the layer's cache alone.
///
/// @param X    (L x E x B)
/// @param mask (L x L x M), M a divisor of H·B, as in masked_fill; 0 = blocked; empty: nothing is blocked. A window of
///             the layer's configuration is not read: it belongs in the mask
/// @param keep (L x L x H·B), dropout's, as in attention_forward; empty: no dropout
/// @param p    dropout's probability, 0 <= p < 1
/// @throws std::invalid_argument naming X, mask, keep or p, what it was and what was expected; qk_norm or soft_cap, when
///         the layer has it.
MultiHeadForward multi_head_forward(const DecoderAttention& layer, const arma::cube& X, const Mask& mask = {},
                                    const Mask& keep = {}, double p = 0);

/// Backward pass of multi_head_forward: its steps in reverse.
///
/// @param d_output (L x E x B): how much the loss changes per change of each number of the output
/// @param kept     what multi_head_forward kept
/// @throws std::invalid_argument naming d_output, its shape and what was expected.
MultiHeadBackward multi_head_backward(const DecoderAttention& layer, const arma::cube& d_output,
                                      const KeptMultiHead& kept);

}  // namespace attn
