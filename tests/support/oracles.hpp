#pragma once

#include <armadillo>

/// The definitions, spelt out one number at a time. Slow, obvious, and without any matrix function: what a solution is
/// compared with on sizes that have no golden values.
namespace attn::testing {

/// weights(i, j) = exp(scores(i, j)) / sum_k exp(scores(i, k)). For scores of moderate size only.
arma::cube naive_softmax_rows(const arma::cube& scores);

/// y(i, o, b) = sum_k x(i, k, b) weight(k, o) + bias(o); an empty bias counts as zero.
arma::cube naive_linear(const arma::cube& x, const arma::mat& weight, const arma::rowvec& bias);

/// scores(i, j, b) = sum_h Q(i, h, b) K(j, h, b)
arma::cube naive_scores(const arma::cube& Q, const arma::cube& K);

/// (L x D x B), (S x D x B) -> (L x S x B)
arma::cube naive_attention_weights(const arma::cube& Q, const arma::cube& K);

/// (L x D x B), (S x D x B), (S x Dv x B) -> (L x Dv x B)
arma::cube naive_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V);

}  // namespace attn::testing
