#include "attn/sentence_attention.hpp"

#include <stdexcept>
#include <string>

#include "attn/shape.hpp"

namespace attn {

namespace {

/// The row of a sentence's first word. All else follows from it, on either side.
arma::uword first_word(const EncodedBatch& batch, arma::uword sentence) {
  return batch.padding == Padding::right ? 0 : batch.ids.n_rows - batch.lengths(sentence);
}

void require_length(const EncodedBatch& batch, arma::uword sentence) {
  if (batch.lengths(sentence) <= batch.ids.n_rows) return;
  throw std::invalid_argument("batch.lengths holds " + std::to_string(batch.lengths(sentence)) +
                              ", expected at most L = " + std::to_string(batch.ids.n_rows));
}

}  // namespace

Mask word_mask(const EncodedBatch& batch) {
  const arma::uword L = batch.ids.n_rows;
  const arma::uword B = batch.ids.n_cols;
  if (batch.lengths.n_elem != B) {
    throw std::invalid_argument("batch.lengths has " + std::to_string(batch.lengths.n_elem) + " numbers, expected " +
                                std::to_string(B) + ", one for each column of batch.ids");
  }
  Mask mask(L, L, B, arma::fill::zeros);
  for (arma::uword b = 0; b < B; ++b) {
    require_length(batch, b);
    // From the lengths: an unknown word has the number of padding, but is a word.
    const arma::uword first = first_word(batch, b);
    for (arma::uword j = first; j < first + batch.lengths(b); ++j) mask.slice(b).col(j).ones();
  }
  return mask;
}

arma::cube attend(const EncodedBatch& batch, const Embedding& embedding, MultiHeadAttention& attention) {
  const Mask mask = word_mask(batch);
  const arma::cube X = embedding(batch.ids);  // (L x E x B)
  return attention.forward(X, mask);
}

arma::cube weights_of_sentence(const arma::cube& weights, const EncodedBatch& batch, arma::uword sentence,
                               arma::uword num_heads) {
  const arma::uword L = batch.ids.n_rows;
  require_positive("num_heads", num_heads);
  const arma::uword all_heads = product_of({{"num_heads", num_heads}, {"B", batch.lengths.n_elem}});
  require_shape("weights", weights, {{"L", L}, {"L", L}, {"H·B", all_heads}});
  if (sentence >= batch.lengths.n_elem) {
    throw std::invalid_argument("sentence is " + std::to_string(sentence) + ", expected below " +
                                std::to_string(batch.lengths.n_elem));
  }
  require_length(batch, sentence);
  const arma::uword length = batch.lengths(sentence);
  arma::cube own(length, length, num_heads);
  if (length == 0) return own;  // 0 x 0 x H: an empty sentence has no last row
  const arma::uword first = first_word(batch, sentence);
  const arma::uword last = first + length - 1;
  for (arma::uword h = 0; h < num_heads; ++h) {
    own.slice(h) = weights.slice(sentence * num_heads + h).submat(first, first, last, last);
  }
  return own;
}

}  // namespace attn
