#include "attn/attention_backward.hpp"

#include <cmath>

#include "attn/dropout.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/softmax_backward.hpp"
#include "attn/todo.hpp"

namespace attn {

// Q (L x D x N), K (S x D x N), V (S x Dv x N), mask (L x S x M), keep (L x S x N) -> context (L x Dv x N), and the
// saved activations
AttentionForward attention_forward(const arma::cube& Q, const arma::cube& K, const arma::cube& V, const Mask& mask,
                                   const Mask& keep, double p) {
  // TODO(24.4): attention under a mask, with dropout on the weights where keep is not empty. Save what the backward pass
  // needs. Reject shapes that do not fit.
  todo("24.4");
}

// d_context (L x Dv x N) -> d_Q (L x D x N), d_K (S x D x N), d_V (S x Dv x N)
AttentionGradients attention_backward(const arma::cube& d_context, const KeptAttention& kept) {
  // TODO(24.5): the steps of attention_forward in reverse, each with its own rule. Reject a d_context of the wrong shape.
  todo("24.5");
}

}  // namespace attn
