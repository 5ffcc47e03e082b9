#include "attn/byte_symbols.hpp"

#include "attn/characters.hpp"
#include "attn/todo.hpp"

namespace attn {

std::vector<std::string> byte_symbols() {
  // TODO(23.4): a visible character for each of the 256 bytes, as UTF-8: one byte below U+0080, two from there on.
  todo("23.4");
}

std::vector<std::string> to_symbols(const std::string& bytes) {
  // The second part of 23.4: the character of every byte.
  todo("23.4");
}

std::string from_symbols(const std::string& symbols) {
  // The third part of 23.4: the byte of every character. Reject one that stands for no byte.
  todo("23.4");
}

}  // namespace attn
