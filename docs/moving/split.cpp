// split ROOT: random texts, and each cut into words by PCRE2 as the tokenizer of models/small cuts it. test.mjs compares what the
// browser's regular expressions make of them.
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "attn/text_splitter.hpp"
#include "attn/tokenizer_files.hpp"

namespace {

std::string utf8(char32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "expected ROOT\n";
    return 2;
  }
  const std::vector<std::string> frequent = {" ", " ", "  ", "\n", "\t", "'s", "'ll", "'", "a", "Q", "7", ",", "--"};
  const std::u32string rare =
      U"\u000B\u0085\u00A0\u00AD\u00B2\u00BD\u00E9\u00DF\u0301\u03B1\u0416\u05D0\u0661\u0967\u0E01"
      U"\u1680\u180E\u200B\u2003\u2028\u2029\u202F\u205F\u2160\u2167\u3000\u3042\u4E2D\uAC00\uFEFF"
      U"\uFFFD\U0001D4D0\U0001F408\U0001F3FD";
  std::mt19937_64 generator(1);
  std::vector<std::string> texts;
  for (int n = 0; n < 3000; ++n) {
    std::string text;
    for (auto length = 1 + generator() % 24; length > 0; --length) {
      const auto kind = generator() % 10;
      if (kind < 6) text += frequent[generator() % frequent.size()];
      if (kind == 6) text += utf8(rare[generator() % rare.size()]);
      if (kind == 7) text += static_cast<char>(1 + generator() % 0x7E);
      if (kind > 7) text += utf8(0xA0 + generator() % 0x180);
    }
    texts.push_back(text);
  }
  const attn::TextSplitter splitter(attn::read_tokenizer(std::string(argv[1]) + "/models/small").splitting);
  std::vector<std::vector<std::string>> parts;
  for (const std::string& text : texts) parts.push_back(splitter(text));
  std::cout << nlohmann::json{{"texts", texts}, {"parts", parts}}.dump() << "\n";
  return std::cout.flush() ? 0 : 1;
}
