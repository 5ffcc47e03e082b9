#include "lesson/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attn/characters.hpp"

namespace attn::utf8 {

namespace {

using Range = std::pair<char32_t, char32_t>;

int columns_of(char32_t code) {
  if (code < 0x300) return 1;
  static constexpr Range none[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}};
  static constexpr Range two[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                                  {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                                  {0x1F680, 0x1FAFF}, {0x20000, 0x3FFFD}};
  const auto within = [code](const Range& range) { return code >= range.first && code <= range.second; };
  if (std::any_of(std::begin(none), std::end(none), within)) return 0;
  return std::any_of(std::begin(two), std::end(two), within) ? 2 : 1;
}

}  // namespace

bool Character::printable() const {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool invalid = bytes.size() == 1 && code >= 0x80;
  return !control && !invalid;
}

Character character_at(const std::string& text, std::size_t at) {
  const std::string bytes = text.substr(at, length_from_first_byte(text[at]));
  if (!is_character(bytes)) return {std::string_view(text).substr(at, 1), static_cast<unsigned char>(text[at]), 1};
  const char32_t code = code_point(bytes);
  return {std::string_view(text).substr(at, bytes.size()), code, columns_of(code)};
}

std::vector<Character> characters(const std::string& text) {
  std::vector<Character> all;
  all.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); at += all.back().bytes.size()) all.push_back(character_at(text, at));
  return all;
}

}  // namespace attn::utf8
