#pragma once

#include <armadillo>

#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "attn/multi_head_attention.hpp"

namespace attn {

/// Self-attention with H query heads that share G key/value heads (Ainslie et al. 2023, section 2.2). Query head h uses
/// key/value head g = h / (H / G), rounded down: H / G neighbours are a group.
///
///   head_h = softmax(mask(Q_h K_g^T / sqrt(D))) V_g,   output = [head_0 | ... | head_H-1] W_o + b_o
///
/// G = H is multi-head attention (MHA), G = 1 is multi-query attention (MQA; Shazeer 2019, section 3).
class GroupedQueryAttention {
 public:
  Linear query_proj;   ///< E -> H·D, with bias, as all four
  Linear key_proj;     ///< E -> G·D
  Linear value_proj;   ///< E -> G·D
  Linear output_proj;  ///< H·D -> E

  /// @param embed_dim    E, the embedding width
  /// @param num_heads    H, the number of query heads
  /// @param num_kv_heads G, the number of key/value heads, a divisor of H
  /// @param head_dim     D, the width of a head, whatever E and H are; 0: E / H, and only then must H divide E
  /// @throws std::invalid_argument naming embed_dim, num_heads or num_kv_heads, when one of these is zero, G does not
  ///         divide H, or head_dim is zero and H does not divide E.
  GroupedQueryAttention(arma::uword embed_dim, arma::uword num_heads, arma::uword num_kv_heads,
                        arma::uword head_dim = 0);

  /// Copies no key and no value, however many heads share it, and no other whole cube.
  ///
  /// @param X    (L x E x B)
  /// @param mask (L x L x 1), (L x L x B) or (L x L x H·B), 0 = blocked; empty: nothing is blocked
  /// @return     (L x E x B)
  /// @throws std::invalid_argument naming X or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& X, const Mask& mask = {});

  /// The weights that mixed the values in the last forward: (L x L x H·B), slice b·H + h.
  /// Zeros for a query that may attend to no key. Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

  arma::uword num_heads() const { return num_heads_; }
  arma::uword num_kv_heads() const { return num_kv_heads_; }
  arma::uword head_dim() const { return query_proj.weight.n_cols / num_heads_; }  ///< D

 private:
  arma::uword num_heads_;
  arma::uword num_kv_heads_;
  arma::cube attention_weights_;
};

/// What one token adds to a cache of keys and values: a key and a value for each key/value head of each layer.
///
/// @param num_layers       the number of attention layers, each with a cache of its own
/// @param num_kv_heads     G
/// @param head_dim         D, which need not be E / H
/// @param bytes_per_number 2 for 16-bit numbers
/// @throws std::invalid_argument naming the argument that is zero. The result must be below 2^64, which an
///         implementation need not check.
arma::uword kv_bytes_per_token(arma::uword num_layers, arma::uword num_kv_heads, arma::uword head_dim,
                               arma::uword bytes_per_number);

/// Makes a grouped layer of a trained multi-head layer: key/value head g is the mean of the H / G heads of its group,
/// weights and biases (Ainslie et al. 2023, section 2.1). Where full has no bias, the grouped layer has none. Queries
/// and output stay as they are. Dropout is left out.
///
/// @throws std::invalid_argument naming num_kv_heads, or num_heads and num_kv_heads, when it is zero or does not divide
///         the number of heads.
GroupedQueryAttention pool_heads(const MultiHeadAttention& full, arma::uword num_kv_heads);

}  // namespace attn
