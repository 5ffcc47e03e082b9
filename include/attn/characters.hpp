#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

/// Characters of UTF-8 text, for the lessons on text. Given: no lesson asks for it.
namespace attn {

/// The number of a character: 0x559C for "喜".
///
/// @param character one element of split_characters; undefined for anything else
inline char32_t code_point(const std::string& character) {
  const auto first = static_cast<unsigned char>(character.at(0));
  if (character.size() == 1) return first;
  char32_t number = first & (0x7FU >> character.size());  // without the leading ones that encode the length
  for (std::size_t i = 1; i < character.size(); ++i) {
    number = (number << 6) | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return number;
}

/// How many bytes a character has that begins with this byte; 0 for a byte that cannot begin one.
inline std::size_t length_from_first_byte(char byte) {
  const auto first = static_cast<unsigned char>(byte);
  if (first < 0x80) return 1;                    // 0xxxxxxx: ASCII
  if (first >= 0xC2 && first <= 0xDF) return 2;  // 110xxxxx; C0 and C1 would write ASCII in two bytes
  if (first >= 0xE0 && first <= 0xEF) return 3;  // 1110xxxx
  if (first >= 0xF0 && first <= 0xF4) return 4;  // 11110xxx, up to U+10FFFF
  return 0;                                      // 10xxxxxx: in the middle of a character
}

/// Whether the bytes are one character, written as shortly as possible, and not a surrogate.
inline bool is_character(const std::string& bytes) {
  const std::size_t length = bytes.empty() ? 0 : length_from_first_byte(bytes[0]);
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; };
  if (length == 0 || bytes.size() != length || !std::all_of(bytes.begin() + 1, bytes.end(), continues)) return false;
  const char32_t c = code_point(bytes);
  if (length == 3) return c >= 0x800 && (c < 0xD800 || c > 0xDFFF);
  if (length == 4) return c >= 0x10000 && c <= 0x10FFFF;
  return true;
}

/// UTF-8 text cut into characters (Unicode code points), each as its own one to four bytes: "喜x" gives "喜" and "x".
///
/// @throws std::invalid_argument naming text and the byte (from 0) at which the first character begins that is not
///         valid UTF-8 (RFC 3629): a byte that cannot begin a character, a character that is cut short or written
///         longer than needed, a surrogate, or one above U+10FFFF.
inline std::vector<std::string> split_characters(const std::string& text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size(); at += characters.back().size()) {
    const std::string character = text.substr(at, length_from_first_byte(text[at]));
    if (!is_character(character)) {
      throw std::invalid_argument("text is not UTF-8 at byte " + std::to_string(at) + " of " +
                                  std::to_string(text.size()) + ": save or send it as UTF-8");
    }
    characters.push_back(character);
  }
  return characters;
}

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

/// The same text with the letters A to Z lower-cased, and no other character.
inline std::string lower_ascii(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace attn
