#include "attn/text.hpp"

#include <algorithm>
#include <stdexcept>

namespace attn {

namespace {

/// How many bytes a character has that begins with this byte; 0 for a byte that cannot begin one.
std::size_t length_from_first_byte(unsigned char first) {
  if (first < 0x80) return 1;                    // 0xxxxxxx: ASCII
  if (first >= 0xC2 && first <= 0xDF) return 2;  // 110xxxxx; C0 and C1 would write ASCII in two bytes
  if (first >= 0xE0 && first <= 0xEF) return 3;  // 1110xxxx
  if (first >= 0xF0 && first <= 0xF4) return 4;  // 11110xxx, up to U+10FFFF
  return 0;                                      // 10xxxxxx: in the middle of a character
}

/// The code points that need exactly that many bytes.
bool is_in_range(char32_t c, std::size_t length) {
  const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
  if (length == 3) return c >= 0x800 && !surrogate;
  if (length == 4) return c >= 0x10000 && c <= 0x10FFFF;
  return true;
}

std::string lower_ascii(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

}  // namespace

char32_t code_point(const std::string& character) {
  const auto first = static_cast<unsigned char>(character.at(0));
  if (character.size() == 1) return first;
  char32_t number = first & (0x7FU >> character.size());  // without the leading ones that encode the length
  for (std::size_t i = 1; i < character.size(); ++i) {
    number = (number << 6) | (static_cast<unsigned char>(character[i]) & 0x3FU);
  }
  return number;
}

std::vector<std::string> split_characters(const std::string& text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size(); at += characters.back().size()) {
    const std::size_t length = length_from_first_byte(static_cast<unsigned char>(text[at]));
    const std::string character = text.substr(at, length);
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; };
    if (length == 0 || character.size() < length || !std::all_of(character.begin() + 1, character.end(), continues) ||
        !is_in_range(code_point(character), length)) {
      throw std::invalid_argument("text is not UTF-8 at byte " + std::to_string(at) + " of " +
                                  std::to_string(text.size()) + ": save or send it as UTF-8");
    }
    characters.push_back(character);
  }
  return characters;
}

std::vector<std::string> tokenize(const std::string& sentence) {
  std::vector<std::string> characters = split_characters(sentence);
  while (!characters.empty() && is_space(characters.back())) characters.pop_back();
  const auto begin = std::find_if_not(characters.cbegin(), characters.cend(), is_space);
  const bool has_spaces = std::any_of(begin, characters.cend(), is_space);  // between its words

  std::vector<std::string> tokens;
  bool begins_token = true;
  for (auto character = begin; character != characters.cend(); ++character) {
    if (is_space(*character)) {
      begins_token = true;
      continue;
    }
    const bool stands_alone = !has_spaces && is_written_without_spaces(*character);
    if (begins_token || stands_alone) tokens.emplace_back();
    tokens.back() += lower_ascii(*character);
    begins_token = stands_alone;
  }
  return tokens;
}

}  // namespace attn
