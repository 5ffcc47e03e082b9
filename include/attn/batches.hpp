#pragma once

#include <armadillo>
#include <random>
#include <vector>

#include "attn/cross_entropy.hpp"

namespace attn {

/// Examples for one pass of a language model.
struct Batch {
  arma::umat ids;      ///< (L x B), a sequence in each column
  arma::umat targets;  ///< (L x B), the token after each one, or ignored_target
};

/// An index from 0 to count - 1, the same on every system for the same seed (std::uniform_int_distribution differs
/// between libraries). Takes one number of the generator.
inline arma::uword draw_index(std::mt19937_64& generator, arma::uword count) {
  return static_cast<arma::uword>(generator() % count);
}

/// B windows of a text, each of L tokens, and as targets the tokens that come next: column b has tokens s to s + L - 1,
/// its targets are tokens s + 1 to s + L. Draws s with draw_index for one sequence after the other, each possible start
/// with the same probability: a text of n tokens has n - L of them.
///
/// @param text      n ids, n >= L + 1
/// @param generator moves on by B numbers
/// @throws std::invalid_argument naming L or B, when it is zero; text, its length and what was expected.
Batch next_token_batch(const std::vector<arma::uword>& text, arma::uword L, arma::uword B, std::mt19937_64& generator);

/// Examples of a task that needs attention: write a sequence backwards. Each column is a text of 2 n + 1 tokens without
/// its last one,
///
///   x_1 x_2 ... x_n | x_n ... x_2 x_1
///
/// where x_1 to x_n are drawn in this order with draw_index(generator, symbols), for one sequence after the other, and
/// the separator "|" is the number `symbols`. The target of each token is the next one where this is after the separator;
/// before, there is nothing to learn, and it is ignored_target.
///
/// @param symbols   how many symbols there are: ids 0 to symbols - 1. The vocabulary has one more, the separator
/// @param n         the length of the sequence
/// @param generator moves on by n B numbers
/// @return          (2 n x B) each; n targets of each sequence count
/// @throws std::invalid_argument naming symbols, n or B, when it is zero.
Batch reverse_batch(arma::uword symbols, arma::uword n, arma::uword B, std::mt19937_64& generator);

}  // namespace attn
