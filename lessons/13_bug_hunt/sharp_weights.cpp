#include "attn/bug_hunt.hpp"
#include "attn/masking.hpp"

namespace attn::bug_hunt {

// TODO(13.2): find the bug. Symptom: it trained well with heads of D = 4; now that they have D = 64, the loss
// stops falling early.
// Q (L x D x N), K (S x D x N) -> (L x S x N)
arma::cube causal_weights(const arma::cube& Q, const arma::cube& K) {
  const Mask mask = causal_mask(Q.n_rows, K.n_rows);  // (L x S x 1)
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) scores.slice(n) = Q.slice(n) * K.slice(n).t();
  return safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));
}

}  // namespace attn::bug_hunt
