#pragma once

#include <armadillo>

#include "attn/linear.hpp"
#include "attn/self_attention_v1.hpp"

namespace attn {

/// Self-attention with one head and one fused projection: one multiplication gives Q, K and V side by side.
///
///   [Q | K | V] = X W + b,   Attention(Q, K, V) = softmax(Q K^T / sqrt(D)) V
class SelfAttentionV2 {
 public:
  Linear proj;  ///< E -> 3E, with bias; columns 0..E-1 give Q, E..2E-1 give K, 2E..3E-1 give V

  /// @param dim E, the embedding width
  /// @throws std::invalid_argument when dim is zero.
  explicit SelfAttentionV2(arma::uword dim);

  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument when X does not have E columns, or a size is zero.
  arma::cube forward(const arma::cube& X);

  /// The weights of the last forward: (L x L x B), row = query, column = key. Empty before the first.
  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::cube attention_weights_;
};

/// The fused layer that computes what `separate` computes: the three weights side by side, and a bias of zeros.
SelfAttentionV2 fuse(const SelfAttentionV1& separate);

}  // namespace attn
