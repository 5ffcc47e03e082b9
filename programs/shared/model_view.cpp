#include "shared/model_view.hpp"

#include <algorithm>
#include <cmath>

#include "attn/heads.hpp"
#include "attn/masking.hpp"
#include "attn/positions.hpp"
#include "lesson/text.hpp"
#include "lesson/utf8.hpp"

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

/// How many bytes of a text are whole characters, or cannot become one.
std::size_t whole_characters(const std::string& text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;  // within a character
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF8 ? 4 : 1;
    return back < length ? text.size() - back : text.size();
  }
  return text.size();
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
    if (visited == layer) found = {layer, head, weights, 0};
    return visited < layer;
  });
  return found;
}

HeadOfLayer best_head(LanguageModel& model, const std::vector<arma::uword>& ids,
                      const std::function<double(const arma::mat&)>& score_of) {
  HeadOfLayer best;
  visit_attention(model, ids, [&](arma::uword layer, const arma::cube& weights) {
    for (arma::uword head = 0; head < weights.n_slices; ++head) {
      const double score = score_of(weights.slice(head));
      if (best.weights.is_empty() || score > best.score) best = {layer, head, weights, score};
    }
    return true;
  });
  return best;
}

HeadOfLayer sharpest_head(LanguageModel& model, const std::vector<arma::uword>& ids) {
  return best_head(model, ids, sharpness);
}

std::string CharacterStream::take(const std::string& bytes) {
  pending_ += bytes;
  const std::size_t whole = whole_characters(pending_);
  const std::string text = pending_.substr(0, whole);
  pending_.erase(0, whole);
  return shown(text);
}

std::string CharacterStream::finish() {
  const std::string text = shown(pending_);
  pending_.clear();
  return text;
}

std::string CharacterStream::shown(const std::string& text) const {
  std::string clean;
  for (const auto& character : utf8::characters(text)) {
    const bool fits = character.printable() || character.code == U'\n' || character.code == U'\t';
    clean += fits ? std::string(character.bytes) : "\xEF\xBF\xBD";
  }
  return ascii_ ? in_ascii(clean) : clean;
}

std::string bytes_of(const ByteLevelBPE& tokenizer, arma::uword id) {
  const TokenizerData& data = tokenizer.data();
  const bool is_special = std::any_of(data.specials.begin(), data.specials.end(),
                                      [id](const SpecialToken& special) { return special.id == id; });
  const bool is_token = is_special || (id < data.tokens.size() && !data.tokens[id].empty());
  return is_token ? tokenizer.decode({id}) : "";
}

std::vector<std::string> labels_of(const ByteLevelBPE& tokenizer, const std::vector<arma::uword>& ids) {
  std::vector<std::string> labels;
  for (const arma::uword id : ids) {
    std::string text = bytes_of(tokenizer, id);
    if (text.size() > 1 && text.front() == ' ') text.erase(0, 1);
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, "\\n");
    labels.push_back(text);
  }
  return labels;
}

}  // namespace attn
