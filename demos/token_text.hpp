#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "attn/byte_level_bpe.hpp"

namespace attn::generating {

/// What a model writes, as a terminal can show it: bytes go in, whole characters come out. Control characters and bytes that
/// are not valid UTF-8 become U+FFFD, as weights may come from anywhere.
class CharacterStream {
 public:
  /// @param ascii for a terminal that knows nothing else
  explicit CharacterStream(bool ascii) : ascii_(ascii) {}

  /// @return all characters that are whole now
  std::string take(const std::string& bytes);

  /// @return what is left when no more bytes come
  std::string finish();

 private:
  std::string shown(const std::string& text) const;

  bool ascii_;
  std::string pending_;  // the beginning of a character
};

/// The bytes of a token. Empty for a row of the vocabulary that no token has: models have such rows, as padding, and the head
/// gives them a probability, too.
std::string bytes_of(const ByteLevelBPE& tokenizer, arma::uword id);

/// What is written above a column of a map for each token: its text, without a space at its beginning. A line break is "\n".
std::vector<std::string> labels_of(const ByteLevelBPE& tokenizer, const std::vector<arma::uword>& ids);

}  // namespace attn::generating
