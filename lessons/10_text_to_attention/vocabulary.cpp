#include "attn/vocabulary.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/shape.hpp"
#include "attn/text.hpp"
#include "attn/todo.hpp"

namespace attn {

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  // TODO(10.6): fill words_ (which holds "?" at 0 already) and ids_: the numbers 1, 2, 3, ... for the words in lower
  // case, a repeated word once. Reject an empty word.
  todo("10.6");
}

// "Sentence" -> its number, or 0
arma::uword Vocabulary::id(const std::string& word) const {
  // TODO(10.6): look the word up in lower case. A word that is not there is unknown: no error.
  todo("10.6");
}

// 0 -> "?"
const std::string& Vocabulary::word(arma::uword id) const {
  // TODO(10.6): the word with that number. Reject a number that is not below size().
  todo("10.6");
}

// B sentences -> ids (L x B), lengths (B), L = max_length
EncodedBatch encode(const std::vector<std::string>& sentences, const Vocabulary& vocabulary, arma::uword max_length,
                    Padding padding) {
  // TODO(10.7): one column of numbers for each sentence: at most max_length, the first ones of a sentence that is too
  // long. Zeros fill up a short one on the side that padding says. lengths holds how many numbers are words, and
  // batch.padding the side. Reject no sentences, and a max_length of 0.
  todo("10.7");
}

}  // namespace attn
