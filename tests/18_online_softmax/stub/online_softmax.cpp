#include "attn/online_softmax.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

RunningSoftmax add_score(const RunningSoftmax& seen, double score) {
  // TODO(18.1): the maximum and the sum of all scores so far, when this one is added. What is in the sum belongs to the
  // old maximum. A score of -inf adds nothing, also when nothing was seen before.
  todo("18.1");
}

// scores (1 x S) -> (1 x S)
arma::rowvec online_softmax(const arma::rowvec& scores) {
  // TODO(18.2): reject an empty row (require_shape). Find maximum and sum with add_score, score by score; then the
  // weights. A row of nothing but -inf becomes zeros; a NaN makes the whole row NaN.
  todo("18.2");
}

// Q (L x D), K_block (S x D), V_block (S x Dv), mask_block (L x S x 1)
PartialAttention partial_attention(const arma::mat& Q, const arma::mat& K_block, const arma::mat& V_block,
                                   const Mask& mask_block) {
  // TODO(18.3): reject what does not fit (require_shape, require_mask). Then the scores, -inf where the mask is 0, and
  // for each query its output, which is not divided, its maximum and its sum. A NaN in a query that sees a key must
  // reach its output and its sum.
  todo("18.3");
}

PartialAttention merge(const PartialAttention& a, const PartialAttention& b) {
  // TODO(18.4): reject parts that do not fit each other. Then what 18.1 does with one score, for two blocks and for
  // every query: the larger maximum, and all that belongs to the other one rescaled.
  todo("18.4");
}

FinishedAttention finish(const PartialAttention& partial) {
  // TODO(18.5): reject parts that do not fit each other. Then the output, divided at last (zeros for a query without
  // any key, but never for NaN), and the logarithm of the sum of exp(score).
  todo("18.5");
}

// Q (L x D x N), K (S x D x N), V (S x Dv x N), mask (L x S x M) -> (L x Dv x N)
arma::cube attention_in_blocks(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword block_size,
                               const Mask& mask) {
  // TODO(18.6): reject what does not fit. Then for each slice: start with output 0, maximum -inf and sum 0, merge
  // block after block of keys, and finish. The last block may be shorter. Never make a matrix of L x S.
  todo("18.6");
}

}  // namespace attn
