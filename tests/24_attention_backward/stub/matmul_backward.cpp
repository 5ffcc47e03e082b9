#include "attn/matmul_backward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// A (R x I), B (I x C), d_C (R x C) -> d_A (R x I), d_B (I x C)
MatmulGradients matmul_backward(const arma::mat& A, const arma::mat& B, const arma::mat& d_C) {
  // TODO(24.2): the gradients of both factors of C = A B. Each is as large as its factor. Reject shapes that do not fit.
  todo("24.2");
}

}  // namespace attn
