#include "attn/linear.hpp"

#include <cmath>

#include "attn/shape.hpp"

namespace attn {

Linear::Linear(arma::uword in, arma::uword out, bool with_bias) {
  // require_positive for both, and for their product to fit into an arma::uword
  require_product({{"in", in}, {"out", out}});
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  weight = arma::randu(in, out, arma::distr_param(-bound, bound));
  if (with_bias) bias = arma::randu<arma::rowvec>(out, arma::distr_param(-bound, bound));
}

arma::mat Linear::operator()(const arma::mat& x) const {
  require_shape("x", x, {{"L"}, {"in", weight.n_rows}});
  arma::mat y = x * weight;  // (L x in) (in x out) -> (L x out)
  if (!bias.is_empty()) y.each_row() += bias;
  return y;
}

arma::cube Linear::operator()(const arma::cube& x) const {
  require_shape("x", x, {{"L"}, {"in", weight.n_rows}, {"B"}});
  arma::cube y(x.n_rows, weight.n_cols, x.n_slices);  // (L x out x B)
  for (arma::uword b = 0; b < x.n_slices; ++b) y.slice(b) = (*this)(x.slice(b));
  return y;
}

}  // namespace attn
