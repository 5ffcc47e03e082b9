// Any bytes as a safetensors file.
#include "attn/safetensors.hpp"

#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const std::string_view file = fuzz::bytes(data, size);
  return fuzz::read_or_refuse([file] {
    for (const TensorEntry& tensor : read_header(file)) {
      if (tensor.shape.size() != 2) continue;
      read_matrix(file.substr(tensor.begin, tensor.end - tensor.begin), tensor.dtype, tensor.shape[0], tensor.shape[1]);
    }
  });
}
