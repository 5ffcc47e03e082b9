#pragma once

#include <armadillo>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"

namespace attn {

/// Multi-head attention whose queries come from one sequence, and keys and values from another (Vaswani et al. 2017,
/// section 3.2.3, "encoder-decoder attention"). With the same sequence three times it is self-attention.
class CrossAttention {
 public:
  Linear query_proj;   ///< E -> E, with bias, as all four
  Linear key_proj;     ///< E -> E
  Linear value_proj;   ///< E -> E
  Linear output_proj;  ///< E -> E
  Dropout dropout;

  /// @param embed_dim E, the embedding width
  /// @param num_heads H, a divisor of E
  /// @param dropout_p 0 <= dropout_p < 1
  /// @throws std::invalid_argument as MultiHeadAttention.
  CrossAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1);

  /// Copies no heads and no weights: projections are moved into split_heads, the context into merge_heads.
  ///
  /// @param query (L x E x B)
  /// @param key   (S x E x B)
  /// @param value (S x E x B)
  /// @param mask  (L x S x 1), (L x S x B) or (L x S x H·B), 0 = blocked; empty: nothing is blocked
  /// @return      (L x E x B)
  /// @throws std::invalid_argument naming query, key, value or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& query, const arma::cube& key, const arma::cube& value, const Mask& mask = {});

  /// The weights that mixed the values in the last forward, after dropout: (L x S x H·B), slice b·H + h.
  /// Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

  arma::uword num_heads() const { return num_heads_; }

 private:
  arma::uword num_heads_;
  arma::cube attention_weights_;
};

}  // namespace attn
