#include "attn/language_model_backward.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "attn/embedding_backward.hpp"
#include "attn/masking.hpp"
#include "attn/matmul_backward.hpp"
#include "attn/sliding_window.hpp"

namespace attn {

namespace {

/// What the forward pass of the model keeps.
struct KeptModel {
  std::vector<KeptBlock> blocks;
  arma::cube X;           ///< (L x E x B), the stream after the last block
  arma::cube normalized;  ///< (L x E x B), X through the final norm
};

/// (L x L x 1), for whole sequences and an empty cache.
Mask mask_of(const LanguageModel& model, arma::uword L) {
  const arma::uword window = model.config().attention.window;
  return window == 0 ? causal_mask(L, L) : sliding_window_mask(L, L, window);
}

/// (L x E x B)
arma::cube embedded(const LanguageModel& model, const arma::umat& ids) {
  arma::cube X = model.token_embedding(ids);
  const arma::mat& table = model.position_embedding;
  if (table.is_empty()) return X;
  if (ids.n_rows > table.n_rows) {
    throw std::invalid_argument("position is " + std::to_string(ids.n_rows - 1) + ", expected below " +
                                std::to_string(table.n_rows) + ", the rows of position_embedding");
  }
  X.each_slice() += table.head_rows(ids.n_rows);
  return X;
}

KeptModel forward(const LanguageModel& model, const arma::umat& ids) {
  KeptModel kept;
  kept.X = embedded(model, ids);
  const Mask mask = mask_of(model, ids.n_rows);
  for (const DecoderBlock& block : model.blocks) {
    BlockForward result = block_forward(block, kept.X, mask);
    kept.X = std::move(result.output);
    kept.blocks.push_back(std::move(result.kept));
  }
  kept.normalized = apply_layer(model.final_norm, kept.X);
  return kept;
}

/// From the gradient of the stream after the last block to the one before the first: (L x E x B).
arma::cube through_the_blocks(const LanguageModel& model, const KeptModel& kept, arma::cube d_X,
                              std::vector<BlockGradients>& d_blocks) {
  d_blocks.resize(model.blocks.size());
  for (arma::uword n = model.blocks.size(); n-- > 0;) {
    BlockBackward result = block_backward(model.blocks[n], d_X, kept.blocks[n]);
    d_blocks[n] = std::move(result.d_layer);
    d_X = std::move(result.d_X);
  }
  return d_X;
}

}  // namespace

LossAndGradients loss_and_gradients(const LanguageModel& model, const arma::umat& ids, const arma::umat& targets) {
  const KeptModel kept = forward(model, ids);
  const bool tied = model.head.is_empty();
  const arma::mat head = tied ? arma::mat(model.token_embedding.weight.t()) : model.head;  // (E x V)
  arma::cube logits(ids.n_rows, head.n_cols, ids.n_cols);                                  // (L x V x B)
  for (arma::uword b = 0; b < ids.n_cols; ++b) logits.slice(b) = kept.normalized.slice(b) * head;
  LossAndGradients result;
  result.loss = cross_entropy(logits, targets);
  LanguageModelGradients& gradients = result.gradients;

  const arma::cube d_logits = cross_entropy_backward(logits, targets);  // (L x V x B)
  arma::cube d_normalized(arma::size(kept.normalized));                 // (L x E x B)
  arma::mat d_head(arma::size(head), arma::fill::zeros);                // (E x V)
  for (arma::uword b = 0; b < ids.n_cols; ++b) {
    const MatmulGradients product = matmul_backward(kept.normalized.slice(b), head, d_logits.slice(b));
    d_normalized.slice(b) = product.d_A;
    d_head += product.d_B;
  }
  const NormBackward norm = norm_backward(model.final_norm, kept.X, d_normalized);
  gradients.final_norm = norm.d_layer;
  const arma::cube d_X = through_the_blocks(model, kept, norm.d_X, gradients.blocks);  // (L x E x B)
  gradients.token_embedding = embedding_backward(model.token_embedding, ids, d_X);
  if (!model.position_embedding.is_empty()) {
    gradients.position_embedding = positions_backward(model.position_embedding, d_X);
  }
  // a tied head is the token embedding, used once more
  if (tied) {
    gradients.token_embedding += d_head.t();
  } else {
    gradients.head = d_head;
  }
  return result;
}

}  // namespace attn
