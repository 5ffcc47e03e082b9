#pragma once

#include <string>
#include <vector>

namespace attn {

/// UTF-8 text cut into characters (Unicode code points), each as its own one to four bytes: "喜x" gives "喜" and "x".
///
/// @throws std::invalid_argument naming text and the byte (from 0) at which the first character begins that is not
///         valid UTF-8 (RFC 3629): a byte that cannot begin a character, a character that is cut short or written
///         longer than needed, a surrogate, or one above U+10FFFF.
std::vector<std::string> split_characters(const std::string& text);

/// The number of a character: 0x559C for "喜".
///
/// @param character one element of split_characters; undefined for anything else
char32_t code_point(const std::string& character);

/// Whether a character belongs to a script that is written without spaces between words: Chinese characters, Japanese
/// kana, their punctuation and full-width forms.
inline bool is_written_without_spaces(const std::string& character) {
  const char32_t c = code_point(character);
  return (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

/// Whether a character separates words: space, tab, line ends, and the wide space of Chinese text, U+3000.
inline bool is_space(const std::string& character) {
  return character == " " || character == "\t" || character == "\n" || character == "\r" || character == "\u3000";
}

/// The tokens of a sentence, with the letters A to Z lower-cased.
///
/// A sentence that has spaces between its words is split at them: the writer decides what a word is. One
/// without is split into characters where its script has no spaces; other letters in a row stay one word: "我用GPT"
/// gives 我, 用, gpt. Punctuation is kept. An empty sentence, or one of nothing but spaces, has no tokens.
///
/// @throws std::invalid_argument as split_characters.
std::vector<std::string> tokenize(const std::string& sentence);

}  // namespace attn
