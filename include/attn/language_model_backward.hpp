#pragma once

#include <armadillo>
#include <vector>

#include "attn/block_backward.hpp"
#include "attn/cross_entropy.hpp"
#include "attn/language_model.hpp"
#include "attn/norm_backward.hpp"

namespace attn {

/// The gradients of a language model's parameters, named as these.
struct LanguageModelGradients {
  arma::mat token_embedding;           ///< (V x E); when the head is tied, its share is added
  arma::mat position_embedding;        ///< (P x E) for gpt2; empty for llama
  std::vector<BlockGradients> blocks;  ///< N of them
  NormGradients final_norm;
  arma::mat head;  ///< (E x V); empty when the head is tied
};

/// A loss, and the gradient of every parameter.
struct LossAndGradients {
  double loss = 0;  ///< cross_entropy of the logits, nats per token
  LanguageModelGradients gradients;
};

/// One forward and one backward pass of a language model over whole sequences, with the causal mask and the window of
/// its configuration. Leaves the model's caches alone.
///
/// The steps of LanguageModel in reverse: cross-entropy, head, final norm, the blocks from the last to the first,
/// embeddings. A tied head and the token embedding are one matrix, with one gradient (Press, Wolf 2017).
///
/// @param ids     (L x B), all rows are tokens; padding at the end has ignored_target as its targets
/// @param targets (L x B), the token after each one, or ignored_target; as in cross_entropy
/// @throws std::invalid_argument naming ids, when a size is zero or an id is not below V; targets, as cross_entropy
///         does; position, as LanguageModel::extend does; qk_norm or soft_cap, when the model has it.
LossAndGradients loss_and_gradients(const LanguageModel& model, const arma::umat& ids, const arma::umat& targets);

}  // namespace attn
