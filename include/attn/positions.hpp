#pragma once

#include <armadillo>

#include "attn/linear.hpp"

namespace attn {

/// Sines and cosines that are added to X, so that equal tokens at different places differ.
///
///   P(i, 2p) = sin(angle),   P(i, 2p + 1) = cos(angle),   angle = (first_position + i) · 10000^(-2p / E)
///
/// Vaswani et al., Attention Is All You Need (2017), section 3.5.
///
/// @param L              number of tokens
/// @param E              embedding width, an even number
/// @param first_position position of row 0: how many tokens came before, in earlier calls
/// @return               (L x E)
/// @throws std::invalid_argument naming L or E and its size, when one is zero or E is odd.
arma::mat sinusoidal_positions(arma::uword L, arma::uword E, arma::uword first_position = 0);

/// Which two of the D features of a head make pair p. D / 2 pairs in all.
enum class RopePairing {
  interleaved,  ///< 2p and 2p + 1: the paper, GPT-J, Llama as Meta published it
  half_split    ///< p and p + D / 2: GPT-NeoX, Llama in Hugging Face's transformers
};

/// Rotary position embedding: rotates every pair (a, b) of features of a row by an angle that grows with its position.
///
///   a' = a cos(angle) - b sin(angle)      angle = position · speed of the pair
///   b' = a sin(angle) + b cos(angle)
///
/// Meant for queries and keys, and not for values. Su et al., RoFormer (2021), section 3.2.
///
/// @param X         (L x D x N), D an even number; the N slices are the heads of all sequences
/// @param positions (L x M), M a divisor of N: the position of each row. Slice n uses column n / (N / M), as with masks:
///                  (L x 1) is for all slices, (L x B) has a column for the heads of each sequence. Empty: 0, 1, ... L-1
/// @param speeds    (1 x D/2), radians per token: one for each pair. Empty: 10000^(-2p / D) for pair p
/// @return          (L x D x N)
/// @throws std::invalid_argument naming X and its size, when a size is zero or D is odd; positions, its shape and that
///         of X, when they do not fit; speeds and its shape, when it is not 1 x D/2, or speeds, when one is not finite.
arma::cube apply_rope(const arma::cube& X, RopePairing pairing, const arma::umat& positions = {},
                      const arma::rowvec& speeds = {});

/// A query or key projection that was trained for interleaved pairs, converted to half-split ones: in every head the
/// columns 0, 2, 4, ... come first, then 1, 3, 5, .... With both projections converted all scores stay the same.
///
/// @param interleaved (in x H·D), with or without bias; D an even number
/// @param num_heads   H
/// @throws std::invalid_argument naming interleaved or num_heads and its size, when a size is zero or H does not cut
///         the columns into heads of even width; or interleaved.bias, its shape and the width expected, when it is not
///         as wide as the weight.
Linear to_half_split(const Linear& interleaved, arma::uword num_heads);

/// How fast each head of ALiBi forgets. When H is a power of two, head h (from 0) has the slope 2^(-8 (h + 1) / H).
/// Otherwise let M be the largest power of two below H: first the M slopes for M heads, then, of the 2M slopes for 2M
/// heads, the first, the third, the fifth ..., until there are H.
///
/// Press et al., Train Short, Test Long (2021), section 3; the second rule is that of the authors' code, `get_slopes`.
///
/// @param num_heads H
/// @return          (1 x H)
/// @throws std::invalid_argument when num_heads is zero.
arma::rowvec alibi_slopes(arma::uword num_heads);

/// What ALiBi adds to the scores of each head: the slope times the distance from query to key, negative.
///
///   bias(i, j, h) = -slope(h) · (i + S - L - j)
///
/// Aligned at the end, as causal_mask is: query i is at position i + S - L. For keys in the future the numbers are
/// positive; in a language model the causal mask blocks those.
///
/// @return (L x S x H)
/// @throws std::invalid_argument naming num_heads, L or S, when it is zero.
arma::cube alibi_bias(arma::uword num_heads, arma::uword L, arma::uword S);

/// How a model that was trained on short texts is adapted to texts that are `factor` times as long: rope_scaling
/// (rope_parameters in newer versions) in the config.json of models for Hugging Face's transformers, whose names the
/// fields have.
struct RopeScaling {
  enum class Method {
    none,                    ///< the speeds of training
    position_interpolation,  ///< every pair is slowed down; "linear" in transformers
    ntk_aware,               ///< a larger base: pair 0 keeps its speed, the last pair is slowed down in full
    yarn,                    ///< fast pairs keep their speed, slow ones are slowed down; between, by the pair's number
    llama3                   ///< the same; between, by the number of turns. Llama 3.1 and later
  };
  Method method = Method::none;
  double factor = 1;                                 ///< s: how many times as long the texts become
  arma::uword original_max_position_embeddings = 0;  ///< yarn, llama3: tokens of the texts of training
  double beta_fast = 32;                             ///< yarn: a pair that turns so often in training keeps its speed
  double beta_slow = 1;                              ///< yarn: one that turns so often is slowed down
  double low_freq_factor = 1;                        ///< llama3: as beta_slow
  double high_freq_factor = 4;                       ///< llama3: as beta_fast
};

/// The speed of each pair of RoPE, for apply_rope: base^(-2p / D) for pair p, and slower for longer texts. With T for
/// original_max_position_embeddings and s for factor:
///
///   position_interpolation   speed / s
///   ntk_aware                base · s^(D / (D - 2)) instead of base
///   yarn, llama3             kept(p) · speed + (1 - kept(p)) · speed / s
///
/// kept(p) lies from 0 to 1; what is below 0 becomes 0, what is above 1 becomes 1. low and high are always rounded, as
/// in transformers without "truncate": false; the last pair is D/2 - 1, so the limit D - 1 hardly ever matters.
///
///   yarn     kept(p) = 1 - (p - low) / (high - low)
///            low  = D ln(T / (2π beta_fast)) / (2 ln base), rounded down, at least 0
///            high = D ln(T / (2π beta_slow)) / (2 ln base), rounded up, at most D - 1, and at least low + 0.001
///   llama3   kept(p) = (turns(p) - low_freq_factor) / (high_freq_factor - low_freq_factor),   turns(p) = T speed / (2π)
///
/// transformers, modeling_rope_utils.py: _compute_linear_scaling_rope_parameters, _compute_yarn_parameters,
/// _compute_llama3_parameters, and _compute_dynamic_ntk_parameters for a text that is s times as long with factor 1.
/// Chen et al. (2023); Peng et al., YaRN (2023), sections 3.1 to 3.3. YaRN also multiplies queries and keys, after the
/// rotation, by 0.1 ln s + 1, so scores by its square; that is not in the speeds.
///
/// @param D width of a head, an even number
/// @return  (1 x D/2), radians per token
/// @throws std::invalid_argument naming the argument or field and its value: D, when it is zero, odd, or 2 with
///         ntk_aware; base, when it is not a finite number above 1; factor, when it is not a finite number of at least
///         1; and, where the method uses them, original_max_position_embeddings, when it is zero; beta_slow or
///         low_freq_factor, when it is not above 0; beta_fast or high_freq_factor, when it is not finite and above
///         the other.
arma::rowvec rope_speeds(arma::uword D, double base = 10000, const RopeScaling& scaling = {});

}  // namespace attn
