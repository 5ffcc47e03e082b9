#include "attn/nn_multihead_attention.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn::nn {

namespace {

/// PyTorch has one mask for all, or one for each head of each sequence.
template <class AnyMask>
void require_attn_mask(const std::string& name, const AnyMask& mask, arma::uword L, arma::uword S, arma::uword N) {
  if (mask.is_empty()) return;
  if (mask.n_rows == L && mask.n_cols == S && (mask.n_slices == 1 || mask.n_slices == N)) return;
  const std::string rows_cols = std::to_string(L) + " x " + std::to_string(S) + " x ";
  throw std::invalid_argument(name + " is " + shape_text(mask) + ", expected " + rows_cols + "1 or " + rows_cols +
                              std::to_string(N));
}

void require_inputs(const MultiheadAttention& layer, const arma::cube& query, const arma::cube& key,
                    const arma::cube& value, const MultiheadAttentionOptions& options) {
  const arma::uword L = query.n_rows;
  const arma::uword S = key.n_rows;
  const arma::uword B = query.n_slices;
  require_shape("query", query, {{"L"}, {"E", layer.query_proj.weight.n_rows}, {"B"}});
  require_shape("key", key, {{"S"}, {"kdim", layer.key_proj.weight.n_rows}, {"B", B}});
  require_shape("value", value, {{"S", S}, {"vdim", layer.value_proj.weight.n_rows}, {"B", B}});
  require_attn_mask("bool_attn_mask", options.bool_attn_mask, L, S, layer.num_heads() * B);
  require_attn_mask("float_attn_mask", options.float_attn_mask, L, S, layer.num_heads() * B);
  if (!options.key_padding_mask.is_empty()) {
    require_shape("key_padding_mask", arma::conv_to<arma::mat>::from(options.key_padding_mask), {{"B", B}, {"S", S}});
  }
}

}  // namespace

// (B x S) and (L x S x 1 or H·B), 1 = ignore -> (L x S x H·B), (L x S x 1) or empty, 1 = may attend
Mask allowed_mask(const MultiheadAttentionOptions& options, arma::uword L, arma::uword num_heads) {
  // TODO(11.3): turn both masks: where PyTorch's has 1, ours has 0. The padding of sequence b is for all its H slices,
  // b·H to b·H + H-1, and for every row of them. A key may be attended to where both masks allow it.
  todo("11.3");
}

// (L x S x H·B) -> (L x S x B)
arma::cube average_heads(const arma::cube& weights, arma::uword num_heads) {
  // TODO(11.4): reject sizes of zero, and heads that do not divide the slices. Then the mean of the H slices that lie
  // side by side, for each sequence.
  todo("11.4");
}

// query (L x E x B), key (S x kdim x B), value (S x vdim x B)
MultiheadAttention::Result MultiheadAttention::forward(const arma::cube& query, const arma::cube& key,
                                                       const arma::cube& value,
                                                       const MultiheadAttentionOptions& options) {
  require_inputs(*this, query, key, value, options);
  // TODO(11.5): project and split into heads; scores Q K^T / sqrt(D), plus the float mask; block what allowed_mask
  // blocks; softmax and dropout; mix the values, merge the heads, project. The weights are returned after dropout:
  // averaged, each head's own, or not at all, as the options say.
  todo("11.5");
}

}  // namespace attn::nn
