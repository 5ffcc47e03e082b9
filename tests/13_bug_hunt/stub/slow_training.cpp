#include <cmath>

#include "attn/bug_hunt.hpp"
#include "attn/softmax.hpp"

namespace attn::bug_hunt {

// TODO(13.1): find the bug. Symptom: it trains, but more slowly than the same layer in PyTorch, and its loss stays
// higher.
// X (L x E x B) -> (L x E x B)
arma::cube self_attention(const arma::cube& X, const Linear& query_proj, const Linear& key_proj,
                          const Linear& value_proj) {
  const arma::cube Q = query_proj(X);  // (L x E x B)
  const arma::cube K = query_proj(X);  // (L x E x B)
  const arma::cube V = query_proj(X);  // (L x E x B)

  arma::cube context(arma::size(V));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::mat scores = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(Q.n_cols));  // (L x L)
    context.slice(b) = softmax_rows(scores) * V.slice(b);
  }
  return context;
}

}  // namespace attn::bug_hunt
