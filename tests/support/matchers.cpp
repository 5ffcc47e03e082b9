#include "support/matchers.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace attn::testing {

namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// "4", or a letter such as L.
bool is_size(const std::string& word) {
  const bool number = std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return !word.empty() && (number || (word.size() == 1 && std::isupper(static_cast<unsigned char>(word[0])) != 0));
}

}  // namespace

bool names_argument(const std::string& message, const std::string& argument) {
  std::vector<std::string> words(1);
  for (const char c : message) {
    if (is_word_character(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool between_sizes = i > 0 && i + 1 < words.size() && is_size(words[i - 1]) && is_size(words[i + 1]);
    if (words[i] == argument && !(words[i] == "x" && between_sizes)) return true;
  }
  return false;
}

std::string type_name(const std::exception& error) {
  const char* mangled = typeid(error).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? name.get() : mangled;
}

}  // namespace attn::testing
