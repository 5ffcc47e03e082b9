#include "attn/softmax_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

arma::cube softmax_backward(const arma::cube& weights, const arma::cube& d_weights) {
  require_shape("weights", weights, {{"L"}, {"S"}, {"N"}});
  require_shape("d_weights", d_weights, {{"L", weights.n_rows}, {"S", weights.n_cols}, {"N", weights.n_slices}});
  arma::cube d_scores = d_weights;  // (L x S x N)
  for (arma::uword n = 0; n < weights.n_slices; ++n) {
    const arma::mat& P = weights.slice(n);  // (L x S)
    // the mean of each row of d_weights under its own weights: (L x 1)
    d_scores.slice(n).each_col() -= arma::sum(P % d_weights.slice(n), 1);
    d_scores.slice(n) %= P;
  }
  return d_scores;
}

}  // namespace attn
