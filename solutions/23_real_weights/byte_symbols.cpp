#include "attn/byte_symbols.hpp"

#include <map>
#include <stdexcept>

#include "attn/characters.hpp"

namespace attn {

namespace {

/// A character below U+0800 in UTF-8.
std::string utf8(unsigned number) {
  if (number < 0x80) return {static_cast<char>(number)};
  return {static_cast<char>(0xC0U | (number >> 6U)), static_cast<char>(0x80U | (number & 0x3FU))};
}

}  // namespace

std::vector<std::string> byte_symbols() {
  std::vector<std::string> symbols;
  unsigned next = 0x100;  // for the bytes that cannot be seen
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    symbols.push_back(utf8(visible ? byte : next++));
  }
  return symbols;
}

std::vector<std::string> to_symbols(const std::string& bytes) {
  static const std::vector<std::string> table = byte_symbols();
  std::vector<std::string> symbols;
  for (const char byte : bytes) symbols.push_back(table[static_cast<unsigned char>(byte)]);
  return symbols;
}

std::string from_symbols(const std::string& symbols) {
  static const std::map<std::string, char> table = [] {
    std::map<std::string, char> bytes;
    for (const std::string& symbol : byte_symbols()) bytes.emplace(symbol, static_cast<char>(bytes.size()));
    return bytes;
  }();
  std::string bytes;
  for (const std::string& symbol : split_characters(symbols)) {
    const auto found = table.find(symbol);
    if (found == table.end()) throw std::invalid_argument("symbols has " + symbol + ", which stands for no byte");
    bytes += found->second;
  }
  return bytes;
}

}  // namespace attn
