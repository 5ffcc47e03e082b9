#include "attn/softmax.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// scores (L x S) -> (L x S), every row non-negative and with sum one
arma::mat softmax_rows(const arma::mat& scores) {
  // TODO(00.1): reject a size of zero (require_shape in attn/shape.hpp), then return the softmax of every row.
  todo("00.1");
}

// scores (L x S x B) -> (L x S x B)
arma::cube softmax_rows(const arma::cube& scores) {
  // TODO(00.2): the same for every slice.
  todo("00.2");
}

}  // namespace attn
