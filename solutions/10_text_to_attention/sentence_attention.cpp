#include "attn/sentence_attention.hpp"

#include <stdexcept>
#include <string>

#include "attn/masking.hpp"
#include "attn/shape.hpp"

namespace attn {

arma::cube attend(const EncodedBatch& batch, const Embedding& embedding, MultiHeadAttention& attention) {
  if (batch.lengths.n_elem != batch.ids.n_cols) {
    throw std::invalid_argument("batch.lengths has " + std::to_string(batch.lengths.n_elem) + " numbers, expected " +
                                std::to_string(batch.ids.n_cols) + ", one for each column of batch.ids");
  }
  const arma::cube X = embedding(batch.ids);  // (L x E x B)
  // The mask comes from the lengths: an unknown word has the number of padding, but is a word.
  return attention.forward(X, padding_mask(batch.lengths, X.n_rows, X.n_rows));
}

arma::cube weights_of_sentence(const arma::cube& weights, const EncodedBatch& batch, arma::uword sentence,
                               arma::uword num_heads) {
  const arma::uword L = batch.ids.n_rows;
  require_positive("num_heads", num_heads);
  require_shape("weights", weights, {{"L", L}, {"L", L}, {"H·B", num_heads * batch.lengths.n_elem}});
  if (sentence >= batch.lengths.n_elem) {
    throw std::invalid_argument("sentence is " + std::to_string(sentence) + ", expected below " +
                                std::to_string(batch.lengths.n_elem));
  }
  const arma::uword length = batch.lengths(sentence);
  if (length > L) {
    throw std::invalid_argument("batch.lengths holds " + std::to_string(length) +
                                ", expected at most L = " + std::to_string(L));
  }
  arma::cube own(length, length, num_heads);
  if (length == 0) return own;  // 0 x 0 x H: an empty sentence has no last row
  for (arma::uword h = 0; h < num_heads; ++h) {
    own.slice(h) = weights.slice(sentence * num_heads + h).submat(0, 0, length - 1, length - 1);
  }
  return own;
}

}  // namespace attn
