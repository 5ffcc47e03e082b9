#include "attn/feed_forward_backward.hpp"

#include "attn/activations_backward.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

void require_shape_of_output(const arma::cube& d_output, const KeptFeedForward& kept) {
  const arma::cube& X = kept.X;  // as large as the output
  require_shape("d_output", d_output, {{"L", X.n_rows}, {"E", X.n_cols}, {"B", X.n_slices}});
}

}  // namespace

FeedForwardForward feed_forward_forward(const FeedForward& layer, const arma::cube& X) {
  require_shape("X", X, {{"L"}, {"E", layer.up_proj.weight.n_rows}, {"B"}});
  const arma::cube up = layer.up_proj(X);  // (L x F x B)
  return {layer.down_proj(activate(layer.activation, up)), {X, {}, up}};
}

FeedForwardBackward feed_forward_backward(const FeedForward& layer, const arma::cube& d_output,
                                          const KeptFeedForward& kept) {
  require_shape_of_output(d_output, kept);
  const arma::cube hidden = activate(layer.activation, kept.up);  // (L x F x B), computed again
  const LinearBackward down = linear_backward(layer.down_proj, hidden, d_output);
  const arma::cube d_up = activate_backward(layer.activation, kept.up, down.d_X);  // (L x F x B)
  const LinearBackward up = linear_backward(layer.up_proj, kept.X, d_up);
  return {up.d_X, {{}, up.d_layer, down.d_layer}};
}

FeedForwardForward swiglu_forward(const SwiGLU& layer, const arma::cube& X) {
  require_shape("X", X, {{"L"}, {"E", layer.gate_proj.weight.n_rows}, {"B"}});
  const arma::cube gate = layer.gate_proj(X), up = layer.up_proj(X);  // (L x F x B)
  const arma::cube hidden = silu(gate) % up;                          // (L x F x B)
  return {layer.down_proj(hidden), {X, gate, up}};
}

FeedForwardBackward swiglu_backward(const SwiGLU& layer, const arma::cube& d_output, const KeptFeedForward& kept) {
  require_shape_of_output(d_output, kept);
  const arma::cube opened = silu(kept.gate);  // (L x F x B), computed again
  const LinearBackward down = linear_backward(layer.down_proj, opened % kept.up, d_output);
  const arma::cube& d_hidden = down.d_X;  // (L x F x B)
  // each factor of the product is the other one's rate
  const arma::cube d_up = d_hidden % opened;                               // (L x F x B)
  const arma::cube d_gate = silu_backward(kept.gate, d_hidden % kept.up);  // (L x F x B)
  const LinearBackward up = linear_backward(layer.up_proj, kept.X, d_up);
  const LinearBackward gate = linear_backward(layer.gate_proj, kept.X, d_gate);
  return {gate.d_X + up.d_X, {gate.d_layer, up.d_layer, down.d_layer}};
}

}  // namespace attn
