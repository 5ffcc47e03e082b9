#include <cmath>

#include "attn/bug_hunt.hpp"
#include "attn/softmax.hpp"

namespace attn::bug_hunt {

// TODO(13.4): find the bug. Symptom: right in self-attention; in translation the output has the right shape and makes
// no sense, except when both sentences happen to be equally long.
// Q (L x E x B), K and V (S x E x B) -> (L x E x B)
arma::cube cross_attention(arma::cube Q, arma::cube K, arma::cube V, arma::uword num_heads) {
  const arma::uword length = Q.n_rows;
  const arma::uword dim = Q.n_cols;
  const arma::uword batch = Q.n_slices;
  const arma::uword head_dim = dim / num_heads;
  Q.reshape(length, head_dim, num_heads * batch);  // (L x D x H·B)
  K.reshape(length, head_dim, num_heads * batch);  // (L x D x H·B)
  V.reshape(length, head_dim, num_heads * batch);  // (L x D x H·B)

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    const arma::mat scores = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(head_dim));
    context.slice(n) = softmax_rows(scores) * V.slice(n);
  }
  context.reshape(length, dim, batch);  // (L x E x B)
  return context;
}

}  // namespace attn::bug_hunt
