// A right answer for lesson 01 in one each_slice.
#include <cmath>

#include "attn/self_attention_v1.hpp"
#include "attn/shape.hpp"
#include "attn/softmax.hpp"

namespace attn {

SelfAttentionV1::SelfAttentionV1(arma::uword dim)
    : query_proj(require_positive("dim", dim), dim, false), key_proj(dim, dim, false), value_proj(dim, dim, false) {}

arma::cube SelfAttentionV1::forward(const arma::cube& X) {
  require_shape("X", X, {{"L"}, {"E", value_proj.weight.n_cols}, {"B"}});
  arma::cube context = X;
  attention_weights_.set_size(X.n_rows, X.n_rows, X.n_slices);
  arma::uword b = 0;
  context.each_slice([&](arma::mat& x) {
    const arma::mat scores = x * query_proj.weight * key_proj.weight.t() * x.t() / std::sqrt(double(x.n_cols));
    attention_weights_.slice(b) = softmax_rows(scores);
    x = attention_weights_.slice(b++) * x * value_proj.weight;
  });
  return context;
}

arma::cube attention_scores_einsum(const arma::cube& Q, const arma::cube& K) {
  require_shape("Q", Q, {{"L"}, {"D"}, {"B"}});
  require_shape("K", K, {{"S"}, {"D", Q.n_cols}, {"B", Q.n_slices}});
  arma::cube scores(Q.n_rows, K.n_rows, Q.n_slices);
  arma::uword b = 0;
  scores.each_slice([&](arma::mat& s) {
    s = Q.slice(b) * K.slice(b).t();
    ++b;
  });
  return scores;
}

}  // namespace attn
