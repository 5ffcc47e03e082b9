// A right answer for lesson 01 on top of attention_scores_einsum.
#include <cmath>

#include "attn/self_attention_v1.hpp"
#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

SelfAttentionV1::SelfAttentionV1(arma::uword dim)
    : query_proj(require_positive("dim", dim), dim, false), key_proj(dim, dim, false), value_proj(dim, dim, false) {}

arma::cube SelfAttentionV1::forward(const arma::cube& X) {
  require_shape("X", X, {{"L"}, {"E", key_proj.weight.n_rows}, {"B"}});
  attention_weights_ =
      softmax_rows(arma::cube(attention_scores_einsum(query_proj(X), key_proj(X)) / std::sqrt(double(X.n_cols))));
  const arma::cube V = value_proj(X);
  // 'bij,bje->bie' is the same sum with other letters: transpose V, and let the keys be the letter that disappears.
  arma::cube V_transposed(V.n_cols, V.n_rows, V.n_slices);
  for (arma::uword b = 0; b < V.n_slices; ++b) V_transposed.slice(b) = V.slice(b).t();
  return attention_scores_einsum(attention_weights_, V_transposed);
}

arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"B", Q.n_slices}});
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices, arma::fill::zeros);
  for (arma::uword h = 0; h < Q.n_cols; ++h)
    for (arma::uword b = 0; b < Q.n_slices; ++b) scores.slice(b) += Q.slice(b).col(h) * K.slice(b).col(h).t();
  return scores;
}

}  // namespace attn
