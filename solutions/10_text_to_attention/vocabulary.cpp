#include "attn/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/shape.hpp"
#include "attn/text.hpp"

namespace attn {

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.empty()) throw std::invalid_argument("words holds an empty word, expected at least one character");
    const bool is_new = ids_.emplace(lower_ascii(word), words_.size()).second;
    if (is_new) words_.push_back(lower_ascii(word));
  }
}

arma::uword Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(lower_ascii(word));
  return found == ids_.end() ? unknown : found->second;
}

const std::string& Vocabulary::word(arma::uword id) const {
  if (id >= size()) {
    throw std::invalid_argument("id is " + std::to_string(id) + ", expected below " + std::to_string(size()));
  }
  return words_[id];
}

EncodedBatch encode(const std::vector<std::string>& sentences, const Vocabulary& vocabulary, arma::uword max_length,
                    Padding padding) {
  if (sentences.empty()) throw std::invalid_argument("sentences has size 0, expected at least 1");
  require_product({{"max_length", max_length}, {"sentences", sentences.size()}});
  EncodedBatch batch;
  batch.padding = padding;
  batch.ids.zeros(max_length, sentences.size());
  batch.lengths.zeros(sentences.size());
  for (arma::uword b = 0; b < sentences.size(); ++b) {
    const std::vector<std::string> tokens = tokenize(sentences[b]);
    batch.lengths(b) = std::min<arma::uword>(tokens.size(), max_length);
    const arma::uword first = padding == Padding::right ? 0 : max_length - batch.lengths(b);
    for (arma::uword i = 0; i < batch.lengths(b); ++i) batch.ids(first + i, b) = vocabulary.id(tokens[i]);
  }
  return batch;
}

}  // namespace attn
