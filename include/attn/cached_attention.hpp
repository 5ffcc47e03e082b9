#pragma once

#include <armadillo>

#include "attn/kv_cache.hpp"
#include "attn/linear.hpp"

namespace attn {

/// Causal multi-head self-attention that reads a prompt at once, and then takes one token at a time, or several (Shazeer
/// 2019, section 2.4; Pope et al. 2022, section 2). It computes what MultiHeadAttention without dropout computes with a
/// causal mask, and projects every token once.
class CachedAttention {
 public:
  Linear query_proj;   ///< E -> E, with bias, as all four
  Linear key_proj;     ///< E -> E
  Linear value_proj;   ///< E -> E
  Linear output_proj;  ///< E -> E

  /// @param embed_dim E, the embedding width
  /// @param num_heads H, a divisor of E
  /// @throws std::invalid_argument naming embed_dim or num_heads, when it is zero or H does not divide E.
  CachedAttention(arma::uword embed_dim, arma::uword num_heads);

  /// Reads B prompts: query i attends to the keys 0 to i. Replaces what was in the cache.
  ///
  /// @param X       (L x E x B), padded at the end with finite numbers: NaN there makes the output NaN
  /// @param lengths how many rows are tokens of each sequence, B numbers from 0 to L; empty: all L rows
  /// @return        (L x E x B); rows after a sequence's length mean nothing
  /// @throws std::invalid_argument naming X or lengths, what it was and what was expected. The cache is then as it was
  ///         before.
  arma::cube prefill(const arma::cube& X, const arma::uvec& lengths = {});

  /// Takes one more token of each sequence. It attends to all tokens of its sequence so far, and to itself. Without a
  /// prefill before it, the first call begins B empty sequences.
  ///
  /// @param x (1 x E x B), B as in the prefill
  /// @return  (1 x E x B)
  /// @throws std::invalid_argument naming x, its shape and what was expected. The cache is then as it was before.
  arma::cube decode(const arma::cube& x);

  /// Takes any number of new tokens of each sequence: a prompt in chunks (Agrawal et al. 2023), the next turn of a
  /// chat, a draft to verify (Leviathan et al. 2023). Row i of sequence b attends to all tokens of the sequence so far,
  /// and to the new ones 0 to i. Without a call before it, B sequences begin. On an empty cache it is prefill; with one
  /// token of each sequence, decode.
  ///
  /// @param X       (L x E x B), B as before, padded at the end with finite numbers
  /// @param lengths how many rows are new tokens of each sequence, B numbers from 0 to L; empty: all L rows. A sequence
  ///                without new tokens keeps its part of the cache as it is
  /// @return        (L x E x B); rows after a sequence's length mean nothing. Zeros when no sequence has a token yet, as
  ///                there is no key to attend to
  /// @throws std::invalid_argument naming X or lengths, what it was and what was expected. The cache is then as it was
  ///         before.
  arma::cube extend(const arma::cube& X, const arma::uvec& lengths = {});

  const KVCache& cache() const { return cache_; }
  arma::uword num_heads() const { return cache_.num_heads(); }

 private:
  KVCache cache_;
};

}  // namespace attn
