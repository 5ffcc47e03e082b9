#include "attn/attention_backward.hpp"

#include <cmath>

#include "attn/dropout.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/softmax_backward.hpp"

namespace attn {

namespace {

arma::cube dropped(const arma::cube& x, const Mask& keep, double p) {
  return keep.is_empty() ? x : Dropout::apply(x, keep, p);
}

}  // namespace

AttentionForward attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask,
                                   const Mask& keep, double p) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"N"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"N", Q.n_slices}});
  require_shape("V", V, {{"S", K.n_rows}, {"Dv"}, {"N", Q.n_slices}});

  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);  // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  const arma::cube weights = safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));  // (L x S x N)
  const arma::cube mixing = dropped(weights, keep, p);                                         // (L x S x N)

  arma::cube context(Q.n_rows, V.n_cols, Q.n_slices);  // (L x Dv x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) context.slice(n) = mixing.slice(n) * V.slice(n);
  return {context, {Q, K, V, weights, keep, p}};
}

AttentionGradients attention_backward(const arma::cube& d_context, const KeptAttention& kept) {
  const arma::cube &Q = kept.Q, &K = kept.K, &V = kept.V;
  require_shape("d_context", d_context, {{"L", Q.n_rows}, {"Dv", V.n_cols}, {"N", Q.n_slices}});
  const double root = std::sqrt(static_cast<double>(Q.n_cols));
  AttentionGradients gradients{arma::cube(arma::size(Q)), arma::cube(arma::size(K)), arma::cube(arma::size(V))};

  // context = mixing V
  const arma::cube mixing = dropped(kept.weights, kept.keep, kept.p);  // (L x S x N)
  arma::cube d_mixing(arma::size(mixing));                             // (L x S x N)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    gradients.d_V.slice(n) = mixing.slice(n).t() * d_context.slice(n);
    d_mixing.slice(n) = d_context.slice(n) * V.slice(n).t();
  }
  // mixing = dropped(weights): each number times its factor
  const arma::cube d_weights = dropped(d_mixing, kept.keep, kept.p);  // (L x S x N)
  // weights = softmax(scores); where a score was blocked, its weight is 0, and so is its gradient
  const arma::cube d_scores = softmax_backward(kept.weights, d_weights);  // (L x S x N)
  // scores = Q K^T / sqrt(D)
  for (arma::uword n = 0; n < Q.n_slices; ++n) {
    gradients.d_Q.slice(n) = d_scores.slice(n) * K.slice(n) / root;
    gradients.d_K.slice(n) = d_scores.slice(n).t() * Q.slice(n) / root;
  }
  return gradients;
}

}  // namespace attn
