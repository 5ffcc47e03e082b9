#include "attn/self_attention_v3.hpp"

#include <cmath>

#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

SelfAttentionV3::SelfAttentionV3(arma::uword dim, double dropout_p)
    : proj(require_positive("dim", dim), 3 * dim), output_proj(dim, dim), dropout(dropout_p) {}

arma::cube SelfAttentionV3::forward(const arma::cube& X, const Mask& mask) {
  const arma::uword dim = proj.weight.n_rows;
  require_shape("X", X, {{"L"}, {"E", dim}, {"B"}});
  require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices);

  const arma::cube QKV = proj(X);                       // (L x 3E x B)
  const arma::cube Q = QKV.cols(0, dim - 1);            // (L x E x B)
  const arma::cube K = QKV.cols(dim, 2 * dim - 1);      // (L x E x B)
  const arma::cube V = QKV.cols(2 * dim, 3 * dim - 1);  // (L x E x B)

  arma::cube scores(X.n_rows, X.n_rows, X.n_slices);  // (L x L x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    scores.slice(b) = Q.slice(b) * K.slice(b).t() / std::sqrt(static_cast<double>(dim));
  }
  attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

  arma::cube context(arma::size(V));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) context.slice(b) = attention_weights_.slice(b) * V.slice(b);
  return output_proj(context);
}

}  // namespace attn
