#include "attn/multi_head_backward.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/heads_backward.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

void require_plain(const DecoderAttentionConfig& config) {
  if (config.qk_norm) throw std::invalid_argument("qk_norm is on, expected a layer without it");
  if (config.soft_cap > 0) {
    throw std::invalid_argument("soft_cap is " + std::to_string(config.soft_cap) + ", expected 0");
  }
}

}  // namespace

MultiHeadForward multi_head_forward(const DecoderAttention& layer, const arma::cube& X, const Mask& mask,
                                    const Mask& keep, double p) {
  const DecoderAttentionConfig& config = layer.config();
  require_plain(config);
  require_shape("X", X, {{"L"}, {"E", config.embed_dim}, {"B"}});
  const arma::uword H = config.num_heads, G = config.num_kv_heads;

  const arma::cube Q = apply_rope(split_heads(layer.query_proj(X), H), config.pairing, {}, config.rope_speeds);
  const arma::cube K = apply_rope(split_heads(layer.key_proj(X), G), config.pairing, {}, config.rope_speeds);
  const arma::cube V = split_heads(layer.value_proj(X), G);  // (L x D x G·B)

  AttentionForward heads = attention_forward(Q, repeat_heads(K, H / G), repeat_heads(V, H / G), mask, keep, p);
  arma::cube merged = merge_heads(std::move(heads.context), H);  // (L x H·D x B)
  arma::cube output = layer.output_proj(merged);                 // (L x E x B)
  return {std::move(output), {X, std::move(heads.kept), std::move(merged)}};
}

MultiHeadBackward multi_head_backward(const DecoderAttention& layer, const arma::cube& d_output,
                                      const KeptMultiHead& kept) {
  const DecoderAttentionConfig& config = layer.config();
  const arma::uword H = config.num_heads, G = config.num_kv_heads;
  require_shape("d_output", d_output, {{"L", kept.X.n_rows}, {"E", kept.X.n_cols}, {"B", kept.X.n_slices}});

  // output = output_proj(merged), and merged = merge_heads(context)
  LinearBackward output = linear_backward(layer.output_proj, kept.merged, d_output);
  const arma::cube d_context = split_heads(std::move(output.d_X), H);  // (L x D x H·B)

  const AttentionGradients heads = attention_backward(d_context, kept.attention);
  // each key and value was read by H / G query heads
  arma::cube d_K = sum_over_groups(heads.d_K, H / G);  // (L x D x G·B)
  arma::cube d_V = sum_over_groups(heads.d_V, H / G);  // (L x D x G·B)
  // queries and keys were rotated, values were not
  arma::cube d_Q = rope_backward(heads.d_Q, config.pairing, {}, config.rope_speeds);  // (L x D x H·B)
  d_K = rope_backward(d_K, config.pairing, {}, config.rope_speeds);

  // three projections read X
  const LinearBackward query = linear_backward(layer.query_proj, kept.X, merge_heads(std::move(d_Q), H));
  const LinearBackward key = linear_backward(layer.key_proj, kept.X, merge_heads(std::move(d_K), G));
  const LinearBackward value = linear_backward(layer.value_proj, kept.X, merge_heads(std::move(d_V), G));
  return {query.d_X + key.d_X + value.d_X, {query.d_layer, key.d_layer, value.d_layer, output.d_layer}};
}

}  // namespace attn
