#include <cmath>
#include <numeric>

#include "attn/bug_hunt.hpp"

namespace attn::bug_hunt {

// TODO(13.3): find the bug. Symptom: after the softmax, a query gives many keys exactly the same weight; early in
// training, nearly all of them.
// Q (L x D x N), K (S x D x N) -> (L x S x N)
arma::cube attention_scores(const arma::cube& Q, const arma::cube& K) {
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    for (arma::uword i = 0; i < Q.n_rows; ++i) {
      for (arma::uword j = 0; j < K.n_rows; ++j) {
        const arma::rowvec query = Q.slice(n).row(i);  // (1 x D)
        const arma::rowvec key = K.slice(n).row(j);    // (1 x D)
        const double dot = std::inner_product(query.begin(), query.end(), key.begin(), 0);
        scores(i, j, n) = dot / std::sqrt(static_cast<double>(Q.n_cols));
      }
    }
  }
  return scores;
}

}  // namespace attn::bug_hunt
