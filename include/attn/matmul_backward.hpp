#pragma once

#include <armadillo>

namespace attn {

/// The gradients of both factors of a product.
struct MatmulGradients {
  arma::mat d_A;  ///< as large as A
  arma::mat d_B;  ///< as large as B
};

/// Backward pass of C = A B: from the gradient of the product to those of its factors. Both are matrix products, too
/// (Goodfellow, Bengio, Courville: Deep Learning, section 6.5.6).
///
/// @param A   (R x I)
/// @param B   (I x C)
/// @param d_C (R x C): how much the loss changes per change of each number of C
/// @throws std::invalid_argument naming B or d_C, its shape and what was expected, or the matrix that is empty.
MatmulGradients matmul_backward(const arma::mat& A, const arma::mat& B, const arma::mat& d_C);

}  // namespace attn
