#include "attn/norm_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

namespace {

void require_shapes(const arma::rowvec& weight, const arma::cube& X, const arma::cube& d_Y) {
  require_shape("X", X, {{"L"}, {"E", weight.n_cols}, {"B"}});
  require_shape("d_Y", d_Y, {{"L", X.n_rows}, {"E", X.n_cols}, {"B", X.n_slices}});
}

}  // namespace

NormBackward layer_norm_backward(const LayerNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  require_shapes(norm.weight, X, d_Y);
  NormBackward result{arma::cube(arma::size(X)), {}};
  NormGradients& d_layer = result.d_layer;
  d_layer.weight.zeros(X.n_cols);
  d_layer.bias.zeros(X.n_cols);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    arma::mat x_hat = X.slice(b);  // (L x E)
    x_hat.each_col() -= arma::vec(arma::mean(x_hat, 1));
    const arma::vec variance = arma::mean(arma::square(x_hat), 1);  // (L x 1)
    const arma::vec root = arma::sqrt(variance + norm.epsilon);     // (L x 1)
    x_hat.each_col() /= root;
    d_layer.weight += arma::sum(d_Y.slice(b) % x_hat, 0);
    d_layer.bias += arma::sum(d_Y.slice(b), 0);

    arma::mat g = d_Y.slice(b);  // (L x E), the gradient of x_hat
    g.each_row() %= norm.weight;
    const arma::vec mean_g = arma::mean(g, 1);               // (L x 1), x_hat depends on the mean
    const arma::vec along_x_hat = arma::mean(g % x_hat, 1);  // (L x 1), and on the variance
    arma::mat d_x = g - x_hat.each_col() % along_x_hat;      // (L x E)
    d_x.each_col() -= mean_g;
    result.d_X.slice(b) = d_x.each_col() / root;
  }
  return result;
}

NormBackward rms_norm_backward(const RMSNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  require_shapes(norm.weight, X, d_Y);
  NormBackward result{arma::cube(arma::size(X)), {}};
  result.d_layer.weight.zeros(X.n_cols);
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    const arma::vec mean_square = arma::mean(arma::square(X.slice(b)), 1);  // (L x 1)
    const arma::vec root = arma::sqrt(mean_square + norm.epsilon);          // (L x 1)
    const arma::mat x_hat = X.slice(b).each_col() / root;                   // (L x E)
    result.d_layer.weight += arma::sum(d_Y.slice(b) % x_hat, 0);

    arma::mat g = d_Y.slice(b);  // (L x E), the gradient of x_hat
    g.each_row() %= norm.weight;
    const arma::vec along_x_hat = arma::mean(g % x_hat, 1);    // (L x 1)
    const arma::mat d_x = g - x_hat.each_col() % along_x_hat;  // (L x E)
    result.d_X.slice(b) = d_x.each_col() / root;
  }
  return result;
}

}  // namespace attn
