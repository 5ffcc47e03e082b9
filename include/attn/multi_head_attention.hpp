#pragma once

#include <armadillo>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"

namespace attn {

/// Multi-head self-attention with separate projections (Vaswani et al. 2017, section 3.2.2).
///
///   head_h = dropout(softmax(mask(Q_h K_h^T / sqrt(D)))) V_h,   output = [head_0 | ... | head_H-1] W_o + b_o
class MultiHeadAttention {
 public:
  Linear query_proj;   ///< E -> E, with bias, as all four
  Linear key_proj;     ///< E -> E
  Linear value_proj;   ///< E -> E
  Linear output_proj;  ///< E -> E
  Dropout dropout;

  /// @param embed_dim E, the embedding width
  /// @param num_heads H, a divisor of E
  /// @param dropout_p 0 <= dropout_p < 1
  /// @throws std::invalid_argument naming embed_dim, num_heads or p, when a size is zero, H does not divide E, or p is
  ///         not a probability below one.
  MultiHeadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1);

  /// Copies no heads and no weights: projections are moved into split_heads, the context into merge_heads.
  ///
  /// @param X    (L x E x B)
  /// @param mask (L x L x 1), (L x L x B) or (L x L x H·B), 0 = blocked; empty: nothing is blocked
  /// @return     (L x E x B)
  /// @throws std::invalid_argument naming X or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& X, const Mask& mask = {});

  /// The weights that mixed the values in the last forward, after dropout: (L x L x H·B), slice b·H + h.
  /// Zeros for a query that may attend to no key. Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

  arma::uword num_heads() const { return num_heads_; }

 private:
  arma::uword num_heads_;
  arma::cube attention_weights_;
};

}  // namespace attn
