#pragma once

#include <armadillo>

#include "attn/dropout.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "attn/shape.hpp"

namespace attn {

/// What a layer of cross-attention needs of the sequence that is attended to, the memory: its keys and values, projected and
/// cut into heads. They do not depend on the queries, so one memory serves every step of a decoder.
struct ProjectedMemory {
  arma::cube keys;    ///< (S x D x H·B), slice b·H + h
  arma::cube values;  ///< (S x D x H·B)
};

/// Checks a memory, and returns B. Given.
///
/// @throws std::invalid_argument naming memory.keys or memory.values, its shape and what was expected.
inline arma::uword require_memory(const ProjectedMemory& memory, arma::uword head_dim, arma::uword num_heads) {
  require_shape("memory.keys", memory.keys, {{"S"}, {"D", head_dim}, {"H·B"}});
  const arma::uword S = memory.keys.n_rows, slices = memory.keys.n_slices;
  require_multiple("memory.keys.n_slices", slices, "num_heads", num_heads);
  require_shape("memory.values", memory.values, {{"S", S}, {"D", head_dim}, {"H·B", slices}});
  return slices / num_heads;
}

/// Multi-head attention whose queries come from one sequence, and keys and values from another (Vaswani et al. 2017,
/// section 3.2.3, "encoder-decoder attention").
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
  /// @throws std::invalid_argument as MultiHeadAttention. Given.
  CrossAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p = 0.1);

  /// Projects keys and values, once for any number of calls of forward. Copies no heads: the projections are moved into
  /// split_heads.
  ///
  /// @param key   (S x E x B)
  /// @param value (S x E x B); another cube than key, or the same
  /// @return      keys and values, (S x D x H·B) each
  /// @throws std::invalid_argument naming key or value, its shape and what was expected.
  ProjectedMemory project_memory(const arma::cube& key, const arma::cube& value) const;

  /// Attends to a memory: projects the queries, and nothing else. Copies no heads and no weights: the projection is moved
  /// into split_heads, the context into merge_heads.
  ///
  /// @param query  (L x E x B)
  /// @param memory of project_memory or select_sequences, for B sequences of S keys
  /// @param mask   (L x S x 1), (L x S x B) or (L x S x H·B), 0 = blocked; empty: nothing is blocked
  /// @return       (L x E x B)
  /// @throws std::invalid_argument naming query, memory.keys, memory.values or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& query, const ProjectedMemory& memory, const Mask& mask = {});

  /// Both in a row, for a memory that is used once. With the same cube three times it is self-attention. Given.
  ///
  /// @param query (L x E x B)
  /// @param key   (S x E x B)
  /// @param value (S x E x B)
  /// @param mask  (L x S x 1), (L x S x B) or (L x S x H·B), 0 = blocked; empty: nothing is blocked
  /// @return      (L x E x B)
  /// @throws std::invalid_argument naming query, key, value or mask, its shape and what was expected.
  arma::cube forward(const arma::cube& query, const arma::cube& key, const arma::cube& value, const Mask& mask = {});

  /// The memory of other sequences: sequence i of the result is sequence sequences(i) of the memory, with all its heads.
  /// So {0, 0, 1, 1} gives each of two sources two beams, and {0, 2} drops the second of three sources.
  ///
  /// @param memory    of B sequences
  /// @param sequences one number per sequence of the result, each below B; any order, and any number of times
  /// @return          keys and values, (S x D x H·n) for n numbers
  /// @throws std::invalid_argument naming memory.keys, memory.values or sequences, what it was and what was expected.
  ProjectedMemory select_sequences(const ProjectedMemory& memory, const arma::uvec& sequences) const;

  /// The weights that mixed the values in the last forward, after dropout: (L x S x H·B), slice b·H + h.
  /// Empty before the first forward.
  const arma::cube& attention_weights() const { return attention_weights_; }

  arma::uword num_heads() const { return num_heads_; }

 private:
  arma::uword num_heads_;
  arma::cube attention_weights_;
};

}  // namespace attn
