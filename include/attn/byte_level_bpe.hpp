#pragma once

#include <armadillo>
#include <string>
#include <unordered_map>
#include <vector>

#include "attn/byte_symbols.hpp"
#include "attn/merge_by_rank.hpp"
#include "attn/text_splitter.hpp"
#include "attn/tokenizer_files.hpp"

namespace attn {

/// A part of a text: either a special token, or text between two of them.
struct TextPart {
  std::string text;
  bool is_special = false;
};

/// Cuts out the special tokens. From left to right: of those that begin at the same place the longest one counts, and
/// an empty one never does.
///
/// @return all of the text, in its order, without empty parts
std::vector<TextPart> cut_at_specials(const std::string& text, const std::vector<SpecialToken>& specials);

/// Whether the text of a special token counts as this token.
enum class Specials {
  recognized,  ///< it does
  as_text      ///< it is text like any other: right for what a user typed
};

/// The tokenizer of GPT-2, Llama 3, Qwen and SmolLM. A text is cut at special tokens, then into words by a pattern; the
/// bytes of each word are merged by rank. Every byte is a token, so there is no unknown word.
///
/// Radford et al., Language Models are Unsupervised Multitask Learners (2019), section 2.2.
class ByteLevelBPE {
 public:
  /// @throws std::invalid_argument naming pattern, as TextSplitter.
  explicit ByteLevelBPE(TokenizerData data);

  /// @return the ids of the text; without data().begin_tokens
  /// @throws std::invalid_argument naming text, when it is not UTF-8, or token and a piece, when that is not in the
  ///         vocabulary: a file that lacks tokens.
  std::vector<arma::uword> encode(const std::string& text, Specials specials = Specials::recognized) const;

  /// The bytes of all tokens in a row, special ones as their text. A character may be cut between two tokens: the bytes of
  /// one token alone need not be UTF-8.
  ///
  /// @throws std::invalid_argument naming id and its value, when no token has it.
  std::string decode(const std::vector<arma::uword>& ids) const;

  const TokenizerData& data() const { return data_; }

 private:
  TokenizerData data_;
  TextSplitter splitter_;
  MergeRanks ranks_;                                  // of data_.merges
  std::unordered_map<std::string, arma::uword> ids_;  // of data_.tokens, without the special ones
};

}  // namespace attn
