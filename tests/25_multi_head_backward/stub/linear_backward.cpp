#include "attn/linear_backward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x in x B), d_Y (L x out x B) -> d_X (L x in x B), d_layer.weight (in x out), d_layer.bias (1 x out) or empty
LinearBackward linear_backward(const Linear& layer, const arma::cube& X, const arma::cube& d_Y) {
  // TODO(25.1): the gradients of Y = X W + b. Those of weight and bias are sums over all tokens of all sequences. Reject
  // shapes that do not fit.
  todo("25.1");
}

}  // namespace attn
