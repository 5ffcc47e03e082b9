#include "attn/language_model.hpp"

#include <stdexcept>
#include <string>

#include "attn/linear.hpp"
#include "attn/shape.hpp"

namespace attn {

namespace {

bool is_gpt2(const LanguageModelConfig& config) { return config.architecture == Architecture::gpt2; }

AnyNorm make_norm(const LanguageModelConfig& config) {
  const arma::uword E = require_positive("embed_dim", config.attention.embed_dim);
  if (is_gpt2(config)) return LayerNorm(E, config.norm_epsilon);
  return RMSNorm(E, config.norm_epsilon);
}

AnyFeedForward make_feed_forward(const LanguageModelConfig& config) {
  if (is_gpt2(config)) return FeedForward(config.attention.embed_dim, config.hidden_dim, Activation::gelu_tanh);
  return SwiGLU(config.attention.embed_dim, config.hidden_dim);
}

/// The attention's own configuration: gpt2 turns nothing.
DecoderAttentionConfig attention_config(const LanguageModelConfig& config) {
  DecoderAttentionConfig attention = config.attention;
  if (!is_gpt2(config)) return attention;
  const arma::uword heads = require_positive("num_heads", attention.num_heads);
  const arma::uword D = attention.head_dim == 0 ? attention.embed_dim / heads : attention.head_dim;
  attention.rope_speeds.zeros(D / 2);
  return attention;
}

LanguageModelConfig checked(const LanguageModelConfig& config) {
  require_positive("vocab_size", config.vocab_size);
  require_positive("num_layers", config.num_layers);
  if (is_gpt2(config)) {
    require_product({{"max_position", config.max_position}, {"embed_dim", config.attention.embed_dim}});
  } else if (config.max_position != 0) {
    throw std::invalid_argument("max_position is " + std::to_string(config.max_position) +
                                ", expected 0, as llama has no table of positions");
  }
  return config;
}

/// How many rows are new tokens of each sequence, B numbers.
arma::uvec checked_lengths(const arma::uvec& lengths, arma::uword L, arma::uword batch) {
  if (lengths.is_empty()) return arma::uvec(batch).fill(L);
  if (lengths.n_elem != batch) {
    throw std::invalid_argument("lengths has " + std::to_string(lengths.n_elem) +
                                " elements, expected B = " + std::to_string(batch) + ", or none");
  }
  require_at_most("lengths, its largest,", lengths.max(), "L", L);
  return lengths;
}

/// Adds to every new token of X the row of the table at its position. Rows of padding stay.
void add_positions(arma::cube& X, const arma::mat& table, const arma::uvec& old_lengths, const arma::uvec& lengths) {
  for (arma::uword b = 0; b < X.n_slices; ++b) {
    if (lengths(b) == 0) continue;
    const arma::uword first = old_lengths.is_empty() ? 0 : old_lengths(b), last = first + lengths(b) - 1;
    if (last >= table.n_rows) {
      throw std::invalid_argument("position is " + std::to_string(last) + ", expected below " +
                                  std::to_string(table.n_rows) + ", the rows of position_embedding");
    }
    X.slice(b).head_rows(lengths(b)) += table.rows(first, last);
  }
}

}  // namespace

DecoderBlock::DecoderBlock(const LanguageModelConfig& config)
    : attention_norm(make_norm(config)),
      attention(attention_config(config)),
      feed_forward_norm(make_norm(config)),
      feed_forward(make_feed_forward(config)) {
  attention.query_norm.epsilon = config.norm_epsilon;
  attention.key_norm.epsilon = config.norm_epsilon;
}

arma::cube DecoderBlock::extend(const arma::cube& X, const arma::uvec& lengths) {
  const arma::cube h = X + attention.extend(apply_layer(attention_norm, X), lengths);  // (L x E x B)
  return h + apply_layer(feed_forward, apply_layer(feed_forward_norm, h));
}

LanguageModel::LanguageModel(const LanguageModelConfig& config)
    : token_embedding(checked(config).vocab_size, require_positive("embed_dim", config.attention.embed_dim)),
      position_embedding(config.max_position, config.attention.embed_dim, arma::fill::randn),
      final_norm(make_norm(config)),
      config_(config) {
  if (!is_gpt2(config)) position_embedding.reset();
  for (arma::uword n = 0; n < config.num_layers; ++n) blocks.emplace_back(config);
  if (!config.tied_head) head = Linear(config.attention.embed_dim, config.vocab_size, false).weight;
}

arma::cube LanguageModel::extend(const arma::umat& ids, const arma::uvec& lengths) {
  // All is checked here, before the first block: so no later one can refuse what an earlier one has taken.
  require_shape("ids", ids, {{"L"}, {"B", this->lengths().n_elem}});
  const arma::uvec added = checked_lengths(lengths, ids.n_rows, ids.n_cols);
  arma::cube X = token_embedding(ids);  // (L x E x B)
  if (is_gpt2(config_)) add_positions(X, position_embedding, this->lengths(), added);
  for (DecoderBlock& block : blocks) X = block.extend(X, added);
  X = apply_layer(final_norm, X);

  arma::cube logits(ids.n_rows, config_.vocab_size, ids.n_cols);  // (L x V x B)
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    logits.slice(b) = head.is_empty() ? arma::mat(X.slice(b) * token_embedding.weight.t()) : X.slice(b) * head;
  }
  return logits;
}

void LanguageModel::reset() {
  for (DecoderBlock& block : blocks) block.attention.reset();
}

}  // namespace attn
