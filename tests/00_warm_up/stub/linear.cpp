#include "attn/linear.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

Linear::Linear(arma::uword in, arma::uword out, bool with_bias) {
  // TODO(00.3): reject sizes of zero, then set weight (in x out) and, if wanted, bias (1 x out), both drawn uniformly
  // from (-1/sqrt(in), 1/sqrt(in)).
  todo("00.3");
}

// x (L x in) -> (L x out)
arma::mat Linear::operator()(const arma::mat& x) const {
  // TODO(00.4): reject an x of the wrong width, then return x * weight + bias. The bias may be empty.
  todo("00.4");
}

// x (L x in x B) -> (L x out x B)
arma::cube Linear::operator()(const arma::cube& x) const {
  // TODO(00.5): the same for every slice.
  todo("00.5");
}

}  // namespace attn
