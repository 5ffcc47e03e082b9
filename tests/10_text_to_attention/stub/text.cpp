#include "attn/text.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/todo.hpp"

namespace attn {

// "喜", the bytes E5 96 9C -> 0x559C
char32_t code_point(const std::string& character) {
  // TODO(10.1): the number of one character: the low bits of its first byte, then six bits of every other byte. A char
  // may be negative: turn each byte into an unsigned char before you compute.
  todo("10.1");
}

// "喜x" -> "喜", "x"
std::vector<std::string> split_characters(const std::string& text) {
  // TODO(10.1): cut the text into characters; the first byte tells how many bytes each has. Throw std::invalid_argument
  // with the name text and the number of the byte where the first character begins that is not UTF-8.
  todo("10.1");
}

// "This is it" -> "this", "is", "it"; "我用GPT" -> "我", "用", "gpt"
std::vector<std::string> tokenize(const std::string& sentence) {
  // TODO(10.2): if there are spaces between words, cut there. If not, let each character stand alone that
  // is_written_without_spaces, and keep the others together. Make A to Z small, and no other character.
  todo("10.2");
}

}  // namespace attn
