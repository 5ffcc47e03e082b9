// Any bytes as training.safetensors, which ./learn train --resume reads. The checksum, which few inputs would have, is put in.
#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "train/training_files.hpp"

namespace {

using Json = nlohmann::json;

/// The file with the checksum of its texts and numbers; as it is where it has no texts.
std::string with_checksum(std::string_view file) {
  std::uint64_t header_size = 0;
  if (file.size() < sizeof header_size) return std::string(file);
  std::memcpy(&header_size, file.data(), sizeof header_size);
  if (header_size > file.size() - sizeof header_size) return std::string(file);
  const std::string_view numbers = file.substr(sizeof header_size + header_size);
  Json header = Json::parse(file.substr(sizeof header_size, header_size), nullptr, false);
  if (!header.is_object() || !header.contains("__metadata__")) return std::string(file);
  Json& texts = header["__metadata__"];
  const auto is_text = [](const Json& text) { return text.is_string(); };
  if (!texts.is_object() || !std::all_of(texts.begin(), texts.end(), is_text)) return std::string(file);
  attn::training::Hash hash;
  for (const auto& [key, value] : texts.items()) {
    if (key != "checksum") hash.add(key + "\n" + value.get<std::string>() + "\n");
  }
  texts["checksum"] = hash.add(numbers.data(), numbers.size()).text();
  const std::string text = header.dump();
  header_size = text.size();
  return std::string(reinterpret_cast<const char*>(&header_size), sizeof header_size) + text + std::string(numbers);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = with_checksum(attn::fuzz::bytes(data, size));
  return attn::fuzz::read_or_refuse([&file] { attn::training::read_training(file); });
}
