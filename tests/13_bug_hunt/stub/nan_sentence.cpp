#include <cmath>

#include "attn/bug_hunt.hpp"
#include "attn/masking.hpp"
#include "attn/softmax.hpp"

namespace attn::bug_hunt {

// TODO(13.5): find the bug. Symptom: once in a few thousand batches one sentence comes out as NaN (the last time it was
// the second of its batch); after the next step of training everything is NaN.
// Q (L x D x B), K (S x D x B), V (S x Dv x B) -> (L x Dv x B)
arma::cube padded_attention(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const arma::uvec& lengths) {
  const Mask mask = padding_mask(lengths, Q.n_rows, K.n_rows);  // (L x S x B)
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);            // (L x S x B)
  for (arma::uword b = 0; b < Q.n_slices; ++b) {
    scores.slice(b) = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  const arma::cube weights = softmax_rows(masked_fill(scores, mask, -arma::datum::inf));

  arma::cube context(Q.n_rows, V.n_cols, Q.n_slices);  // (L x Dv x B)
  for (arma::uword b = 0; b < Q.n_slices; ++b) context.slice(b) = weights.slice(b) * V.slice(b);
  return context;
}

}  // namespace attn::bug_hunt
