#include "attn/bug_hunt.hpp"

namespace attn::bug_hunt {

// weights (L x S x H·B), V (S x D x H·B) -> (L x H·D x B)
arma::cube mix_and_merge(const arma::cube& weights, const arma::cube& V, arma::uword num_heads) {
  const arma::uword dim = num_heads * V.n_cols;
  arma::cube merged(weights.n_rows, dim, weights.n_slices / num_heads);  // (L x E x B)
  for (arma::uword b = 0; b < merged.n_slices; ++b) {
    for (arma::uword h = 0; h < num_heads; ++h) {
      const arma::uword n = b * num_heads + h;
      const arma::mat context = weights.slice(n) * V.slice(n);  // (L x D)
      merged.slice(b).cols(h * V.n_cols, (h + 1) * V.n_cols - 1) = context;
    }
  }
  return merged;
}

}  // namespace attn::bug_hunt
