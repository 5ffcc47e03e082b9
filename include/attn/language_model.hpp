#pragma once

#include <armadillo>
#include <variant>
#include <vector>

#include "attn/decoder_attention.hpp"
#include "attn/embedding.hpp"
#include "attn/feed_forward.hpp"
#include "attn/norm.hpp"

namespace attn {

/// Two families of decoder-only language models, and what differs in them.
enum class Architecture {
  llama,  ///< RMSNorm, SwiGLU, RoPE. Also Mistral, Qwen, SmolLM
  gpt2    ///< LayerNorm, a feed-forward network with gelu_tanh, a table of learned positions, and no RoPE
};

/// The sizes of a language model. In brackets: the name in the config.json of models for Hugging Face's transformers.
struct LanguageModelConfig {
  Architecture architecture = Architecture::llama;  ///< (model_type)
  arma::uword vocab_size = 0;                       ///< V, the number of tokens (vocab_size)
  arma::uword num_layers = 0;                       ///< N, blocks (num_hidden_layers)
  arma::uword hidden_dim = 0;        ///< F, the width inside the feed-forward networks (intermediate_size)
  DecoderAttentionConfig attention;  ///< of every block; E is attention.embed_dim
  double norm_epsilon = 1e-6;        ///< of all norms, those of qk_norm among them (rms_norm_eps)
  bool tied_head = true;             ///< the head is the token embedding, transposed (tie_word_embeddings)
  arma::uword max_position = 0;      ///< P: how many learned positions gpt2 has; llama has none (n_positions)
};

/// One of the two norms, and one of the two feed-forward networks, of lesson 20.
using AnyNorm = std::variant<RMSNorm, LayerNorm>;
using AnyFeedForward = std::variant<SwiGLU, FeedForward>;

/// Calls the layer that a variant holds: apply_layer(norm, X) is X through this norm. (L x E x B) to (L x E x B).
template <typename Layers>
arma::cube apply_layer(const Layers& layers, const arma::cube& X) {
  return std::visit([&](const auto& layer) { return layer(X); }, layers);
}

/// One block of a decoder-only model, with its own cache. A pre-norm block, as in lesson 20:
///
///   h = X + attention(attention_norm(X)),     output = h + feed_forward(feed_forward_norm(h))
class DecoderBlock {
 public:
  AnyNorm attention_norm;  ///< over E
  DecoderAttention attention;
  AnyNorm feed_forward_norm;  ///< over E
  AnyFeedForward feed_forward;

  /// With norms, feed-forward network and attention as the architecture says. For gpt2 all speeds of RoPE are zero, so
  /// that nothing is rotated, whatever config.attention says.
  ///
  /// @throws std::invalid_argument naming hidden_dim, when it is zero; or as DecoderAttention does.
  explicit DecoderBlock(const LanguageModelConfig& config);

  /// New tokens of each sequence, as in DecoderAttention::extend.
  ///
  /// @param X (L x E x B)
  /// @return  (L x E x B)
  /// @throws std::invalid_argument as DecoderAttention::extend. The cache is then as it was before.
  arma::cube extend(const arma::cube& X, const arma::uvec& lengths = {});
};

/// A decoder-only language model: for each token, how likely every token of the vocabulary is to come next.
///
///   X = token_embedding(ids)        gpt2 adds row p of position_embedding at position p
///   X = block(X), for every block
///   logits = final_norm(X) W,       W = head or, if that is tied, the transposed weight of the token embedding
///
/// Radford et al., Language Models are Unsupervised Multitask Learners (2019), section 2.3; Touvron et al., Llama (2023),
/// section 2.2. The tied head: Press, Wolf (2017).
class LanguageModel {
 public:
  Embedding token_embedding;         ///< (V x E)
  arma::mat position_embedding;      ///< (P x E) for gpt2; empty for llama
  std::vector<DecoderBlock> blocks;  ///< N of them
  AnyNorm final_norm;                ///< over E
  arma::mat head;                    ///< (E x V), no bias; empty when the head is tied

  /// All weights are drawn at random, as those of the layers are.
  ///
  /// @throws std::invalid_argument naming vocab_size or num_layers, when it is zero; max_position, when it is zero for
  ///         gpt2 and when it is not for llama; or as DecoderBlock does.
  explicit LanguageModel(const LanguageModelConfig& config);

  /// Takes any number of new tokens of each sequence: a prompt, a part of it, the next token. The first call after the
  /// constructor or reset decides B.
  ///
  /// @param ids     (L x B), filled up with any ids of the vocabulary after a sequence's new tokens
  /// @param lengths how many rows are new tokens of each sequence, B numbers from 0 to L; empty: all L rows
  /// @return        the logits (L x V x B): row i of slice b is about the token after row i of sequence b; rows after a
  ///                sequence's new tokens mean nothing
  /// @throws std::invalid_argument naming ids, when a size is zero, an id is not below V, or B is not that of the call
  ///         before; lengths, when they do not fit; or position, when gpt2 has no row for a token ("position is 1024,
  ///         expected below 1024, the rows of position_embedding"). All caches are then as they were before.
  arma::cube extend(const arma::umat& ids, const arma::uvec& lengths = {});

  /// Forgets all tokens. The next call may bring another number of sequences.
  void reset();

  /// How many tokens of each sequence were taken; empty before the first call.
  const arma::uvec& lengths() const { return blocks.front().attention.cache().lengths(); }

  const LanguageModelConfig& config() const { return config_; }

 private:
  LanguageModelConfig config_;
};

}  // namespace attn
