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

/// Rotary position embedding: turns every pair (a, b) of features of row i by an angle that grows with its position.
///
///   a' = a cos(angle) - b sin(angle)      angle = (first_position + i) · base^(-2p / D)
///   b' = a sin(angle) + b cos(angle)
///
/// Meant for queries and keys, and not for values. Su et al., RoFormer (2021), section 3.2.
///
/// @param X              (L x D x N), D an even number; the N slices (heads, sequences) all have the same positions
/// @param first_position position of row 0: how many tokens came before, in earlier calls
/// @param base           above zero
/// @return               (L x D x N)
/// @throws std::invalid_argument naming X and its size, when a size is zero or D is odd; or base and its value, when it
///         is not a finite number above zero.
arma::cube apply_rope(const arma::cube& X, RopePairing pairing, arma::uword first_position = 0, double base = 10000);

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

}  // namespace attn
