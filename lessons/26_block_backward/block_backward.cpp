#include "attn/block_backward.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x E x B), mask as in multi_head_forward -> output (L x E x B), and the saved activations
BlockForward block_forward(const DecoderBlock& block, const arma::cube& X, const Mask& mask) {
  // TODO(26.5): h = X + attention(attention_norm(X)), output = h + feed_forward(feed_forward_norm(h)), with the forward
  // passes that save activations: multi_head_forward and network_forward. Save X and h. Reject an X of the wrong shape;
  // E is block.attention.query_proj.weight.n_rows.
  todo("26.5");
}

// d_output (L x E x B) -> d_X (L x E x B), and the gradients of all four layers
BlockBackward block_backward(const DecoderBlock& block, const arma::cube& d_output, const KeptBlock& kept) {
  // TODO(26.5): each sum passes its gradient on twice: past the branch, and into it. Reject a d_output that is not
  // shaped as X.
  todo("26.5");
}

}  // namespace attn
