#include "attn/byte_level_bpe.hpp"

#include <utility>

#include "attn/todo.hpp"

namespace attn {

std::vector<TextPart> cut_at_specials(const std::string& text, const std::vector<SpecialToken>& specials) {
  // TODO(23.6): the text in parts: special tokens, and what is between them.
  todo("23.6");
}

ByteLevelBPE::ByteLevelBPE(TokenizerData data) : data_(std::move(data)), splitter_(data_.splitting) {
  // TODO(23.7): fill ranks_ from data_.merges, and ids_ from data_.tokens, where an empty text is not a token. The place in
  // either list is the rank, or the id.
  todo("23.7");
}

std::vector<arma::uword> ByteLevelBPE::encode(const std::string& text, Specials specials) const {
  // The second part of 23.7: cut at special tokens, if they are recognized; splitter_(text) gives the words of what is between;
  // merge the symbols of each word; look up the pieces. Think of data_.ignore_merges.
  todo("23.7");
}

std::string ByteLevelBPE::decode(const std::vector<arma::uword>& ids) const {
  // The third part of 23.7: the bytes of all tokens. Reject an id that no token has.
  todo("23.7");
}

}  // namespace attn
