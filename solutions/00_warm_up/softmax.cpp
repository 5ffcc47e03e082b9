#include "attn/softmax.hpp"

#include "attn/shape.hpp"

namespace attn {

arma::mat softmax_rows(const arma::mat& scores) {
  require_shape("scores", scores, {{"L"}, {"S"}});
  // arma::vec(...) says that the maxima are a column; the lines work without it, too
  arma::mat exponentials = scores;                             // (L x S)
  exponentials.each_col() -= arma::vec(arma::max(scores, 1));  // the largest of a row becomes exp(0) = 1
  exponentials = arma::exp(exponentials);
  exponentials.each_col() /= arma::vec(arma::sum(exponentials, 1));
  return exponentials;
}

arma::cube softmax_rows(const arma::cube& scores) {
  require_shape("scores", scores, {{"L"}, {"S"}, {"B"}});
  arma::cube weights(arma::size(scores));  // (L x S x B)
  for (arma::uword b = 0; b < scores.n_slices; ++b) weights.slice(b) = softmax_rows(scores.slice(b));
  return weights;
}

}  // namespace attn
