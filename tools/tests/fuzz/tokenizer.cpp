// Any bytes as tokenizer.json, and what such a tokenizer makes of a text.
#include "attn/byte_level_bpe.hpp"
#include "fuzz.hpp"
#include "scratch.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const Scratch folder;
  put(folder.path() / "tokenizer.json", std::string(fuzz::bytes(data, size)));
  return fuzz::read_or_refuse([] {
    const ByteLevelBPE tokenizer(read_tokenizer(folder.path()));
    tokenizer.decode(tokenizer.encode("It's 2026:\n\n  café <|end|> \xE5\x96\x9C"));
  });
}
