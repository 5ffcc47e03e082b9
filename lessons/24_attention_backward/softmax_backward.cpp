#include "attn/softmax_backward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// weights (L x S x N), d_weights (L x S x N) -> (L x S x N)
arma::cube softmax_backward(const arma::cube& weights, const arma::cube& d_weights) {
  // TODO(24.3): the gradient of the scores from that of the weights, row by row. Build no Jacobian. Reject shapes that
  // differ.
  todo("24.3");
}

}  // namespace attn
