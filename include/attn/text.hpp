#pragma once

#include <string>
#include <vector>

#include "attn/characters.hpp"

namespace attn {

/// The tokens of a sentence, with the letters A to Z lower-cased.
///
/// A sentence that has spaces between its words is split at them: the writer decides what a word is. One
/// without is split into characters where its script has no spaces; other letters in a row stay one word: "我用GPT"
/// gives 我, 用, gpt. Punctuation is kept. An empty sentence, or one of nothing but spaces, has no tokens.
///
/// @throws std::invalid_argument as split_characters.
std::vector<std::string> tokenize(const std::string& sentence);

}  // namespace attn
