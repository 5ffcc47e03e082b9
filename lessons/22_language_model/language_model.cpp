#include "attn/language_model.hpp"

#include "attn/shape.hpp"
#include "attn/todo.hpp"

namespace attn {

DecoderBlock::DecoderBlock(const LanguageModelConfig& config)
    : attention_norm(RMSNorm(1)),
      attention(config.attention),
      feed_forward_norm(RMSNorm(1)),
      feed_forward(SwiGLU(1, 1)) {
  // TODO(22.4): put norms, attention and feed-forward network of config.architecture above instead of these. For gpt2 all
  // of rope_speeds are 0. config.norm_epsilon is for all norms, also those inside of attention.
  todo("22.4");
}

// X (L x E x B), lengths (B) or empty -> (L x E x B)
arma::cube DecoderBlock::extend(const arma::cube& X, const arma::uvec& lengths) {
  // The second part of 22.4: the two residual steps of a pre-norm block.
  todo("22.4");
}

LanguageModel::LanguageModel(const LanguageModelConfig& config)
    : token_embedding(1, 1), final_norm(RMSNorm(1)), config_(config) {
  // TODO(22.5): the right token_embedding and final_norm above; then num_layers blocks, for gpt2 position_embedding, and
  // without tied_head the head, drawn as a Linear draws. Reject what the header lists.
  todo("22.5");
}

// ids (L x B), lengths (B) or empty -> logits (L x V x B)
arma::cube LanguageModel::extend(const arma::umat& ids, const arma::uvec& lengths) {
  // TODO(22.6): check all there is to check, as no block may take what a later one refuses. Then tokens (for gpt2 plus
  // positions), blocks, final norm, head.
  todo("22.6");
}

void LanguageModel::reset() {
  // The second part of 22.5: every block forgets its tokens.
  todo("22.5");
}

}  // namespace attn
