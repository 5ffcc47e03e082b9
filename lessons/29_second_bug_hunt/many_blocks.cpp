#include <algorithm>
#include <cmath>

#include "attn/second_bug_hunt.hpp"

namespace attn::second_bug_hunt {

namespace {

/// One head: Q (L x D), K (S x D), V (S x Dv) -> (L x Dv).
arma::mat attend(const arma::mat& Q, const arma::mat& K, const arma::mat& V, arma::uword block_size) {
  arma::mat output(Q.n_rows, V.n_cols, arma::fill::zeros);  // (L x Dv), not yet divided
  arma::vec maximum(Q.n_rows);                              // (L), the largest score so far
  arma::vec sum(Q.n_rows, arma::fill::zeros);               // (L), of exp(score - maximum)
  maximum.fill(-arma::datum::inf);

  for (arma::uword first = 0; first < K.n_rows; first += block_size) {
    const arma::uword last = std::min(first + block_size, K.n_rows) - 1;
    const arma::mat keys = K.rows(first, last);                                        // (Sb x D)
    const arma::mat scores = Q * keys.t() / std::sqrt(static_cast<double>(Q.n_cols));  // (L x Sb)
    const arma::vec& before = maximum;                                                 // (L)
    maximum = arma::max(maximum, arma::vec(arma::max(scores, 1)));                     // (L)
    const arma::mat exponentials = arma::exp(scores.each_col() - maximum);             // (L x Sb)
    const arma::vec rescaling = arma::exp(before - maximum);                           // (L)
    output = output.each_col() % rescaling + exponentials * V.rows(first, last);
    sum = sum % rescaling + arma::sum(exponentials, 1);
  }
  return output.each_col() / sum;
}

}  // namespace

// TODO(29.5): find the bug. Symptom: right with one block. With more, a query whose best key is near the beginning is
// right; one whose best key is near the end takes too much from the beginning.
// Q (L x D x N), K (S x D x N), V (S x Dv x N) -> (L x Dv x N)
arma::cube blockwise_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, arma::uword block_size) {
  arma::cube output(Q.n_rows, V.n_cols, Q.n_slices);  // (L x Dv x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    output.slice(n) = attend(Q.slice(n), K.slice(n), V.slice(n), block_size);
  }
  return output;
}

}  // namespace attn::second_bug_hunt
