#include "attn/multi_head_backward.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/heads_backward.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

// X (L x E x B), mask (L x L x M), keep (L x L x H·B) -> output (L x E x B), and the saved activations
MultiHeadForward multi_head_forward(const DecoderAttention& layer, const arma::cube& X, const Mask& mask,
                                    const Mask& keep, double p) {
  // TODO(25.5): the layer's forward pass with attention_forward. Save X, what attention_forward saves, and the merged
  // heads. Reject an X of the wrong shape, and a layer with qk_norm or soft_cap.
  todo("25.5");
}

// d_output (L x E x B) -> d_X (L x E x B), and the gradients of the four projections
MultiHeadBackward multi_head_backward(const DecoderAttention& layer, const arma::cube& d_output,
                                      const KeptMultiHead& kept) {
  // TODO(25.6): the steps of multi_head_forward in reverse. Reject a d_output of the wrong shape.
  todo("25.6");
}

}  // namespace attn
