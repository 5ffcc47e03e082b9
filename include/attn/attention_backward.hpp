#pragma once

#include <armadillo>

#include "attn/mask.hpp"

namespace attn {

/// What the forward pass of attention keeps for the backward pass. No mask: a blocked weight is 0, and blocks the
/// gradient of its score.
struct KeptAttention {
  arma::cube Q;        ///< (L x D x N)
  arma::cube K;        ///< (S x D x N)
  arma::cube V;        ///< (S x Dv x N)
  arma::cube weights;  ///< (L x S x N), after the softmax and before dropout
  Mask keep;           ///< (L x S x N), dropout's: 0 = dropped; empty: no dropout
  double p = 0;        ///< dropout's probability
};

/// What the forward pass gives.
struct AttentionForward {
  arma::cube context;  ///< (L x Dv x N)
  KeptAttention kept;
};

/// The gradients of the three inputs.
struct AttentionGradients {
  arma::cube d_Q;  ///< (L x D x N)
  arma::cube d_K;  ///< (S x D x N)
  arma::cube d_V;  ///< (S x Dv x N)
};

/// dropout(softmax(mask(Q K^T / sqrt(D)))) V, as lesson 03's scaled_dot_product_attention, and what its
/// backward pass needs. Dropout's mask is given, not drawn here.
///
/// @param Q    (L x D x N)
/// @param K    (S x D x N)
/// @param V    (S x Dv x N)
/// @param mask (L x S x M), M a divisor of N, as in masked_fill: 0 = blocked; empty: nothing is blocked
/// @param keep (L x S x N), as in Dropout::apply: 0 = dropped; empty: no dropout, whatever p is
/// @param p    dropout's probability, 0 <= p < 1
/// @return     zeros in the context of a query that may attend to no key
/// @throws std::invalid_argument naming Q, K, V, mask or keep, its shape and what was expected; p, when it is not a
///         probability below 1 and there is a keep.
AttentionForward attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {},
                                   const Mask& keep = {}, double p = 0);

/// Backward pass of attention_forward, its steps in reverse (Dao et al. 2022, FlashAttention, appendix B.2; with dropout,
/// appendix B.4). Draws nothing: dropout's factors are those of the forward pass.
///
/// @param d_context (L x Dv x N): how much the loss changes per change of each number of the context
/// @param kept      what attention_forward kept
/// @return          zeros for a query that may attend to no key, and for a key that no query may attend to
/// @throws std::invalid_argument naming d_context, its shape and what was expected.
AttentionGradients attention_backward(const arma::cube& d_context, const KeptAttention& kept);

}  // namespace attn
