#pragma once

#include <armadillo>

#include "attn/linear.hpp"

/// Six functions for lesson 13. Each is given with a bug in it; these comments say what each must do.
///
/// They do not check their arguments: shapes that do not fit, or num_heads that is 0 or does not divide the columns,
/// are undefined behaviour.
namespace attn::bug_hunt {

/// Self-attention with one head: softmax(Q K^T / sqrt(D)) V, where Q, K and V come from X by their own projections.
///
/// @param X (L x E x B); the projections are E -> E
/// @return  (L x E x B)
arma::cube self_attention(const arma::cube& X, const Linear& query_proj, const Linear& key_proj,
                          const Linear& value_proj);

/// Causal attention weights: softmax of Q K^T / sqrt(D), where query i may attend to key j when j <= i + S - L.
///
/// @param Q (L x D x N)
/// @param K (S x D x N), S >= L
/// @return  (L x S x N)
arma::cube causal_weights(const arma::cube& Q, const arma::cube& K);

/// Scaled scores, element by element: scores(i, j, n) = (row i of Q times row j of K) / sqrt(D).
///
/// @param Q (L x D x N)
/// @param K (S x D x N)
/// @return  (L x S x N)
arma::cube attention_scores(const arma::cube& Q, const arma::cube& K);

/// Cross-attention with many heads on what is already projected: each head mixes its D = E / H columns of V.
///
/// @param Q (L x E x B)
/// @param K (S x E x B)
/// @param V (S x E x B)
/// @return  (L x E x B)
arma::cube cross_attention(arma::cube Q, arma::cube K, arma::cube V, arma::uword num_heads);

/// Attention with padding: in slice b only the first lengths(b) keys may be attended to. A query that may attend to
/// no key gets zeros.
///
/// @param Q       (L x D x B)
/// @param K       (S x D x B)
/// @param V       (S x Dv x B)
/// @param lengths B numbers, from 0 to S
/// @return        (L x Dv x B)
arma::cube padded_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const arma::uvec& lengths);

/// Weights times values in each head, and the heads of a sequence side by side: columns h·D ... (h+1)·D-1 of row i are
/// what head h gives token i.
///
/// @param weights (L x S x H·B), slice b·H + h
/// @param V       (S x D x H·B)
/// @return        (L x E x B), E = H·D
arma::cube mix_and_merge(const arma::cube& weights, const arma::cube& V, arma::uword num_heads);

}  // namespace attn::bug_hunt
