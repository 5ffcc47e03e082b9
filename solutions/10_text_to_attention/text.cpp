#include "attn/text.hpp"

#include <algorithm>

namespace attn {

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
