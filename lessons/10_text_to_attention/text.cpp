#include "attn/text.hpp"

#include <algorithm>

#include "attn/todo.hpp"

namespace attn {

// "This is it" -> "this", "is", "it"; "我用GPT" -> "我", "用", "gpt"
std::vector<std::string> tokenize(const std::string& sentence) {
  // TODO(10.5): if there are spaces between words, cut there. If not, let each character be a token of its own that
  // is_written_without_spaces, and keep the others together. Lower-case A to Z, and no other character.
  todo("10.5");
}

}  // namespace attn
