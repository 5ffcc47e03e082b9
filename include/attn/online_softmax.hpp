#pragma once

#include <armadillo>

#include "attn/mask.hpp"

namespace attn {

/// What must be known of a row of scores to continue it: two numbers, however many scores were seen
/// (Milakov and Gimelshein 2018, algorithm 3; there they are m and d).
struct RunningSoftmax {
  double maximum = -arma::datum::inf;  ///< the largest score so far; -inf until there is one
  double sum = 0;                      ///< of exp(score - maximum), over the scores so far
};

/// Takes in one more score. A score of -inf (a blocked key) adds nothing.
///
/// @return maximum and sum of all scores so far, the new one among them
RunningSoftmax add_score(const RunningSoftmax& seen, double score);

/// Softmax of a row whose maximum and sum are found together, in one pass (Milakov and Gimelshein 2018, algorithm 3).
/// A row that holds nothing but -inf becomes zeros, as in safe_softmax_rows. A NaN makes the whole row NaN, even if
/// all others are -inf.
///
/// @param scores (1 x S)
/// @return       (1 x S)
/// @throws std::invalid_argument naming scores, when it is empty.
arma::rowvec online_softmax(const arma::rowvec& scores);

/// Attention over some of the keys, not yet divided: what must be known to continue with the other keys (Dao et al.
/// 2022, section 3.1; undivided as in Dao 2023, section 3.1). A query that has seen no key yet has output 0, maximum
/// -inf and sum 0, even if it holds NaN: blocked keys add nothing. Once it has seen a key, a query that holds NaN has NaN
/// for output and sum, while its maximum may be anything; merge and finish keep the NaN.
struct PartialAttention {
  arma::mat output;   ///< (L x Dv), row i is the sum of exp(score(i, j) - maximum(i)) * value j
  arma::vec maximum;  ///< (L), the largest score of each query
  arma::vec sum;      ///< (L), of exp(score(i, j) - maximum(i))
};

/// Attention over one block of S keys. Scores are Q K^T / sqrt(D); where the mask is 0 they are -inf. A NaN in the
/// value of a blocked key may still reach the output, as 0 * NaN is NaN.
///
/// @param Q          (L x D)
/// @param K_block    (S x D)
/// @param V_block    (S x Dv)
/// @param mask_block (L x S x 1), 0 is blocked, any other number may attend; empty: nothing is blocked
/// @throws std::invalid_argument naming Q, K_block, V_block or mask_block, its shape and what was expected.
PartialAttention partial_attention(const arma::mat& Q, const arma::mat& K_block, const arma::mat& V_block,
                                   const Mask& mask_block = {});

/// Attention over the keys of both, for the same queries (Dao et al. 2022, section 3.1). Associative and commutative,
/// apart from rounding; a part that has seen no key (output 0, maximum -inf, sum 0) changes nothing.
///
/// @throws std::invalid_argument naming the part, such as b.sum, its shape and what was expected, when the parts of a
///         do not fit each other, or those of b do not fit a's.
PartialAttention merge(const PartialAttention& a, const PartialAttention& b);

/// The result, after all keys.
struct FinishedAttention {
  arma::mat output;       ///< (L x Dv), zeros for a query that may attend to no key (its sum is 0)
  arma::vec log_sum_exp;  ///< (L), log of the sum of exp(score); -inf for such a query
};

/// Divides, once: the softmax is complete when all keys were seen.
///
/// @throws std::invalid_argument naming partial.output, partial.maximum or partial.sum, its shape and what was
/// expected.
FinishedAttention finish(const PartialAttention& partial);

/// softmax(Q K^T / sqrt(D)) V, block_size keys at a time: no L x S matrix is ever made (Rabe and Staats 2021, section
/// 2). The result does not depend on block_size, apart from rounding and from 0 * NaN being NaN (partial_attention);
/// the last block may be shorter.
///
/// @param Q          (L x D x N)
/// @param K          (S x D x N)
/// @param V          (S x Dv x N)
/// @param block_size at least 1; above S it counts as S
/// @param mask       (L x S x M), M a divisor of N, as in masked_fill; empty: nothing is blocked
/// @return           (L x Dv x N); zeros for a query that may attend to no key; NaN for any other query that holds NaN
/// @throws std::invalid_argument naming Q, K, V, block_size or mask, what it was and what was expected.
arma::cube attention_in_blocks(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword block_size,
                               const Mask& mask = {});

}  // namespace attn
