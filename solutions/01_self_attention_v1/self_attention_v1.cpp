#include "attn/self_attention_v1.hpp"

#include <cmath>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

SelfAttentionV1::SelfAttentionV1(arma::uword dim)
    : query_proj(require_positive("dim", dim), dim, false), key_proj(dim, dim, false), value_proj(dim, dim, false) {}

arma::cube SelfAttentionV1::forward(const arma::cube& X) {
  const arma::uword dim = query_proj.weight.n_rows;
  require_shape("X", X, {{"L"}, {"E", dim}, {"B"}});

  const arma::cube Q = query_proj(X);  // (L x E x B)
  const arma::cube K = key_proj(X);    // (L x E x B)
  const arma::cube V = value_proj(X);  // (L x E x B)

  arma::cube scores(X.n_rows, X.n_rows, X.n_slices);  // (L x L x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    scores.slice(b) = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(dim));
  }
  attention_weights_ = softmax_rows(scores);

  arma::cube context(arma::size(V));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) context.slice(b) = attention_weights_.slice(b) * V.slice(b);
  return context;
}

arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"B", Q.n_slices}});

  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices, arma::fill::zeros);  // (L x S x B)
  for (arma::uword b = 0; b < Q.n_slices; ++b)
    for (arma::uword i = 0; i < Q.n_rows; ++i)
      for (arma::uword j = 0; j < K.n_rows; ++j)
        for (arma::uword d = 0; d < Q.n_cols; ++d) scores(i, j, b) += Q(i, d, b) * K(j, d, b);
  return scores;
}

}  // namespace attn
