#include "attn/bug_hunt.hpp"

namespace attn::bug_hunt {

// TODO(13.6): find the bug. Symptom: right with one head; with more, the output of a token changes when only other
// tokens' weights change.
// weights (L x S x H·B), V (S x D x H·B) -> (L x H·D x B)
arma::cube mix_and_merge(const arma::cube& weights, const arma::cube& V, arma::uword num_heads) {
  const arma::uword dim = num_heads * V.n_cols;
  arma::cube merged(weights.n_rows, dim, weights.n_slices / num_heads);  // (L x E x B)
  for (arma::uword b = 0; b < merged.n_slices; ++b) {
    arma::uword next = 0;  // the numbers of one sequence, in the order in which they are made
    for (arma::uword h = 0; h < num_heads; ++h) {
      const arma::uword n = b * num_heads + h;
      const arma::mat context = weights.slice(n) * V.slice(n);  // (L x D)
      for (arma::uword i = 0; i < context.n_rows; ++i) {
        for (arma::uword d = 0; d < context.n_cols; ++d, ++next) merged(next / dim, next % dim, b) = context(i, d);
      }
    }
  }
  return merged;
}

}  // namespace attn::bug_hunt
