#include <cmath>

#include "attn/bug_hunt.hpp"
#include "attn/softmax.hpp"

namespace attn::bug_hunt {

// X (L x E x B) -> (L x E x B)
arma::cube self_attention(const arma::cube& X, const Linear& query_proj, const Linear& key_proj,
                          const Linear& value_proj) {
  const arma::cube Q = query_proj(X);  // (L x E x B)
  const arma::cube K = key_proj(X);    // (L x E x B)
  const arma::cube V = value_proj(X);  // (L x E x B)

  arma::cube context(arma::size(V));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::mat scores = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(Q.n_cols));  // (L x L)
    context.slice(b) = softmax_rows(scores) * V.slice(b);
  }
  return context;
}

}  // namespace attn::bug_hunt
