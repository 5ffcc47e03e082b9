#include "attn/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/shape.hpp"
#include "attn/text.hpp"
#include "attn/todo.hpp"

namespace attn {

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  // TODO(10.3): fill words_ (which holds "?" at 0 already) and ids_: the numbers 1, 2, 3, ... for the words in lower
  // case, a repeated word once. Reject an empty word.
  todo("10.3");
}

// "Sentence" -> its number, or 0
arma::uword Vocabulary::id(const std::string& word) const {
  // TODO(10.3): look the word up in lower case. A word that is not there is unknown: no error.
  todo("10.3");
}

// 0 -> "?"
const std::string& Vocabulary::word(arma::uword id) const {
  // TODO(10.3): the word with that number. Reject a number that is not below size().
  todo("10.3");
}

// B sentences -> ids (L x B), lengths (B), L = max_length
EncodedBatch encode(const std::vector<std::string>& sentences, const Vocabulary& vocabulary, arma::uword max_length) {
  // TODO(10.4): one column of numbers for each sentence: at most max_length, zeros after the last. lengths holds how
  // many of them are words. Reject no sentences, and a max_length of 0.
  todo("10.4");
}

}  // namespace attn
