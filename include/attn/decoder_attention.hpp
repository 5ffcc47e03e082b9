#pragma once

#include <armadillo>

#include "attn/kv_cache.hpp"
#include "attn/linear.hpp"
#include "attn/mask.hpp"
#include "attn/norm.hpp"
#include "attn/positions.hpp"

namespace attn {

/// What differs between the attention layers of language models. In brackets: the name in the config.json of models for
/// Hugging Face's transformers.
struct DecoderAttentionConfig {
  arma::uword embed_dim = 0;                      ///< E, the embedding width (hidden_size)
  arma::uword num_heads = 0;                      ///< H, query heads (num_attention_heads)
  arma::uword num_kv_heads = 0;                   ///< G, key/value heads, a divisor of H (num_key_value_heads)
  arma::uword head_dim = 0;                       ///< D, an even number; 0: E / H (head_dim)
  RopePairing pairing = RopePairing::half_split;  ///< of RoPE; transformers' Llama, Mistral, Qwen, Gemma: half_split
  arma::rowvec rope_speeds;                       ///< (1 x D/2), radians per token; empty: 10000^(-2p / D) (rope_theta)
  arma::uword window = 0;  ///< newest keys that a query sees, its own among them; 0: all (sliding_window)
  bool qk_norm = false;    ///< normalizes each head of the queries and of the keys, before RoPE (Qwen 3, Gemma 3)
  double soft_cap = 0;     ///< c: scores become c · tanh(score / c); 0: they stay (attn_logit_softcapping, Gemma 2)
  bool bias = false;       ///< of all four projections (attention_bias)
};

/// The position of each new token: row i of sequence b comes after the old_lengths(b) tokens that are there already.
///
/// @param old_lengths B numbers
/// @param L           new rows of each sequence
/// @return            (L x B), for apply_rope: old_lengths(b) + i
/// @throws std::invalid_argument naming old_lengths, when it is empty; L, when it is zero; or both, when a position, or the
///         number of positions, would not be below 2^64.
arma::umat positions_after(const arma::uvec& old_lengths, arma::uword L);

/// What the new tokens of each sequence see of a cache that holds the old ones and them: row i of sequence b is at
/// position p = old_lengths(b) + i, and sees the keys j <= p, with a window only those with p - j < window. Rows from
/// new_lengths(b) on are padding, and see no key.
///
/// @param old_lengths tokens of each sequence before the new ones, B numbers
/// @param new_lengths how many of the L rows are tokens of each sequence, B numbers from 0 to L
/// @param S           rows of the cache: its capacity, which may be above all lengths
/// @param window      how many of the newest keys a query sees, its own among them; 0: all
/// @return            (L x S x B)
/// @throws std::invalid_argument naming old_lengths, when it is empty; L, when it is zero; new_lengths, with its number
///         of elements and B, when these differ ("new_lengths has 3 elements, expected B = 2"), or with its largest
///         number and L, when that is above L ("new_lengths, its largest, is 5, expected at most L = 4"); S, when it is
///         zero, or less than the tokens of a sequence; or as positions_after.
Mask decoder_mask(const arma::uvec& old_lengths, const arma::uvec& new_lengths, arma::uword L, arma::uword S,
                  arma::uword window = 0);

/// softmax(mask(cap(Q K^T / sqrt(D)))) V, where query head h uses key/value head h / (H / G), rounded down.
///
///   cap(score) = soft_cap · tanh(score / soft_cap),   or score, when soft_cap is 0
///
/// Ainslie et al. (2023), section 2.2; the cap: Gemma Team, Gemma 2 (2024), section 2.
///
/// @param Q        (L x D x H·B), slice b·H + h
/// @param K        (S x D x G·B), slice b·G + g; G a divisor of H
/// @param V        (S x D x G·B)
/// @param mask     (L x S x M), M a divisor of H·B, as in masked_fill; 0 = blocked; empty: nothing is blocked
/// @param soft_cap above 0, or 0 for no cap
/// @return         (L x D x H·B); zeros for a query that may attend to no key
/// @throws std::invalid_argument naming Q, K, V or mask, its shape and what was expected; Q and both numbers of slices,
///         when its number is not a multiple of K's; soft_cap, when it is below zero or not finite.
arma::cube grouped_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask = {},
                             double soft_cap = 0);

/// The attention of a decoder-only language model: RoPE at absolute positions, H query heads that share G key/value
/// heads, a cache, and, if the configuration asks for it, a sliding window, QK-norm, a soft cap. Modelled on
/// LlamaAttention, MistralAttention, Qwen3Attention and Gemma2Attention of Hugging Face's transformers. Scores are
/// divided by sqrt(D): where Gemma's query_pre_attn_scalar is not D, multiply the weight of query_proj by
/// sqrt(D / scalar), or with QK-norm that of query_norm.
///
/// The cache keeps what attention reads: keys that are normalized and rotated already, and values as they are projected.
class DecoderAttention {
 public:
  Linear query_proj;   ///< E -> H·D
  Linear key_proj;     ///< E -> G·D
  Linear value_proj;   ///< E -> G·D
  Linear output_proj;  ///< H·D -> E
  RMSNorm query_norm;  ///< over D, the same for all heads; used with qk_norm only
  RMSNorm key_norm;    ///< likewise, of the keys

  /// @throws std::invalid_argument naming the field and what is wrong with it: embed_dim, num_heads or num_kv_heads,
  ///         when it is zero; num_heads, when G does not divide it; embed_dim, when head_dim is 0 and H does not divide
  ///         it; head_dim, when D is odd; rope_speeds, when it is neither empty nor 1 x D/2; soft_cap, when it is below
  ///         zero or not finite.
  explicit DecoderAttention(const DecoderAttentionConfig& config);

  /// Takes any number of new tokens of each sequence: a prompt, a part of it, the next token. They are appended to what
  /// the earlier calls brought; the first call after the constructor or reset decides B. However a text is cut into
  /// calls, its rows come out the same, up to rounding.
  ///
  /// @param X       (L x E x B), padded at the end with finite numbers
  /// @param lengths how many rows are new tokens of each sequence, B numbers from 0 to L; empty: all L rows
  /// @return        (L x E x B); rows after a sequence's new tokens mean nothing. Zeros when no sequence has a token
  ///                yet
  /// @throws std::invalid_argument naming X or lengths, what it was and what was expected. The cache is then as it was
  ///         before.
  arma::cube extend(const arma::cube& X, const arma::uvec& lengths = {});

  /// Forgets all tokens. The next call may bring another number of sequences.
  void reset();

  /// With G heads: slices b·G + g.
  const KVCache& cache() const { return cache_; }

  /// As given, but for head_dim, which is D.
  const DecoderAttentionConfig& config() const { return config_; }

 private:
  DecoderAttentionConfig config_;
  KVCache cache_;
};

}  // namespace attn
