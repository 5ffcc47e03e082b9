#include "attn/masking.hpp"
#include "attn/positions.hpp"
#include "attn/second_bug_hunt.hpp"

namespace attn::second_bug_hunt {

namespace {

/// The rows of `older`, and below them those of `newer`.
arma::cube with_rows_below(const arma::cube& older, const arma::cube& newer) {
  if (older.is_empty()) return newer;
  arma::cube both = older;
  both.resize(older.n_rows + newer.n_rows, newer.n_cols, newer.n_slices);
  both.rows(older.n_rows, both.n_rows - 1) = newer;
  return both;
}

}  // namespace

// TODO(29.1): find the bug. Symptom: the first call for a chat is right, however many tokens it reads. Later calls get
// lost in what was said before; the same chat in one single call is right.
// Q, K and V (L x D x N) -> (L x D x N)
arma::cube read_turn(ChatCache& cache, const arma::cube& Q, const arma::cube& K, const arma::cube& V) {
  const arma::uword past = cache.keys.n_rows;
  const arma::uvec positions = arma::regspace<arma::uvec>(past, past + Q.n_rows - 1);  // (L), of this turn
  const arma::cube turned_Q = apply_rope(Q, RopePairing::half_split, positions);       // (L x D x N)

  cache.keys = apply_rope(with_rows_below(cache.keys, K), RopePairing::half_split);  // (S x D x N)
  cache.values = with_rows_below(cache.values, V);                                   // (S x D x N)
  return scaled_dot_product_attention(turned_Q, cache.keys, cache.values, causal_mask(Q.n_rows, cache.keys.n_rows));
}

}  // namespace attn::second_bug_hunt
