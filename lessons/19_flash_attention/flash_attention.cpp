#include "attn/flash_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

AttentionCost attention_cost(arma::uword L, arma::uword S, arma::uword D, arma::uword query_block) {
  // TODO(19.1): reject zeros (require_positive). Count in double: the FLOPs of both products; the bytes of attention
  // that makes the whole matrix of scores, and another of weights; the bytes of attention in tiles.
  todo("19.1");
}

arma::uword visible_keys(arma::uword i, arma::uword L, arma::uword S, arma::uword key_length, bool causal) {
  // TODO(19.2): reject what is outside (require_positive, require_at_most). Then how many keys query i sees, from the
  // first one on. Numbers of this type are never below zero: 2 - 3 is huge.
  todo("19.2");
}

// Q_block (Lb x D), K_block (Sb x D), V_block (Sb x Dv), visible (Lb); seen is changed
void add_key_block(QueryBlock& seen, const arma::fmat& Q_block, const arma::fmat& K_block, const arma::fmat& V_block,
                   const arma::uvec& visible) {
  // TODO(19.3): reject what does not fit (require_shape). Then the scores of this tile, -inf where a query does not see
  // the key; the new maximum; what was gathered before, rescaled; and this block added. Nothing is divided.
  todo("19.3");
}

// Q (L x D x H·B), K (S x D x G·B), V (S x Dv x G·B) -> (L x Dv x H·B) and (L x H·B)
FlashResult flash_attention(const arma::fcube& Q, const arma::fcube& K, const arma::fcube& V,
                            const FlashOptions& options) {
  // TODO(19.4): reject what does not fit (require_flash_inputs). Then three steps, each with checks of its own:
  //   1. for every slice and every block of queries, take in the blocks of keys, each copied to a small matrix; divide at
  //      the end, and store the log-sum-exp. The last blocks may be shorter.
  //   2. causal order: visible_keys for each query of the block. Stop after the last key that one of them sees.
  //   3. key lengths and groups: the sequence of slice n is n / H, its keys and values are slice n / (H / G).
  todo("19.4");
}

}  // namespace attn
