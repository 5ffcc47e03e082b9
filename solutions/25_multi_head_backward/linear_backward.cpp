#include "attn/linear_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

LinearBackward linear_backward(const Linear& layer, const arma::cube& X, const arma::cube& d_Y) {
  const arma::mat& W = layer.weight;  // (in x out)
  require_shape("X", X, {{"L"}, {"in", W.n_rows}, {"B"}});
  require_shape("d_Y", d_Y, {{"L", X.n_rows}, {"out", W.n_cols}, {"B", X.n_slices}});

  arma::cube d_X(arma::size(X));                                   // (L x in x B)
  arma::mat d_W(arma::size(W), arma::fill::zeros);                 // (in x out)
  arma::rowvec d_bias(arma::size(layer.bias), arma::fill::zeros);  // (1 x out), or empty
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    d_X.slice(b) = d_Y.slice(b) * W.t();
    d_W += X.slice(b).t() * d_Y.slice(b);  // all tokens and sequences used the same weight
    if (!d_bias.is_empty()) d_bias += arma::sum(d_Y.slice(b), 0);
  }
  return {d_X, {d_W, d_bias}};
}

}  // namespace attn
