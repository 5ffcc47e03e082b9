#include "decode_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace attn::bench {

using std::size_t;
using std::string;

namespace {

/// Those of Llama 3.2: rope_speeds(64, 500000, {llama3, 32, 8192, ..., 1, 4}), written out, as lesson 14's solution is
/// not linked here.
arma::rowvec llama_speeds(size_t D) {
  const double pi = 3.14159265358979323846, factor = 32, trained = 8192, low = 1, high = 4;
  arma::rowvec speeds(D / 2);
  for (size_t p = 0; p < D / 2; ++p) {
    const double speed = std::pow(500000.0, -2 * static_cast<double>(p) / static_cast<double>(D));
    const double kept = std::min(1.0, std::max(0.0, (trained * speed / (2 * pi) - low) / (high - low)));
    speeds(p) = kept * speed + (1 - kept) * speed / factor;
  }
  return speeds;
}

}  // namespace

Shape::Shape(const string& name, const string& number) : number_(fast::Number::float32) {
  if (number != "F32" && number != "BF16") throw std::invalid_argument("number is " + number);
  if (number == "BF16") number_ = fast::Number::bfloat16;
  DecoderAttentionConfig& attention = config_.attention;
  if (name == "gpt2") {
    config_.architecture = Architecture::gpt2;
    config_.vocab_size = 50257, config_.num_layers = 12, config_.hidden_dim = 3072, config_.max_position = 4096;
    attention.embed_dim = 768, attention.num_heads = 12, attention.num_kv_heads = 12, attention.head_dim = 64;
    config_.norm_epsilon = 1e-5;
    list_gpt2();
  } else if (name == "llama") {
    config_.vocab_size = 128256, config_.num_layers = 16, config_.hidden_dim = 8192;
    attention.embed_dim = 2048, attention.num_heads = 32, attention.num_kv_heads = 8, attention.head_dim = 64;
    config_.norm_epsilon = 1e-5;
    attention.rope_speeds = llama_speeds(attention.head_dim);
    list_llama();
  } else {
    throw std::invalid_argument("shape is " + name);
  }
  for (const Entry& entry : entries_) {
    string shape;
    for (const size_t size : entry.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header_ += (header_.empty() ? "{\"" : ",\"") + entry.name + "\":{\"dtype\":\"" + number + "\",\"shape\":[" + shape +
               "],\"data_offsets\":[" + std::to_string(entry.begin) + "," +
               std::to_string(entry.begin + entry.size * (number == "F32" ? 4 : 2)) + "]}";
  }
  header_ += "}";
  while ((8 + header_.size()) % 64 != 0) header_ += " ";
}

void Shape::add(const string& name, std::vector<size_t> shape) {
  size_t size = 1;
  for (const size_t axis : shape) size *= axis;
  const bool table = name == "wte.weight" || name == "wpe.weight" || name == "model.embed_tokens.weight";
  entries_.push_back({name, std::move(shape), bytes_, size,
                      name.find("ln_") != string::npos || name.find("norm") != string::npos, table});
  bytes_ += size * (number_ == fast::Number::float32 ? 4 : 2);
}

void Shape::list_gpt2() {
  const size_t E = config_.attention.embed_dim, F = config_.hidden_dim;
  const auto with_bias = [&](const string& name, std::vector<size_t> weight, size_t bias) {
    add(name + ".weight", std::move(weight));
    add(name + ".bias", {bias});
  };
  add("wte.weight", {config_.vocab_size, E});
  add("wpe.weight", {config_.max_position, E});
  for (size_t n = 0; n < config_.num_layers; ++n) {
    const string name = "h." + std::to_string(n) + ".";
    with_bias(name + "ln_1", {E}, E);
    with_bias(name + "attn.c_attn", {E, 3 * E}, 3 * E);
    with_bias(name + "attn.c_proj", {E, E}, E);
    with_bias(name + "ln_2", {E}, E);
    with_bias(name + "mlp.c_fc", {E, F}, F);
    with_bias(name + "mlp.c_proj", {F, E}, E);
  }
  with_bias("ln_f", {E}, E);
}

void Shape::list_llama() {
  const DecoderAttentionConfig& attention = config_.attention;
  const size_t E = attention.embed_dim, F = config_.hidden_dim, D = attention.head_dim;
  add("model.embed_tokens.weight", {config_.vocab_size, E});
  for (size_t n = 0; n < config_.num_layers; ++n) {
    const string name = "model.layers." + std::to_string(n) + ".";
    add(name + "input_layernorm.weight", {E});
    add(name + "self_attn.q_proj.weight", {attention.num_heads * D, E});
    add(name + "self_attn.k_proj.weight", {attention.num_kv_heads * D, E});
    add(name + "self_attn.v_proj.weight", {attention.num_kv_heads * D, E});
    add(name + "self_attn.o_proj.weight", {E, attention.num_heads * D});
    add(name + "post_attention_layernorm.weight", {E});
    add(name + "mlp.gate_proj.weight", {F, E});
    add(name + "mlp.up_proj.weight", {F, E});
    add(name + "mlp.down_proj.weight", {E, F});
  }
  add("model.norm.weight", {E});
}

void Shape::write(std::ostream& file) const {
  const std::uint64_t length = header_.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file << header_;
  std::uint32_t state = 2463534242U;
  std::vector<char> block;
  for (const Entry& entry : entries_) {
    // Uniform around 0; the weights of norms around 1. As large as keeps the numbers in the model about 1.
    const float inputs = static_cast<float>(entry.shape.size() == 2 ? config_.attention.embed_dim : 100);
    const float width = (entry.is_table ? 0.04f : 2 / std::sqrt(inputs)) / 4294967296.0f;
    const bool around_one = entry.is_norm && entry.name.find("bias") == string::npos;
    const size_t each = number_ == fast::Number::float32 ? 4 : 2;
    block.resize(entry.size * each);
    for (size_t i = 0; i < entry.size; ++i) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      const float weight = (static_cast<float>(state) - 2147483648.0f) * width + (around_one ? 1.0f : 0.0f);
      std::memcpy(block.data() + i * each, reinterpret_cast<const char*>(&weight) + 4 - each, each);
    }
    file.write(block.data(), static_cast<std::streamsize>(block.size()));
  }
}

fast::Tensors Shape::tensors(const char* data) const {
  fast::Tensors found;
  for (const Entry& entry : entries_) found[entry.name] = {data + header_bytes() + entry.begin, number_, entry.shape};
  return found;
}

size_t Shape::bytes_of_a_token() const {
  return bytes_ - config_.max_position * config_.attention.embed_dim * (number_ == fast::Number::float32 ? 4 : 2);
}

size_t Shape::bytes_of_cache(size_t L) const {
  const DecoderAttentionConfig& attention = config_.attention;
  return 2 * config_.num_layers * attention.num_kv_heads * attention.head_dim * L *
         (number_ == fast::Number::float32 ? 4 : 2);
}

size_t Shape::macs() const {
  size_t count = 0;
  for (const Entry& entry : entries_) count += entry.shape.size() == 2 && !entry.is_table ? entry.size : 0;
  return count;
}

}  // namespace attn::bench
