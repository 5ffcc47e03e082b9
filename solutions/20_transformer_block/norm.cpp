#include "attn/norm.hpp"

#include "attn/shape.hpp"

namespace attn {

LayerNorm::LayerNorm(arma::uword dim, double eps) : epsilon(eps) {
  weight.ones(require_positive("dim", dim));
  bias.zeros(dim);
}

arma::cube LayerNorm::operator()(const arma::cube& X) const {
  require_shape("X", X, {{"L"}, {"E", weight.n_cols}, {"B"}});
  arma::cube normalized(arma::size(X));  // (L x E x B)
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    arma::mat rows = X.slice(b);                                   // (L x E)
    rows.each_col() -= arma::vec(arma::mean(rows, 1));             // first the mean: then no digits cancel
    const arma::vec variance = arma::mean(arma::square(rows), 1);  // (L x 1)
    rows.each_col() /= arma::vec(arma::sqrt(variance + epsilon));
    rows.each_row() %= weight;
    rows.each_row() += bias;
    normalized.slice(b) = rows;
  }
  return normalized;
}

RMSNorm::RMSNorm(arma::uword dim, double eps) : epsilon(eps) {
  require_positive("dim", dim);
  weight.ones(dim);
}

arma::cube RMSNorm::operator()(const arma::cube& X) const {
  require_shape("X", X, {{"L"}, {"E", weight.n_cols}, {"N"}});
  arma::cube scaled = X;  // (L x E x N)
  for (arma::uword n = 0; n < X.n_slices; ++n) {
    const arma::vec mean_square = arma::mean(arma::square(X.slice(n)), 1);  // (L x 1)
    scaled.slice(n).each_col() /= arma::vec(arma::sqrt(mean_square + epsilon));
    scaled.slice(n).each_row() %= weight;
  }
  return scaled;
}

}  // namespace attn
