#include "attn/norm_backward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x E x B), d_Y (L x E x B) -> d_X (L x E x B), and (1 x E) each for weight and bias
NormBackward layer_norm_backward(const LayerNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  // TODO(26.1): compute mean, root and the normalized row of each token again, then the gradients of the input, the
  // weight and the bias. Reject shapes that do not fit.
  todo("26.1");
}

// X (L x E x B), d_Y (L x E x B) -> d_X (L x E x B), and (1 x E) for the weight
NormBackward rms_norm_backward(const RMSNorm& norm, const arma::cube& X, const arma::cube& d_Y) {
  // TODO(26.2): the same without a mean and without a bias, whose gradient stays empty. Reject shapes that do not fit.
  todo("26.2");
}

}  // namespace attn
