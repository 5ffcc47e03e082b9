#include <cmath>

#include "attn/second_bug_hunt.hpp"
#include "attn/softmax.hpp"

namespace attn::second_bug_hunt {

// TODO(29.3): find the bug. Symptom: in a batch, the longest sentence continues as it does alone. The others continue
// worse than alone, the shorter the worse.
// q, k and v (1 x D x H·B) -> (1 x D x H·B)
arma::cube decode_step(BatchCache& cache, const arma::cube& q, const arma::cube& k, const arma::cube& v) {
  const arma::uword num_heads = q.n_slices / cache.lengths.n_elem;
  for (arma::uword n = 0; n < q.n_slices; ++n) {
    const arma::uword next = cache.lengths(n / num_heads);  // the first free row of this sentence
    cache.keys.slice(n).row(next) = k.slice(n);
    cache.values.slice(n).row(next) = v.slice(n);
  }
  cache.lengths += 1;

  const arma::uword used = cache.lengths.max();
  const double scale = std::sqrt(static_cast<double>(q.n_cols));
  arma::cube context(arma::size(q));  // (1 x D x H·B)
  for (arma::uword n = 0; n < q.n_slices; ++n) {
    const arma::mat keys = cache.keys.slice(n).head_rows(used);      // (used x D)
    const arma::mat values = cache.values.slice(n).head_rows(used);  // (used x D)
    const arma::mat scores = q.slice(n) * keys.t() / scale;          // (1 x used)
    context.slice(n) = softmax_rows(scores) * values;
  }
  return context;
}

}  // namespace attn::second_bug_hunt
