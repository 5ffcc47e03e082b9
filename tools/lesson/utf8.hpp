#pragma once

#include <string>
#include <string_view>
#include <vector>

/// UTF-8 cut into characters, and how wide a terminal draws them.
namespace attn::utf8 {

/// One character of a text; or one byte that is not part of valid UTF-8.
struct Character {
  std::string_view bytes;  ///< in the text, which has to outlive this
  char32_t code = 0;       ///< for an invalid byte its value, 0x80 and above
  int columns = 1;         ///< 2 for wide characters (Unicode's East Asian Width), 0 for combining marks

  /// False for control characters and for invalid bytes.
  bool printable() const;
};

/// The character that begins at a byte of a text.
Character character_at(const std::string& text, std::size_t at);

/// All characters of a text, which has to outlive them.
std::vector<Character> characters(const std::string& text);

}  // namespace attn::utf8
