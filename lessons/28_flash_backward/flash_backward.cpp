#include "attn/flash_backward.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// d_output (L x Dv x N), output (L x Dv x N) -> delta (L x N)
arma::fmat row_dots(const arma::fcube& d_output, const arma::fcube& output) {
  // TODO(28.1): reject shapes that differ (require_shape). Then one number for each query: d_output times output, summed
  // up along its row.
  todo("28.1");
}

// Q_block (Lb x D), K_block (Sb x D), log_sum_exp (Lb), visible (Lb) -> (Lb x Sb)
arma::fmat tile_weights(const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fvec& log_sum_exp,
                        const arma::uvec& visible) {
  // TODO(28.2): reject what does not fit (require_shape). Then the scores of this tile, and one exponential of each.
  // Zeros where a query does not see the key. The log_sum_exp of a query that sees no key at all is -inf.
  todo("28.2");
}

// K_block (Sb x D), V_block (Sb x Dv), visible (Lb); sums is changed
void add_tile_gradients(TileGradients& sums, const QueryTile& queries, const arma::fmat& K_block,
                        const arma::fmat& V_block, const arma::uvec& visible) {
  // TODO(28.3): require_tile_inputs. Then the weights of this tile, and lesson 24's four products, added to d_V, d_Q and
  // d_K. Instead of the row sum, which needs all keys, subtract delta.
  todo("28.3");
}

// d_output (L x Dv x H·B), Q (L x D x H·B), K (S x D x G·B), V (S x Dv x G·B) -> d_Q, d_K, d_V of these shapes
FlashGradients flash_backward(const arma::fcube& d_output, const arma::fcube& Q, const arma::fcube& K,
                              const arma::fcube& V, const FlashResult& forward, const FlashOptions& options) {
  // TODO(28.4): require_backward_inputs. Then, for every slice and every block of keys: let the blocks of queries pass
  // that see one of its keys (visible_keys), and add their tiles. Gradients begin at zero; a shared key gets the sum over
  // its heads. The last blocks may be shorter.
  todo("28.4");
}

BackwardCost attention_backward_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword key_block) {
  // TODO(28.5): reject zeros (require_positive). Count in double: FLOPs, bytes moved and bytes saved, each without tiles
  // and in tiles; the header says what counts.
  todo("28.5");
}

}  // namespace attn
