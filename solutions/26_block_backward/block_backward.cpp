#include "attn/block_backward.hpp"

#include "attn/shape.hpp"

namespace attn {

BlockForward block_forward(const DecoderBlock& block, const arma::cube& X, const Mask& mask) {
  require_shape("X", X, {{"L"}, {"E", block.attention.query_proj.weight.n_rows}, {"B"}});
  const MultiHeadForward attention = multi_head_forward(block.attention, apply_layer(block.attention_norm, X), mask);
  const arma::cube h = X + attention.output;  // (L x E x B)
  const FeedForwardForward network = network_forward(block.feed_forward, apply_layer(block.feed_forward_norm, h));
  return {h + network.output, {X, attention.kept, h, network.kept}};
}

BlockBackward block_backward(const DecoderBlock& block, const arma::cube& d_output, const KeptBlock& kept) {
  const arma::cube& X = kept.X;
  require_shape("d_output", d_output, {{"L", X.n_rows}, {"E", X.n_cols}, {"B", X.n_slices}});
  // output = h + network(norm(h)): into the branch, and past it
  const FeedForwardBackward network = network_backward(block.feed_forward, d_output, kept.feed_forward);
  const NormBackward second_norm = norm_backward(block.feed_forward_norm, kept.h, network.d_X);
  const arma::cube d_h = d_output + second_norm.d_X;  // (L x E x B)
  // h = X + attention(norm(X))
  const MultiHeadBackward attention = multi_head_backward(block.attention, d_h, kept.attention);
  const NormBackward first_norm = norm_backward(block.attention_norm, X, attention.d_X);
  const arma::cube d_X = d_h + first_norm.d_X;  // (L x E x B)
  return {d_X, {first_norm.d_layer, attention.d_layer, second_norm.d_layer, network.d_layer}};
}

}  // namespace attn
