#pragma once

#include <armadillo>

#include "attn/linear.hpp"

namespace attn {

/// Self-attention with one head and three projections without bias.
///
///   Attention(Q, K, V) = softmax(Q K^T / sqrt(D)) V
///
/// Vaswani et al., Attention Is All You Need (2017), section 3.2.1; with one head, D = E.
class SelfAttentionV1 {
 public:
  Linear query_proj;  ///< E -> E, no bias
  Linear key_proj;    ///< E -> E, no bias
  Linear value_proj;  ///< E -> E, no bias

  /// @param dim E, the embedding width
  /// @throws std::invalid_argument when dim is zero.
  explicit SelfAttentionV1(arma::uword dim);

  /// @param X (L x E x B): L tokens of width E, B sequences
  /// @return  (L x E x B)
  /// @throws std::invalid_argument when X does not have E columns, or a size is zero.
  arma::cube forward(const arma::cube& X);

  /// The weights of the last forward: (L x L x B), row = query, column = key. Empty before the first.
  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::cube attention_weights_;
};

/// All dot products of queries with keys, written with indices: products(i, j, b) = sum_d Q(i, d, b) K(j, d, b).
/// In Einstein notation: 'bid,bjd->bij'. Not scaled.
///
/// @param Q (L x D x B)
/// @param K (S x D x B)
/// @return  (L x S x B)
/// @throws std::invalid_argument when a size is zero, or K differs from Q in columns or slices.
arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K);

}  // namespace attn
