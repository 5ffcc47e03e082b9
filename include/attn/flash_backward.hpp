#pragma once

#include <armadillo>

#include "attn/flash_attention.hpp"
#include "attn/shape.hpp"

namespace attn {

/// delta, one number for each query: the sum of d_output times output along its row (Dao et al. 2022, appendix B.2,
/// equation 4). It equals the sum over the keys of weight times d_weight, which the softmax's backward pass subtracts,
/// and needs no weight.
///
/// @param d_output (L x Dv x N): how much the loss changes per change of each number of the output
/// @param output   (L x Dv x N)
/// @return         (L x N)
/// @throws std::invalid_argument naming d_output or output, its shape and what was expected.
arma::fmat row_dots(const arma::fcube& d_output, const arma::fcube& output);

/// The weights of one tile again, exp(score - log_sum_exp): one exponential each, no maximum and no division (Dao 2023,
/// section 3.1.2, algorithm 2, lines 10 and 11). Their rows sum to one over all tiles, not here.
///
/// @param Q_block     (Lb x D)
/// @param K_block     (Sb x D)
/// @param log_sum_exp (Lb), over all keys that the query may attend to; -inf for a query without any
/// @param visible     (Lb), how many of these Sb keys each query may attend to: the first ones; Sb or more means all
/// @return            (Lb x Sb), 0 where a query may not attend to the key
/// @throws std::invalid_argument naming Q_block, K_block, log_sum_exp or visible, its shape and what was expected.
arma::fmat tile_weights(const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fvec& log_sum_exp,
                        const arma::uvec& visible);

/// A block of queries, with all that their backward pass needs.
struct QueryTile {
  arma::fmat Q;            ///< (Lb x D)
  arma::fmat d_output;     ///< (Lb x Dv)
  arma::fvec log_sum_exp;  ///< (Lb)
  arma::fvec delta;        ///< (Lb), of row_dots
};

/// What tiles add to: the gradients of a block of queries, and of a block of keys and values.
struct TileGradients {
  arma::fmat d_Q;  ///< (Lb x D)
  arma::fmat d_K;  ///< (Sb x D)
  arma::fmat d_V;  ///< (Sb x Dv)
};

/// Checks what add_tile_gradients is given.
///
/// @throws std::invalid_argument naming K_block, V_block, visible or the part, such as queries.delta or sums.d_Q, its
///         shape and what was expected.
inline void require_tile_inputs(const TileGradients& sums, const QueryTile& queries, const arma::fmat& K_block,
                                const arma::fmat& V_block, const arma::uvec& visible) {
  require_shape("queries.Q", queries.Q, {{"Lb"}, {"D"}});
  const arma::uword Lb = queries.Q.n_rows, Sb = K_block.n_rows, D = queries.Q.n_cols, Dv = V_block.n_cols;
  require_shape("K_block", K_block, {{"Sb"}, {"D", D}});
  require_shape("V_block", V_block, {{"Sb", Sb}, {"Dv"}});
  require_shape("queries.d_output", queries.d_output, {{"Lb", Lb}, {"Dv", Dv}});
  require_shape("queries.log_sum_exp", queries.log_sum_exp, {{"Lb", Lb}, {"1", 1}});
  require_shape("queries.delta", queries.delta, {{"Lb", Lb}, {"1", 1}});
  require_shape("visible", visible, {{"Lb", Lb}, {"1", 1}});
  require_shape("sums.d_Q", sums.d_Q, {{"Lb", Lb}, {"D", D}});
  require_shape("sums.d_K", sums.d_K, {{"Sb", Sb}, {"D", D}});
  require_shape("sums.d_V", sums.d_V, {{"Sb", Sb}, {"Dv", Dv}});
}

/// Adds one tile's share of each gradient (Dao 2023, algorithm 2, lines 10 to 16). The weights are those of tile_weights,
/// and queries.delta is the row sum that the softmax's backward pass subtracts (lesson 24).
///
/// @param sums    changed in place
/// @param K_block (Sb x D)
/// @param V_block (Sb x Dv)
/// @param visible (Lb), as in tile_weights
/// @throws std::invalid_argument as require_tile_inputs.
void add_tile_gradients(TileGradients& sums, const QueryTile& queries, const arma::fmat& K_block,
                        const arma::fmat& V_block, const arma::uvec& visible);

struct FlashGradients {
  arma::fcube d_Q;  ///< (L x D x H·B)
  arma::fcube d_K;  ///< (S x D x G·B)
  arma::fcube d_V;  ///< (S x Dv x G·B)
};

/// Checks what flash_backward is given.
///
/// @throws std::invalid_argument naming d_output, forward.output or forward.log_sum_exp, its shape and what was
///         expected; otherwise as require_flash_inputs.
inline void require_backward_inputs(const arma::fcube& d_output, const arma::fcube& Q, const arma::fcube& K,
                                    const arma::fcube& V, const FlashResult& forward, const FlashOptions& options) {
  require_flash_inputs(Q, K, V, options);
  require_shape("d_output", d_output, {{"L", Q.n_rows}, {"Dv", V.n_cols}, {"H·B", Q.n_slices}});
  require_shape("forward.output", forward.output, {{"L", Q.n_rows}, {"Dv", V.n_cols}, {"H·B", Q.n_slices}});
  require_shape("forward.log_sum_exp", forward.log_sum_exp, {{"L", Q.n_rows}, {"H·B", Q.n_slices}});
}

/// Backward pass of flash_attention in float, tile by tile: key blocks outside, query blocks inside (Dao et al. 2022,
/// algorithm 4; Dao 2023, algorithm 2). No matrix that grows with L·S is ever made, and a tile that no query of its
/// block may see is neither computed nor read. Keys and values from key_lengths on are never read.
///
/// Grouped queries: what the H / G query slices of a group add to their key/value slice is summed up.
///
/// @param d_output (L x Dv x H·B)
/// @param Q        (L x D x H·B)
/// @param K        (S x D x G·B)
/// @param V        (S x Dv x G·B)
/// @param forward  what flash_attention gave for Q, K, V and these options; the block sizes may be others
/// @return         zeros for a query that may attend to no key, and for a key that no query may attend to
/// @throws std::invalid_argument as require_backward_inputs.
FlashGradients flash_backward(const arma::fcube& d_output, const arma::fcube& Q, const arma::fcube& K,
                              const arma::fcube& V, const FlashResult& forward, const FlashOptions& options = {});

/// What the backward pass of attention over one head moves, computes and keeps, in float, with Dv = D and without a
/// mask (untiled: Dao et al. 2022, algorithm 3; tiled: Dao 2023, algorithm 2). Not counted: what has one number for
/// each query, but for the log-sum-exps that are kept; exponentials; the zeros that d_Q begins with.
struct BackwardCost {
  double untiled_flops;  ///< of four products, a multiplication and an addition being two
  double tiled_flops;    ///< of five: the scores are computed again
  /// d_output twice, Q, K, V, d_Q, d_K and d_V once; weights read twice, d_weights written and read, d_scores written
  /// and read twice
  double untiled_bytes;
  /// d_output and output once, for delta; K, V, d_K and d_V once; for each block of keys Q and d_output once, d_Q read
  /// and written
  double tiled_bytes;
  double untiled_kept;  ///< bytes from the forward pass to the backward pass: Q, K, V, weights
  double tiled_kept;    ///< likewise: Q, K, V, output, log-sum-exps
};

/// @throws std::invalid_argument naming L, S, D or key_block, when one is zero.
BackwardCost attention_backward_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword key_block);

}  // namespace attn
