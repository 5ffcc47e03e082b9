#pragma once

#include <armadillo>

#include "attn/shape.hpp"

namespace attn {

/// How many keys a query may attend to: always the first ones. One number covers both causal order and padding.
///
/// Causal means aligned at the end, as in causal_mask: query i of L sees the keys j <= i + S - L. Of a padded sequence
/// only the first key_length keys exist.
///
/// @param i          the query, below L
/// @param key_length at most S
/// @return           0 to key_length
/// @throws std::invalid_argument naming L, S, i or key_length, what it was and what was expected; or L + S, when that is
///         not below 2^64.
arma::uword visible_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword key_length, bool causal);

/// What a block of queries has gathered from the keys so far: lesson 18's PartialAttention, in float. A query that has
/// seen no key yet: zeros, -inf and 0.
struct QueryBlock {
  arma::fmat output;   ///< (Lb x Dv), not yet divided
  arma::fvec maximum;  ///< (Lb), the largest score so far
  arma::fvec sum;      ///< (Lb), of exp(score - maximum)
};

/// Takes in one block of keys (Dao 2023, algorithm 1, lines 8 to 10): the scores Q_block K_block^T / sqrt(D), their
/// exponentials, and what was gathered before, rescaled to the new maximum.
///
/// @param seen    changed in place
/// @param Q_block (Lb x D)
/// @param K_block (Sb x D)
/// @param V_block (Sb x Dv)
/// @param visible (Lb), how many of these Sb keys each query may attend to: the first ones; Sb or more means all
/// @throws std::invalid_argument naming Q_block, K_block, V_block, visible or the part, such as seen.sum, its shape and
///         what was expected.
void add_key_block(QueryBlock& seen, const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fmat& V_block,
                   const arma::uvec& visible);

struct FlashOptions {
  bool causal = false;
  /// (B), how many keys each sequence has, 0 to S; empty: all. Its size divides G·B, the slices of K.
  arma::uvec key_lengths = {};
  arma::uword query_block = 64;  ///< Lb, queries taken together
  arma::uword key_block = 64;    ///< Sb, keys taken together
};

struct FlashResult {
  arma::fcube output;      ///< (L x Dv x H·B); zeros for a query that may attend to no key
  arma::fmat log_sum_exp;  ///< (L x H·B), log of the sum of exp(score); -inf for such a query
};

/// Checks what flash_attention is given: the shapes of Q, K and V, and the options.
///
/// @throws std::invalid_argument naming Q, K, V, key_lengths, query_block or key_block, what it was and what was
///         expected.
inline void require_flash_inputs(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                                 const FlashOptions& options) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"H·B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"G·B"}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"G·B", K.n_slices}});
  require_multiple("H·B (slices of Q)", Q.n_slices, "G·B (slices of K)", K.n_slices);
  require_positive("query_block", options.query_block);
  require_positive("key_block", options.key_block);
  if (options.key_lengths.is_empty()) return;
  require_multiple("G·B (slices of K)", K.n_slices, "B (size of key_lengths)", options.key_lengths.n_elem);
  require_at_most("key_lengths.max()", options.key_lengths.max(), "S", K.n_rows);
}

/// softmax(Q K^T / sqrt(D)) V in float, tile by tile (Dao et al. 2022, algorithm 1; Dao 2023, algorithm 1): no
/// matrix that grows with L·S is ever made, and a tile that no query of its block may see is neither computed nor
/// read. Keys from key_lengths on are never read. No length need be a multiple of the block sizes. The result does not
/// depend on them, apart from rounding and from NaN or infinity in the value of a key that causal order blocks: that
/// reaches the queries of the tiles that hold this key, as 0 * NaN is NaN.
///
/// Grouped queries: H·B may be a multiple of G·B; key/value slice n / (H / G) serves query slice n, and is not
/// repeated.
///
/// @param Q (L x D x H·B)
/// @param K (S x D x G·B)
/// @param V (S x Dv x G·B)
/// @throws std::invalid_argument naming Q, K, V, key_lengths, query_block or key_block, what it was and what was
///         expected.
FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options = {});

/// What attention over one head moves and computes, in float (Dao et al. 2022, section 3.2 and theorem 2, with the
/// small memory holding one tile).
struct AttentionCost {
  double flops;          ///< of the two products, a multiplication and an addition being two
  double untiled_bytes;  ///< Q, K, V and output once; scores and weights each written once and read once
  double tiled_bytes;    ///< Q and output once; all of K and V once for each block of queries
};

/// @throws std::invalid_argument naming L, S, D or query_block, when one is zero.
AttentionCost attention_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword query_block);

}  // namespace attn
