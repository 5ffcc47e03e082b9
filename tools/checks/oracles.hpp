#pragma once

#include <armadillo>

#include "attn/mask.hpp"

/// The definitions, spelt out one number at a time. Slow, obvious, and without any matrix function: what a solution is
/// compared with on sizes that have no golden values.
namespace attn::judge {

/// weights(i, j) = exp(scores(i, j)) / sum_k exp(scores(i, k)). For scores of moderate size only.
arma::cube naive_softmax_rows(const arma::cube& scores);

/// y(i, o, b) = sum_k x(i, k, b) weight(k, o) + bias(o); an empty bias counts as zero.
arma::cube naive_linear(const arma::cube& x, const arma::mat& weight, const arma::rowvec& bias);

/// scores(i, j, b) = sum_h Q(i, h, b) K(j, h, b)
arma::cube naive_scores(const arma::cube& Q, const arma::cube& K);

/// (L x D x N), (S x D x N) -> (L x S x N). Blocked keys are left out of the sums; a row without any key is zeros.
/// The mask is empty or has M slices, each for N / M neighbouring slices of the weights.
arma::cube naive_attention_weights(const arma::cube& Q, const arma::cube& K, const Mask& mask = {});

/// (L x D x N), (S x D x N), (S x Dv x N) -> (L x Dv x N)
arma::cube naive_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {});

/// (L x S x N) times (S x Dv x N) -> (L x Dv x N)
arma::cube naive_mix(const arma::cube& weights, const arma::cube& V);

/// X_heads(i, d, b*H + h) = X(i, h*D + d, b): (L x H·D x B) -> (L x D x H·B), and back.
arma::cube naive_split_heads(const arma::cube& X, arma::uword num_heads);
arma::cube naive_merge_heads(const arma::cube& X_heads, arma::uword num_heads);

}  // namespace attn::judge
