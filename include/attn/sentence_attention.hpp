#pragma once

#include <armadillo>

#include "attn/embedding.hpp"
#include "attn/mask.hpp"
#include "attn/multi_head_attention.hpp"
#include "attn/vocabulary.hpp"

namespace attn {

/// Which keys are words: in slice b, the columns of sentence b's words are 1 in every row, those of its padding are 0.
/// With padding on the right the words are the first lengths(b) columns, with padding on the left the last.
///
/// @return (L x L x B)
/// @throws std::invalid_argument naming batch.lengths, when it does not have one length for each column of batch.ids,
///         or one of them is above L.
Mask word_mask(const EncodedBatch& batch);

/// From numbers to attention: embeds them and attends, with the padding blocked. attention.attention_weights() has the
/// weights afterwards, (L x L x H·B).
///
/// The rows of an empty sentence attend to no key: their weights are zeros, their output is the bias of output_proj.
///
/// @return (L x E x B); rows of padding mean nothing
/// @throws std::invalid_argument as word_mask, or as the embedding.
arma::cube attend(const EncodedBatch& batch, const Embedding& embedding, MultiHeadAttention& attention);

/// The weights of one sentence, without its padding, which may be on either side.
///
/// @param weights (L x L x H·B), as attention_weights() returns them
/// @return        (length x length x H)
/// @throws std::invalid_argument naming sentence, when it is not below the number of lengths; num_heads,
///         when it is zero; batch.lengths, when that of the sentence is above L; or weights, when its size does not
///         fit.
arma::cube weights_of_sentence(const arma::cube& weights, const EncodedBatch& batch, arma::uword sentence,
                               arma::uword num_heads);

}  // namespace attn
