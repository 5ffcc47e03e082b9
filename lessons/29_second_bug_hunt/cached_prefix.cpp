#include <algorithm>
#include <cmath>

#include "attn/second_bug_hunt.hpp"

namespace attn::second_bug_hunt {

namespace {

/// Blocks what the queries at the places `place`, place + 1, ... may not see yet, of the keys `first`, first + 1, ....
void block_future(arma::mat& scores, arma::uword place, arma::uword first) {
  for (arma::uword i = 0; i < scores.n_rows; ++i) {
    for (arma::uword j = 0; j < scores.n_cols; ++j) {
      if (first + j > place + i) scores(i, j) = -arma::datum::inf;
    }
  }
}

/// A block of queries, the first of them at `place`: Q (Lb x D), K (S x D), V (S x Dv) -> (Lb x Dv).
arma::mat attend(const arma::mat& Q, const arma::mat& K, const arma::mat& V, arma::uword place, arma::uword key_block) {
  arma::mat output(Q.n_rows, V.n_cols, arma::fill::zeros);  // (Lb x Dv), not yet divided
  arma::vec maximum(Q.n_rows);                              // (Lb), the largest score so far
  arma::vec sum(Q.n_rows, arma::fill::zeros);               // (Lb), of exp(score - maximum)
  maximum.fill(-arma::datum::inf);

  const arma::uword end = place + Q.n_rows;  // keys from here on are seen by no query of the block
  for (arma::uword first = 0; first < end; first += key_block) {
    const arma::uword last = std::min(first + key_block, end) - 1;
    const arma::mat keys = K.rows(first, last);                                  // (Sb x D)
    arma::mat scores = Q * keys.t() / std::sqrt(static_cast<double>(Q.n_cols));  // (Lb x Sb)
    if (last + 1 == end) block_future(scores, place, first);
    const arma::vec new_maximum = arma::max(maximum, arma::vec(arma::max(scores, 1)));  // (Lb)
    const arma::mat exponentials = arma::exp(scores.each_col() - new_maximum);          // (Lb x Sb)
    const arma::vec rescaling = arma::exp(maximum - new_maximum);                       // (Lb)
    output = output.each_col() % rescaling + exponentials * V.rows(first, last);
    sum = sum % rescaling + arma::sum(exponentials, 1);
    maximum = new_maximum;
  }
  return output.each_col() / sum;
}

}  // namespace

// TODO(29.6): find the bug. Symptom: with tiles of 64 x 64 a text read at once is right, whatever its length, and so are
// 100 tokens that follow 64 in a cache. If they follow 66, the loss is too good, and the model writes badly.
// Q (L x D x N), K (S x D x N), V (S x Dv x N) -> (L x Dv x N)
arma::cube tiled_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword query_block,
                           arma::uword key_block) {
  arma::cube output(Q.n_rows, V.n_cols, Q.n_slices);  // (L x Dv x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    for (arma::uword first = 0; first < Q.n_rows; first += query_block) {
      const arma::uword last = std::min(first + query_block, Q.n_rows) - 1;
      const arma::mat queries = Q.slice(n).rows(first, last);  // (Lb x D)
      const arma::uword place = first + K.n_rows - Q.n_rows;   // of the block's first query
      output.slice(n).rows(first, last) = attend(queries, K.slice(n), V.slice(n), place, key_block);
    }
  }
  return output;
}

}  // namespace attn::second_bug_hunt
