#pragma once

#include <armadillo>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"

namespace attn {

/// Self-attention as a layer of a network: fused projection, mask, dropout on the weights, output projection.
///
///   [Q | K | V] = X W + b,   output = (dropout(softmax(mask(Q K^T / sqrt(D)))) V) W_o + b_o
///
/// Dropout acts on the weights, as in BERT (Devlin et al. 2018) and in PyTorch's nn.MultiheadAttention.
class SelfAttentionV3 {
 public:
  Linear proj;         ///< E -> 3E, with bias; columns 0..E-1 give Q, E..2E-1 give K, 2E..3E-1 give V
  Linear output_proj;  ///< E -> E, with bias
  Dropout dropout;

  /// @param dim       E, the embedding width
  /// @param dropout_p 0 <= dropout_p < 1
  /// @throws std::invalid_argument when dim is zero, or p is not a probability below one.
  explicit SelfAttentionV3(arma::uword dim, double dropout_p = 0.1);

  /// @param X    (L x E x B)
  /// @param mask (L x L x 1) or (L x L x B), 0 = blocked; empty: nothing is blocked
  /// @return     (L x E x B)
  /// @throws std::invalid_argument naming X or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& X, const Mask& mask = {});

  /// The weights that mixed the values in the last forward, after dropout: (L x L x B), row = query, column = key.
  /// Zeros for a query that may attend to no key. Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

 private:
  arma::cube attention_weights_;
};

}  // namespace attn
