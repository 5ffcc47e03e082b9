// Any bytes as the index of the files with weights, and as generation_config.json.
#include "attn/model_folder.hpp"
#include "fuzz.hpp"
#include "scratch.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  static const Scratch folder;
  const std::string text(fuzz::bytes(data, size));
  put(folder.path() / "model.safetensors.index.json", text);
  put(folder.path() / "generation_config.json", text);
  fuzz::read_or_refuse([] { weight_files(folder.path()); });
  return fuzz::read_or_refuse([] { read_stop_tokens(folder.path()); });
}
