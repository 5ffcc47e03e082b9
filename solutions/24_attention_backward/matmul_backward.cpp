#include "attn/matmul_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

MatmulGradients matmul_backward(const arma::mat& A, const arma::mat& B, const arma::mat& d_C) {
  require_shape("A", A, {{"R"}, {"I"}});
  require_shape("B", B, {{"I", A.n_cols}, {"C"}});
  require_shape("d_C", d_C, {{"R", A.n_rows}, {"C", B.n_cols}});
  MatmulGradients gradients;
  gradients.d_A = d_C * B.t();  // (R x I)
  gradients.d_B = A.t() * d_C;  // (I x C)
  return gradients;
}

}  // namespace attn
