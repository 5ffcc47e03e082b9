#include "attn/fused_multi_head_attention.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

FusedMultiHeadAttention::FusedMultiHeadAttention(arma::uword embed_dim, arma::uword num_heads, double dropout_p)
    : qkv_proj(require_multiple("embed_dim", embed_dim, "num_heads", num_heads), 3 * embed_dim),
      output_proj(embed_dim, embed_dim),
      dropout(dropout_p),
      num_heads_(num_heads) {}

arma::cube FusedMultiHeadAttention::forward(const arma::cube& X, const Mask& mask) {
  const arma::uword H = num_heads_;
  require_shape("X", X, {{"L"}, {"E", qkv_proj.weight.n_rows}, {"B"}});
  require_mask("mask", mask, X.n_rows, X.n_rows, X.n_slices, H);

  const arma::cube QKV = split_heads(qkv_proj(X), 3 * H);  // (L x D x 3H·B)
  const auto query = [&](arma::uword n) -> const arma::mat& { return QKV.slice(n / H * 3 * H + n % H); };
  const auto key = [&](arma::uword n) -> const arma::mat& { return QKV.slice(n / H * 3 * H + H + n % H); };
  const auto value = [&](arma::uword n) -> const arma::mat& { return QKV.slice(n / H * 3 * H + 2 * H + n % H); };

  arma::cube scores(X.n_rows, X.n_rows, H * X.n_slices);  // (L x L x H·B)
  for (arma::uword n = 0; n < scores.n_slices; ++n) {
    scores.slice(n) = query(n) * key(n).t() / std::sqrt(static_cast<double>(QKV.n_cols));
  }
  attention_weights_ = dropout(safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf)));

  arma::cube context(X.n_rows, QKV.n_cols, H * X.n_slices);  // (L x D x H·B)
  for (arma::uword n = 0; n < context.n_slices; ++n) context.slice(n) = attention_weights_.slice(n) * value(n);
  return output_proj(merge_heads(std::move(context), H));
}

FusedMultiHeadAttention fuse(const MultiHeadAttention& separate) {
  FusedMultiHeadAttention fused(separate.query_proj.weight.n_rows, separate.num_heads());
  fused.qkv_proj = join_columns({separate.query_proj, separate.key_proj, separate.value_proj});
  fused.output_proj = separate.output_proj;
  fused.dropout = separate.dropout;
  return fused;
}

Linear join_columns(const std::vector<Linear>& layers) {
  if (layers.empty()) throw std::invalid_argument("layers is empty, expected at least one Linear");
  Linear joined = layers.front();
  for (std::size_t i = 1; i < layers.size(); ++i) {
    const Linear& layer = layers[i];
    if (layer.weight.n_rows != joined.weight.n_rows || layer.bias.is_empty() != joined.bias.is_empty()) {
      throw std::invalid_argument("layers[" + std::to_string(i) + "] is " + shape_text(layer.weight) +
                                  (layer.bias.is_empty() ? " without" : " with") + " a bias, expected " +
                                  std::to_string(joined.weight.n_rows) + " rows and " +
                                  (joined.bias.is_empty() ? "no" : "a") + " bias, as layers[0] has");
    }
    joined.weight = arma::join_rows(joined.weight, layer.weight);  // (in x sum of out)
    joined.bias = arma::join_rows(joined.bias, layer.bias);        // (1 x sum of out)
  }
  return joined;
}

Linear compose(const Linear& first, const Linear& second) {
  require_shape("second", second.weight, {{"in", first.weight.n_cols}, {"out"}});
  Linear composed(first.weight.n_rows, second.weight.n_cols, !first.bias.is_empty() || !second.bias.is_empty());
  composed.weight = first.weight * second.weight;  // (in x out), since (x W_1) W_2 = x (W_1 W_2)
  if (!composed.bias.is_empty()) composed.bias.zeros();
  if (!first.bias.is_empty())
    composed.bias += first.bias * second.weight;  // the second layer sees the first one's bias
  if (!second.bias.is_empty()) composed.bias += second.bias;
  return composed;
}

}  // namespace attn
