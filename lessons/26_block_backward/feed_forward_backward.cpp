#include "attn/feed_forward_backward.hpp"

#include "attn/activations_backward.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x E x B) -> output (L x E x B), and the saved activations
FeedForwardForward feed_forward_forward(const FeedForward& layer, const arma::cube& X) {
  // TODO(26.4): the output of the layer; save X, and what up_proj gives before the activation. Reject a wrong shape.
  todo("26.4");
}

// d_output (L x E x B) -> d_X (L x E x B), and the gradients of both projections
FeedForwardBackward feed_forward_backward(const FeedForward& layer, const arma::cube& d_output,
                                          const KeptFeedForward& kept) {
  // TODO(26.4): down_proj, activation, up_proj, from the last to the first. Reject a d_output of the wrong shape.
  todo("26.4");
}

// X (L x E x B) -> output (L x E x B), and the saved activations
FeedForwardForward swiglu_forward(const SwiGLU& layer, const arma::cube& X) {
  // TODO(26.4): the output of the layer; save X, the gate before silu, and up. Reject a wrong shape.
  todo("26.4");
}

// d_output (L x E x B) -> d_X (L x E x B), and the gradients of the three projections
FeedForwardBackward swiglu_backward(const SwiGLU& layer, const arma::cube& d_output, const KeptFeedForward& kept) {
  // TODO(26.4): through the product into both factors, and through both projections to X. Reject a wrong shape.
  todo("26.4");
}

}  // namespace attn
