#pragma once

#include <armadillo>

namespace attn {

/// The keys and values of the tokens so far, of one attention layer: what decoding token by token keeps, so that it
/// need not project the old tokens again (Shazeer 2019, section 2.4). Every sequence of the batch has its own length.
class KVCache {
 public:
  /// Makes an empty cache. The first append decides D and B.
  ///
  /// @param num_heads H
  /// @throws std::invalid_argument naming num_heads, when it is zero.
  explicit KVCache(arma::uword num_heads);

  /// Puts the new tokens of each sequence after its own last one. When the tokens do not fit (padding needs no room),
  /// the capacity at least doubles, so that n appends of one token copy fewer than 2n rows.
  ///
  /// @param K_new   (L x D x H·B), slice b·H + h; D and B as in the first append
  /// @param V_new   as large as K_new
  /// @param lengths how many rows of K_new and V_new are tokens of each sequence, B numbers from 0 to L; the rows
  ///                after them are padding, and are not kept. Empty: all L rows of every sequence
  /// @throws std::invalid_argument naming K_new, V_new or lengths, what it was and what was expected. The cache is then
  ///         as it was before.
  void append(const arma::cube& K_new, const arma::cube& V_new, const arma::uvec& lengths = {});

  /// How many tokens of sequence b are in the cache.
  ///
  /// @throws std::invalid_argument naming b, when there is no such sequence.
  arma::uword length(arma::uword b) const;

  /// length(b) of all sequences; empty before the first append.
  const arma::uvec& lengths() const { return lengths_; }

  arma::uword num_heads() const { return num_heads_; }
  arma::uword batch_size() const { return lengths_.n_elem; }  ///< B; 0 before the first append
  arma::uword capacity() const { return keys_.n_rows; }       ///< rows that fit without growing

  /// (capacity x D x H·B), slice b·H + h: the keys are rows 0 to length(b) - 1, followed by zeros.
  const arma::cube& keys() const { return keys_; }
  const arma::cube& values() const { return values_; }  ///< likewise

 private:
  /// Raises the capacity to at least `rows`; keeps what is stored.
  void make_room(arma::uword rows);

  arma::uword num_heads_;
  arma::uvec lengths_;
  arma::cube keys_;
  arma::cube values_;
};

}  // namespace attn
