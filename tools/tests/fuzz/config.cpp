// Any bytes as config.json, up to the sizes of the model.
#include "attn/checkpoint.hpp"
#include "fuzz.hpp"
#include "scratch.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const Scratch folder;
  put(folder.path() / "config.json", std::string(fuzz::bytes(data, size)));
  return fuzz::read_or_refuse([] {
    const LanguageModelConfig config = model_config(read_config(folder.path()));
    bytes_in_memory(config);
    cache_bytes_per_token(config);
  });
}
