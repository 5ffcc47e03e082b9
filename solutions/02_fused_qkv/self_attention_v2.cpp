#include "attn/self_attention_v2.hpp"

#include <cmath>

#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

SelfAttentionV2::SelfAttentionV2(arma::uword dim) : proj(require_positive("dim", dim), 3 * dim) {}

arma::cube SelfAttentionV2::forward(const arma::cube& X) {
  const arma::uword dim = proj.weight.n_rows;
  require_shape("X", X, {{"L"}, {"E", dim}, {"B"}});

  const arma::cube QKV = proj(X);                       // (L x 3E x B)
  const arma::cube Q = QKV.cols(0, dim - 1);            // (L x E x B)
  const arma::cube K = QKV.cols(dim, 2 * dim - 1);      // (L x E x B)
  const arma::cube V = QKV.cols(2 * dim, 3 * dim - 1);  // (L x E x B)

  arma::cube scores(X.n_rows, X.n_rows, X.n_slices);  // (L x L x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    scores.slice(b) = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(dim));
  }
  attention_weights_ = softmax_rows(scores);

  arma::cube context(arma::size(V));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) context.slice(b) = attention_weights_.slice(b) * V.slice(b);
  return context;
}

SelfAttentionV2 fuse(const SelfAttentionV1& separate) {
  const arma::uword dim = separate.query_proj.weight.n_rows;
  SelfAttentionV2 fused(dim);
  fused.proj.weight = arma::join_rows(separate.query_proj.weight, separate.key_proj.weight,
                                      separate.value_proj.weight);  // (E x 3E)
  fused.proj.bias = arma::zeros<arma::rowvec>(3 * dim);
  return fused;
}

}  // namespace attn
