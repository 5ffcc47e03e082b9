#include "attn/nn_multihead_attention.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

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

/// Without padding B is unknown: any number of whole sequences fits.
void require_allowed_mask(const MultiheadAttentionOptions& options, arma::uword L, arma::uword num_heads) {
  const arma::ucube& attn_mask = options.bool_attn_mask;
  const arma::umat& padding = options.key_padding_mask;
  require_product({{"L", L}, {"num_heads", num_heads}});
  const arma::uword S = padding.is_empty() ? attn_mask.n_cols : padding.n_cols;
  const arma::uword B = padding.is_empty() ? std::max<arma::uword>(1, attn_mask.n_slices / num_heads) : padding.n_rows;
  if (!padding.is_empty()) require_product({{"L", L}, {"S", S}, {"num_heads", num_heads}, {"B", B}});
  require_attn_mask("bool_attn_mask", attn_mask, L, S, num_heads * B);
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

Mask allowed_mask(const MultiheadAttentionOptions& options, arma::uword L, arma::uword num_heads) {
  require_allowed_mask(options, L, num_heads);
  Mask mask;
  if (!options.bool_attn_mask.is_empty()) mask = options.bool_attn_mask == 0;
  if (options.key_padding_mask.is_empty()) return mask;
  Mask keys(L, options.key_padding_mask.n_cols, num_heads * options.key_padding_mask.n_rows);  // (L x S x H·B)
  for (arma::uword n = 0; n < keys.n_slices; ++n) {
    keys.slice(n).each_row() = arma::urowvec(options.key_padding_mask.row(n / num_heads) == 0);
  }
  return combine_masks(keys, mask);
}

arma::cube average_heads(const arma::cube& weights, arma::uword num_heads) {
  require_shape("weights", weights, {{"L"}, {"S"}, {"H·B"}});
  require_multiple("weights, its number of slices,", weights.n_slices, "num_heads", num_heads);
  arma::cube mean(weights.n_rows, weights.n_cols, weights.n_slices / num_heads);  // (L x S x B)
  for (arma::uword b = 0; b < mean.n_slices; ++b) {
    const arma::cube heads = weights.slices(b * num_heads, (b + 1) * num_heads - 1);  // (L x S x H)
    mean.slice(b) = arma::mean(heads, 2);
  }
  return mean;
}

MultiheadAttention::Result MultiheadAttention::forward(const arma::cube& query, const arma::cube& key,
                                                       const arma::cube& value,
                                                       const MultiheadAttentionOptions& options) {
  require_inputs(*this, query, key, value, options);
  const arma::uword L = query.n_rows;
  const arma::uword S = key.n_rows;
  const arma::uword N = num_heads_ * query.n_slices;

  const arma::cube Q = split_heads(query_proj(query), num_heads_);  // (L x D x H·B)
  const arma::cube K = split_heads(key_proj(key), num_heads_);      // (S x D x H·B)
  const arma::cube V = split_heads(value_proj(value), num_heads_);  // (S x D x H·B)

  arma::cube scores(L, S, N);  // (L x S x H·B)
  for (arma::uword n = 0; n < N; ++n) {
    scores.slice(n) = Q.slice(n) * K.slice(n).t() / std::sqrt(static_cast<double>(Q.n_cols));
    const arma::cube& added = options.float_attn_mask;
    if (!added.is_empty()) scores.slice(n) += added.slice(added.n_slices == 1 ? 0 : n);
  }
  const Mask mask = allowed_mask(options, L, num_heads_);
  const arma::cube weights = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

  arma::cube context(arma::size(Q));  // (L x D x H·B)
  for (arma::uword n = 0; n < N; ++n) context.slice(n) = weights.slice(n) * V.slice(n);
  Result result;
  result.output = output_proj(merge_heads(std::move(context), num_heads_));
  if (!options.need_weights) return result;
  result.weights = options.average_attn_weights ? average_heads(weights, num_heads_) : weights;
  return result;
}

}  // namespace attn::nn
