#pragma once

#include <armadillo>

/// Six functions for lesson 29, each given with a bug in it; these comments say what each must do.
///
/// Nothing is thrown: they do not check their arguments. Shapes that do not fit, sizes of zero, a number of heads that
/// does not divide what it must, and a cache without room are undefined behaviour.
namespace attn::second_bug_hunt {

/// What one layer keeps of a chat between two turns. Before the first turn both cubes are empty.
struct ChatCache {
  arma::cube keys;    ///< (S x D x N), S tokens so far; in which form is up to read_turn
  arma::cube values;  ///< (S x D x N)
};

/// Reads one more turn of a chat: causal attention over all tokens so far, with rotary positions in the half-split
/// pairing (lesson 14). The first token of the chat has position 0, and the count goes on from turn to turn. So several
/// turns give what their tokens give in a single call (Su et al. 2021, section 3.2).
///
/// @param cache takes in the L tokens of this turn
/// @param Q     (L x D x N), not yet rotated; D is even
/// @param K     (L x D x N), not yet rotated
/// @param V     (L x D x N)
/// @return      (L x D x N): row i is what token i of this turn takes from all tokens up to itself
arma::cube read_turn(ChatCache& cache, const arma::cube& Q, const arma::cube& K, const arma::cube& V);

/// Attention with H query heads that share G key/value heads: query head h uses key/value head h / (H / G), rounded
/// down (Ainslie et al. 2023, section 2.2). Nothing is masked.
///
/// @param Q            (L x D x H·B), slice b·H + h
/// @param K            (S x D x G·B), slice b·G + g
/// @param V            (S x D x G·B)
/// @param num_heads    H
/// @param num_kv_heads G, a divisor of H
/// @return             (L x D x H·B)
arma::cube grouped_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword num_heads,
                             arma::uword num_kv_heads);

/// Keys and values of B sentences, in memory that was set aside once and is used again for other sentences.
struct BatchCache {
  arma::cube keys;     ///< (capacity x D x H·B), slice b·H + h: rows 0 to lengths(b) - 1 are keys of sentence b. What
                       ///< the rows after them hold means nothing
  arma::cube values;   ///< likewise
  arma::uvec lengths;  ///< (B), how many tokens each sentence has
};

/// Takes one more token of each sentence. It attends to all tokens of its own sentence so far, and to itself (Shazeer
/// 2019, section 2.4). The batch gives what each sentence gives alone.
///
/// @param cache must have room for one more token of each sentence; takes it in
/// @param q     (1 x D x H·B), slice b·H + h
/// @param k     (1 x D x H·B)
/// @param v     (1 x D x H·B)
/// @return      (1 x D x H·B)
arma::cube decode_step(BatchCache& cache, const arma::cube& q, const arma::cube& k, const arma::cube& v);

/// Causal attention with a sliding window (Beltagy et al. 2020, section 3.1). The queries are the last L of S tokens:
/// query i is at place p = i + S - L. It attends to the `window` newest keys, its own among them: p - window < j <= p.
///
/// @param Q      (L x D x N)
/// @param K      (S x D x N), S >= L
/// @param V      (S x Dv x N)
/// @param window at least 1, and may be larger than the text
/// @return       (L x Dv x N)
arma::cube windowed_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword window);

/// softmax(Q K^T / sqrt(D)) V, block_size keys at a time, with the online softmax (Milakov and Gimelshein 2018,
/// algorithm 3; Rabe and Staats 2021, section 2). The block size makes no difference, apart from rounding, and scores
/// may be large: nothing overflows.
///
/// @param Q          (L x D x N)
/// @param K          (S x D x N)
/// @param V          (S x Dv x N)
/// @param block_size at least 1; the last block may be shorter
/// @return           (L x Dv x N)
arma::cube blockwise_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword block_size);

/// Causal attention in tiles of query_block queries and key_block keys, with the online softmax (Dao 2023, algorithm 1).
/// The queries are the last L of S tokens: query i attends to the keys j <= i + S - L. The block sizes make no
/// difference, apart from rounding; the last blocks may be shorter. Keys after the last one that a block of queries may
/// see are not read.
///
/// @param Q (L x D x N)
/// @param K (S x D x N), S >= L
/// @param V (S x Dv x N)
/// @return  (L x Dv x N)
arma::cube tiled_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword query_block,
                           arma::uword key_block);

}  // namespace attn::second_bug_hunt
