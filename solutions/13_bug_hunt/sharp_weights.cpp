#include <cmath>

#include "attn/bug_hunt.hpp"
#include "attn/masking.hpp"

namespace attn::bug_hunt {

// Q (L x D x N), K (S x D x N) -> (L x S x N)
arma::cube causal_weights(const arma::cube& Q, const arma::cube& K) {
  const Mask mask = causal_mask(Q.n_rows, K.n_rows);  // (L x S x 1)
  const double scale = 1 / std::sqrt(static_cast<double>(Q.n_cols));
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) scores.slice(n) = scale * Q.slice(n) * K.slice(n).t();
  return safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));
}

}  // namespace attn::bug_hunt
