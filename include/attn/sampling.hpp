#pragma once

#include <armadillo>
#include <cstdint>
#include <random>

namespace attn {

/// The logarithm of the softmax of every row: how likely each token is, as a logarithm.
///
///   log_softmax(z)_j = z_j - max z - ln sum_k exp(z_k - max z)
///
/// Not the logarithm of softmax_rows: where a probability is too small for a double, that would be -inf. PyTorch's
/// `F.log_softmax`.
///
/// @param logits (L x V), without +inf or NaN; -inf is a token that cannot come, but not a whole row of them
/// @return       (L x V)
/// @throws std::invalid_argument naming logits, when a size is zero.
arma::mat log_softmax_rows(const arma::mat& logits);

/// How the next token is drawn from logits. The three rules apply in this order, as in Hugging Face's transformers.
struct SamplingConfig {
  double temperature = 1;  ///< the logits are divided by it; 0: the most likely token is always taken (greedy)
  arma::uword top_k = 0;   ///< how many of the most likely tokens may come; 0: all
  double top_p = 1;        ///< the nucleus: the fewest most likely tokens that sum to at least top_p; 1: all tokens
};

/// What sampling draws from: the probability of each token after temperature, top-k and top-p.
///
///   1. softmax(logits / temperature); at temperature 0 the largest logit gets probability 1, of equals the first
///   2. top-k: all but the k most likely become 0, the rest is divided by its sum
///   3. top-p: from the most likely one down, tokens are kept until their sum reaches top_p. The token that reaches it
///      is kept, too, so there is always one. The rest becomes 0, what is kept is divided by its sum
///
/// Of tokens with the same probability the one with the smaller id counts as more likely. Top-k: Fan et al. (2018),
/// section 5.4; top-p: Holtzman et al. (2020), section 3.1.
///
/// @param logits (1 x V), as in log_softmax_rows
/// @return       (1 x V), non-negative, with the sum 1
/// @throws std::invalid_argument naming logits and its shape, when V is zero; logits, when one is NaN; temperature, when
///         it is below zero or not finite; or top_p, when it is not above 0 and at most 1. A top_k above V is V.
arma::rowvec token_probabilities(const arma::rowvec& logits, const SamplingConfig& config = {});

/// A number from 0 to below 1, the same on every system for the same seed: the upper 53 bits of the generator's next
/// number (std::uniform_real_distribution differs between libraries).
inline double draw_uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11U) / 9007199254740992.0;  // 2^53
}

/// Draws a token: the first one at which the sum of the probabilities, from token 0 on, is above u.
///
/// @param probabilities (1 x V), non-negative, with the sum 1 up to rounding
/// @param u             0 <= u < 1
/// @return              its id. A token of probability 0 never comes: not at u = 0, and not where rounding leaves the
///                      whole sum at or below u; then it is the last one that has a probability
/// @throws std::invalid_argument naming probabilities, when V is zero or all are 0; or u, when it is not in that range.
arma::uword pick_token(const arma::rowvec& probabilities, double u);

}  // namespace attn
