#include "decoder_weights.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace attn::fast {

namespace {

using std::size_t;
using std::string;

size_t bytes_of(Number type) { return type == Number::float32 ? 4 : 2; }

string in_words(const std::vector<size_t>& shape) {
  string words;
  for (const size_t size : shape) words += (words.empty() ? "" : " x ") + std::to_string(size);
  return words;
}

/// Finds tensors by name, and checks their shapes.
class Finder {
 public:
  Finder(const LanguageModelConfig& config, const Tensors& tensors)
      : tensors_(tensors), E_(config.attention.embed_dim), epsilon_(static_cast<float>(config.norm_epsilon)) {}

  bool has(const string& name) const { return tensors_.count(name) == 1; }

  const Tensor& tensor(const string& name, const std::vector<size_t>& shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw std::invalid_argument("the tensor " + name + " is missing");
    if (found->second.shape != shape) {
      throw std::invalid_argument(name + " is " + in_words(found->second.shape) + ", expected " + in_words(shape));
    }
    return found->second;
  }

  std::vector<float> vector(const string& name, size_t size) const {
    const Tensor& found = tensor(name, {size});
    std::vector<float> numbers(size);
    copy_row({found.data, found.type}, 0, size, numbers.data());
    return numbers;
  }

  Projection table(const string& name, size_t rows) const {
    const Tensor& found = tensor(name, {rows, E_});
    return {{found.data, found.type}, E_, rows, false, {}};
  }

  /// With a bias, if there is one.
  Projection linear(const string& name, size_t inputs, size_t outputs, bool by_columns = false) const {
    const Tensor& found =
        by_columns ? tensor(name + ".weight", {inputs, outputs}) : tensor(name + ".weight", {outputs, inputs});
    Projection projection = {{found.data, found.type}, inputs, outputs, by_columns, {}};
    if (has(name + ".bias")) projection.bias = vector(name + ".bias", outputs);
    return projection;
  }

  Norm layer_norm(const string& name) const {
    return {vector(name + ".weight", E_), vector(name + ".bias", E_), epsilon_};
  }
  Norm rms_norm(const string& name) const { return rms_norm(name, E_); }
  Norm rms_norm(const string& name, size_t size) const { return {vector(name + ".weight", size), {}, epsilon_}; }
  Norm rms_norm_of_ones(size_t size) const { return {std::vector<float>(size, 1), {}, epsilon_}; }

 private:
  const Tensors& tensors_;
  size_t E_;
  float epsilon_;
};

LayerWeights gpt2_layer(const Finder& find, const string& name, const LanguageModelConfig& config) {
  const size_t E = config.attention.embed_dim, F = config.hidden_dim;
  LayerWeights layer;
  layer.attention_norm = find.layer_norm(name + "ln_1");
  layer.qkv = {find.linear(name + "attn.c_attn", E, 3 * E, true)};
  layer.output = find.linear(name + "attn.c_proj", E, E, true);
  // GPT-2's files have no weights for these: as in load_gpt2, they stay ones.
  if (config.attention.qk_norm) layer.query_norm = layer.key_norm = find.rms_norm_of_ones(config.attention.head_dim);
  layer.feed_forward_norm = find.layer_norm(name + "ln_2");
  layer.up = find.linear(name + "mlp.c_fc", E, F, true);
  layer.down = find.linear(name + "mlp.c_proj", F, E, true);
  return layer;
}

LayerWeights llama_layer(const Finder& find, const string& name, const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  const size_t E = attention.embed_dim, H = attention.num_heads, G = attention.num_kv_heads, F = config.hidden_dim;
  const size_t D = attention.head_dim == 0 ? E / H : attention.head_dim;
  LayerWeights layer;
  layer.attention_norm = find.rms_norm(name + "input_layernorm");
  layer.qkv = {find.linear(name + "self_attn.q_proj", E, H * D), find.linear(name + "self_attn.k_proj", E, G * D),
               find.linear(name + "self_attn.v_proj", E, G * D)};
  layer.output = find.linear(name + "self_attn.o_proj", H * D, E);
  if (attention.qk_norm) {
    layer.query_norm = find.rms_norm(name + "self_attn.q_norm", D);
    layer.key_norm = find.rms_norm(name + "self_attn.k_norm", D);
  }
  layer.feed_forward_norm = find.rms_norm(name + "post_attention_layernorm");
  layer.gate = find.linear(name + "mlp.gate_proj", E, F);
  layer.up = find.linear(name + "mlp.up_proj", E, F);
  layer.down = find.linear(name + "mlp.down_proj", F, E);
  return layer;
}

}  // namespace

Weights Projection::from(size_t output, size_t input) const {
  const size_t numbers = output * between_outputs() + input * between_inputs();
  return {static_cast<const char*>(weights.data) + numbers * bytes_of(weights.type), weights.type};
}

DecoderWeights::DecoderWeights(const LanguageModelConfig& config, const Tensors& tensors) {
  const Finder find(config, tensors);
  const bool gpt2 = config.architecture == Architecture::gpt2;
  const string prefix = !gpt2 ? "model." : find.has("transformer.wte.weight") ? "transformer." : "";
  tokens = find.table(prefix + (gpt2 ? "wte.weight" : "embed_tokens.weight"), config.vocab_size);
  if (gpt2) positions = find.table(prefix + "wpe.weight", config.max_position);
  for (size_t n = 0; n < config.num_layers; ++n) {
    const string name = prefix + (gpt2 ? "h." : "layers.") + std::to_string(n) + ".";
    layers.push_back(gpt2 ? gpt2_layer(find, name, config) : llama_layer(find, name, config));
  }
  final_norm = gpt2 ? find.layer_norm(prefix + "ln_f") : find.rms_norm(prefix + "norm");
  head = config.tied_head ? tokens : find.table("lm_head.weight", config.vocab_size);
}

void copy_row(Weights weights, size_t row, size_t columns, float* to) {
  const char* from = static_cast<const char*>(weights.data) + row * columns * bytes_of(weights.type);
  if (weights.type == Number::float32) {
    std::memcpy(to, from, columns * sizeof(float));
    return;
  }
  for (size_t c = 0; c < columns; ++c) {
    std::uint16_t bits;
    std::memcpy(&bits, from + 2 * c, sizeof(bits));
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    std::memcpy(to + c, &wide, sizeof(wide));
  }
}

}  // namespace attn::fast
