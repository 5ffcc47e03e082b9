#include "layer_attention.hpp"

#include <cmath>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/positions.hpp"

namespace attn {

namespace {

/// @param X (L x E x 1), what the attention gets
/// @return  (L x L x H)
arma::cube weights_of(const DecoderAttention& attention, const arma::cube& X) {
  const DecoderAttentionConfig& config = attention.config();
  arma::cube Q = split_heads(attention.query_proj(X), config.num_heads);   // (L x D x H)
  arma::cube K = split_heads(attention.key_proj(X), config.num_kv_heads);  // (L x D x G)
  if (config.qk_norm) {
    Q = attention.query_norm(Q);
    K = attention.key_norm(K);
  }
  const arma::uvec before = {0};
  const arma::umat positions = positions_after(before, X.n_rows);  // (L x 1)
  Q = apply_rope(Q, config.pairing, positions, config.rope_speeds);
  K = apply_rope(K, config.pairing, positions, config.rope_speeds);

  arma::cube scores(X.n_rows, X.n_rows, config.num_heads);  // (L x L x H)
  for (arma::uword h = 0; h < config.num_heads; ++h) {
    const arma::uword group = h / (config.num_heads / config.num_kv_heads);
    scores.slice(h) = Q.slice(h) * K.slice(group).t() / std::sqrt(static_cast<double>(Q.n_cols));
  }
  if (config.soft_cap > 0) scores = config.soft_cap * arma::tanh(scores / config.soft_cap);
  const arma::uvec lengths = {X.n_rows};
  const Mask mask = decoder_mask(before, lengths, X.n_rows, X.n_rows, config.window);  // (L x L x 1)
  return safe_softmax_rows(masked_fill(scores, mask, -arma::datum::inf));
}

/// The mean over the tokens, from the third one on, of the largest weight on a token before it but the first.
double sharpness(const arma::mat& weights) {
  double sum = 0;
  for (arma::uword i = 2; i < weights.n_rows; ++i) sum += weights(i, arma::span(1, i - 1)).max();
  return sum;
}

}  // namespace

void visit_attention(LanguageModel& model, const std::vector<arma::uword>& ids, const VisitLayer& visit) {
  model.reset();
  arma::cube X = model.token_embedding(arma::umat(arma::uvec(ids)));  // (L x E x 1)
  if (!model.position_embedding.is_empty()) X.slice(0) += model.position_embedding.head_rows(X.n_rows);
  arma::uword layer = 0;
  for (DecoderBlock& block : model.blocks) {
    if (!visit(layer++, weights_of(block.attention, apply_layer(block.attention_norm, X)))) break;
    X = block.extend(X);
  }
  model.reset();
}

HeadOfLayer head_of_layer(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword layer,
                          arma::uword head) {
  HeadOfLayer found;
  visit_attention(model, ids, [&](arma::uword visited, const arma::cube& weights) {
    if (visited == layer) found = {layer, head, weights};
    return visited < layer;
  });
  return found;
}

HeadOfLayer sharpest_head(LanguageModel& model, const std::vector<arma::uword>& ids) {
  HeadOfLayer best;
  double most = -1;
  visit_attention(model, ids, [&](arma::uword layer, const arma::cube& weights) {
    for (arma::uword head = 0; head < weights.n_slices; ++head) {
      if (sharpness(weights.slice(head)) <= most) continue;
      most = sharpness(weights.slice(head));
      best = {layer, head, weights};
    }
    return true;
  });
  return best;
}

}  // namespace attn
