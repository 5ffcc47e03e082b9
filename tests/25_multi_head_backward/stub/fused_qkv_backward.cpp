#include "attn/fused_qkv_backward.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x E x B), d_Q (L x H·D x B), d_K and d_V (L x G·D x B) -> d_X (L x E x B), d_layer.weight (E x (H + 2G)·D),
// d_layer.bias (1 x (H + 2G)·D) or empty
LinearBackward fused_qkv_backward(const Linear& qkv_proj, const arma::cube& X, const arma::cube& d_Q,
                                  const arma::cube& d_K, const arma::cube& d_V) {
  // TODO(25.4): the backward pass of [Q | K | V] = qkv_proj(X), with one call of linear_backward. Reject shapes that do
  // not fit.
  todo("25.4");
}

}  // namespace attn
