#include "train/training_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "attn/checkpoint.hpp"
#include "attn/parameters.hpp"
#include "attn/safetensors.hpp"
#include "lesson/text.hpp"

namespace attn::training {

namespace {

[[noreturn]] void refuse_file(const std::string& what) { throw std::invalid_argument(what); }

// ------------------------------------------------------------------------------------------------- safetensors

/// One tensor of a safetensors file that is to be written.
struct WrittenTensor {
  std::string name;
  std::string dtype;               ///< "F32" or "F64"
  std::vector<arma::uword> shape;  ///< PyTorch's order
  std::string bytes;
};
using Tensors = std::vector<WrittenTensor>;

/// The texts of __metadata__, by their keys.
using Metadata = std::map<std::string, std::string>;

template <typename Number>
std::string bytes_of(const Number* numbers, arma::uword size) {
  return {reinterpret_cast<const char*>(numbers), size * sizeof(Number)};
}

/// A matrix row by row, as PyTorch has it, in single precision.
/// @param x (rows x columns)
WrittenTensor float_matrix(const std::string& name, const arma::mat& x) {
  const arma::fmat rows = arma::conv_to<arma::fmat>::from(x.t());  // column-major: its columns are x's rows
  return {name, "F32", {x.n_rows, x.n_cols}, bytes_of(rows.memptr(), rows.n_elem)};
}

/// @param x (1 x size); a tensor of one axis
WrittenTensor float_row(const std::string& name, const arma::rowvec& x) {
  WrittenTensor tensor = float_matrix(name, x);
  tensor.shape = {x.n_elem};
  return tensor;
}

/// All numbers, one after the other; a tensor of one axis.
WrittenTensor double_list(const std::string& name, const double* numbers, arma::uword size) {
  return {name, "F64", {size}, bytes_of(numbers, size)};
}

/// A whole safetensors file: see attn/safetensors.hpp.
std::string safetensors_file(const Tensors& tensors, const Metadata& metadata) {
  nlohmann::json header = {{"__metadata__", metadata}};
  std::size_t end = 0;
  for (const WrittenTensor& tensor : tensors) {
    const std::size_t begin = end;
    end += tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string file;
  file.reserve(8 + text.size() + end);
  for (unsigned shift = 0; shift < 64; shift += 8) file += static_cast<char>(text.size() >> shift & 0xFFU);
  file += text;
  for (const WrittenTensor& tensor : tensors) file += tensor.bytes;
  return file;
}

// ------------------------------------------------------------------------------------------------- models for others

/// A weight of nn.Linear: (out x in).
void add_linear(Tensors& tensors, const std::string& name, const Linear& layer) {
  tensors.push_back(float_matrix(name + ".weight", layer.weight.t()));
}

/// A weight of GPT-2's Conv1D: (in x out).
void add_conv1d(Tensors& tensors, const std::string& name, const arma::mat& weight, const arma::rowvec& bias) {
  tensors.push_back(float_matrix(name + ".weight", weight));
  tensors.push_back(float_row(name + ".bias", bias));
}

void add_norm(Tensors& tensors, const std::string& name, const AnyNorm& norm) {
  std::visit([&](const auto& any) { tensors.push_back(float_row(name + ".weight", any.weight)); }, norm);
  if (const auto* layer_norm = std::get_if<LayerNorm>(&norm)) {
    tensors.push_back(float_row(name + ".bias", layer_norm->bias));
  }
}

Tensors gpt2_tensors(const LanguageModel& model) {
  Tensors tensors = {float_matrix("wte.weight", model.token_embedding.weight),
                     float_matrix("wpe.weight", model.position_embedding)};
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const DecoderBlock& block = model.blocks[n];
    const DecoderAttention& attention = block.attention;
    const auto& network = std::get<FeedForward>(block.feed_forward);
    const std::string name = "h." + std::to_string(n) + ".";
    add_norm(tensors, name + "ln_1", block.attention_norm);
    const auto joined = [&](auto part) {
      return arma::join_rows(part(attention.query_proj), part(attention.key_proj), part(attention.value_proj));
    };
    add_conv1d(tensors, name + "attn.c_attn", joined([](const Linear& layer) { return layer.weight; }),
               joined([](const Linear& layer) { return layer.bias; }));
    add_conv1d(tensors, name + "attn.c_proj", attention.output_proj.weight, attention.output_proj.bias);
    add_norm(tensors, name + "ln_2", block.feed_forward_norm);
    add_conv1d(tensors, name + "mlp.c_fc", network.up_proj.weight, network.up_proj.bias);
    add_conv1d(tensors, name + "mlp.c_proj", network.down_proj.weight, network.down_proj.bias);
  }
  add_norm(tensors, "ln_f", model.final_norm);
  return tensors;
}

Tensors llama_tensors(const LanguageModel& model) {
  Tensors tensors = {float_matrix("model.embed_tokens.weight", model.token_embedding.weight)};
  for (std::size_t n = 0; n < model.blocks.size(); ++n) {
    const DecoderBlock& block = model.blocks[n];
    const auto& network = std::get<SwiGLU>(block.feed_forward);
    const std::string name = "model.layers." + std::to_string(n) + ".";
    add_norm(tensors, name + "input_layernorm", block.attention_norm);
    add_linear(tensors, name + "self_attn.q_proj", block.attention.query_proj);
    add_linear(tensors, name + "self_attn.k_proj", block.attention.key_proj);
    add_linear(tensors, name + "self_attn.v_proj", block.attention.value_proj);
    add_linear(tensors, name + "self_attn.o_proj", block.attention.output_proj);
    add_norm(tensors, name + "post_attention_layernorm", block.feed_forward_norm);
    add_linear(tensors, name + "mlp.gate_proj", network.gate_proj);
    add_linear(tensors, name + "mlp.up_proj", network.up_proj);
    add_linear(tensors, name + "mlp.down_proj", network.down_proj);
  }
  add_norm(tensors, "model.norm", model.final_norm);
  return tensors;
}

// ------------------------------------------------------------------------------------------------- trainings

constexpr const char* format = "training of attention-by-hand";
constexpr const char* version = "1";

/// A text of a file as a message shows it.
std::string shown(const std::string& text) { return cut(harmless(text), 60); }

/// Of all that a file says: the texts, and then the numbers.
std::string checksum_of(const Metadata& metadata, std::string_view numbers) {
  Hash hash;
  for (const auto& [key, value] : metadata) {
    if (key != "checksum") hash.add(key + "\n" + value + "\n");
  }
  return hash.add(numbers.data(), numbers.size()).text();
}

/// A file that was saved: its texts, its tensors, and the bytes of all their numbers.
struct SavedFile {
  Metadata metadata;
  std::map<std::string, TensorEntry> tensors;
  std::string_view file;
  std::string_view numbers;
};

/// @throws std::invalid_argument as read_header, and when the file is of another format or version, or was damaged.
SavedFile open_saved(std::string_view file) {
  SavedFile saved{{}, {}, file, {}};
  for (const TensorEntry& entry : read_header(file)) saved.tensors.emplace(entry.name, entry);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), sizeof header_size);
  saved.numbers = file.substr(8 + header_size);
  try {
    saved.metadata = nlohmann::json::parse(file.substr(8, header_size)).at("__metadata__").get<Metadata>();
  } catch (const nlohmann::json::exception&) {
    refuse_file("it has no __metadata__: it is not a saved training");
  }
  Metadata& metadata = saved.metadata;
  if (metadata["format"] != format)
    refuse_file("its format is \"" + shown(metadata["format"]) + "\": it is not a saved training");
  if (metadata["version"] != version) {
    refuse_file("its version is " + shown(metadata["version"]) + ", and this program reads version " + version +
                ": go on with the program that wrote it");
  }
  if (metadata["checksum"] != checksum_of(metadata, saved.numbers)) {
    refuse_file("its checksum does not fit: the file was damaged");
  }
  return saved;
}

/// The numbers of a tensor of one axis, which is then no longer in `saved`.
/// @throws std::invalid_argument naming it, when it is missing, of another type, or not finite.
std::vector<double> take(SavedFile& saved, const std::string& name) {
  const auto found = saved.tensors.find(name);
  if (found == saved.tensors.end()) refuse_file(name + " is missing");
  const TensorEntry entry = found->second;
  saved.tensors.erase(found);
  if (entry.dtype != "F64" || entry.shape.size() != 1) refuse_file(name + " is not a list of numbers of type F64");
  std::vector<double> numbers(entry.shape[0]);
  if (!numbers.empty()) std::memcpy(numbers.data(), saved.file.data() + entry.begin, entry.end - entry.begin);
  const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
  if (!finite) refuse_file(name + " has numbers that are not finite");
  return numbers;
}

arma::vec take(SavedFile& saved, const std::string& name, arma::uword size) {
  const std::vector<double> numbers = take(saved, name);
  if (numbers.size() == size) return numbers;
  refuse_file(name + " has " + std::to_string(numbers.size()) + " numbers, expected " + std::to_string(size));
}

}  // namespace

std::string config_json(const LanguageModelConfig& config) {
  const DecoderAttentionConfig& attention = config.attention;
  nlohmann::ordered_json json;
  if (config.architecture == Architecture::gpt2) {
    json = {{"architectures", {"GPT2LMHeadModel"}}, {"model_type", "gpt2"},
            {"vocab_size", config.vocab_size},      {"n_embd", attention.embed_dim},
            {"n_layer", config.num_layers},         {"n_head", attention.num_heads},
            {"n_inner", config.hidden_dim},         {"n_positions", config.max_position},
            {"activation_function", "gelu_new"},    {"layer_norm_epsilon", config.norm_epsilon}};
  } else {
    json = {{"architectures", {"MistralForCausalLM"}},
            {"model_type", "mistral"},
            {"vocab_size", config.vocab_size},
            {"hidden_size", attention.embed_dim},
            {"intermediate_size", config.hidden_dim},
            {"num_hidden_layers", config.num_layers},
            {"num_attention_heads", attention.num_heads},
            {"num_key_value_heads", attention.num_kv_heads},
            {"head_dim", attention.head_dim},
            {"hidden_act", "silu"},
            {"max_position_embeddings", 32768},
            {"sliding_window", attention.window},
            {"rms_norm_eps", config.norm_epsilon},
            {"rope_theta", 10000.0}};
  }
  json["tie_word_embeddings"] = config.tied_head;
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

std::string exported_weights(const LanguageModel& model) {
  const bool gpt2 = model.config().architecture == Architecture::gpt2;
  return safetensors_file(gpt2 ? gpt2_tensors(model) : llama_tensors(model), {{"format", "pt"}});
}

std::string saved_training(Training& training) {
  Tensors tensors;
  const std::vector<ParameterView> parameters = parameters_of(training.model);
  for (const ParameterView& parameter : parameters) {
    tensors.push_back(double_list("model." + parameter.name, parameter.values, parameter.size));
  }
  const auto add_moments = [&](const std::string& kind, const std::vector<arma::vec>& moments) {
    for (std::size_t i = 0; i < moments.size(); ++i) {
      tensors.push_back(double_list(kind + parameters[i].name, moments[i].memptr(), moments[i].n_elem));
    }
  };
  add_moments("m.", training.state.m);
  add_moments("v.", training.state.v);
  tensors.push_back(double_list("losses", training.losses.data(), training.losses.size()));
  std::ostringstream examples;
  examples << training.examples;
  Metadata metadata = {
      {"format", format}, {"version", version}, {"recipe", to_json(training.recipe)}, {"examples", examples.str()}};
  std::string numbers;
  for (const WrittenTensor& tensor : tensors) numbers += tensor.bytes;
  metadata["checksum"] = checksum_of(metadata, numbers);
  return safetensors_file(tensors, metadata);
}

Training read_training(std::string_view file) {
  SavedFile saved = open_saved(file);
  const Recipe recipe = recipe_from_json(saved.metadata["recipe"]);
  const arma::uword needed = bytes_in_memory(model_config_of(recipe));
  if (needed > file.size()) {
    refuse_file("it is too small for its model: " + std::to_string(file.size()) + " bytes, expected at least " +
                std::to_string(needed));
  }
  Training training{recipe, LanguageModel(model_config_of(recipe)), {}, take(saved, "losses"), {}};
  if (training.losses.size() > recipe.steps) refuse_file("it has more losses than steps");
  AdamWState& state = training.state;
  state.t = training.losses.size();
  for (const ParameterView& parameter : parameters_of(training.model)) {
    parameter.vector() = take(saved, "model." + parameter.name, parameter.size);
    if (state.t == 0) continue;
    state.m.push_back(take(saved, "m." + parameter.name, parameter.size));
    state.v.push_back(take(saved, "v." + parameter.name, parameter.size));
  }
  if (!saved.tensors.empty())
    refuse_file("it has tensors that its model lacks, such as " + shown(saved.tensors.begin()->first));
  std::istringstream examples(saved.metadata["examples"]);
  examples >> training.examples;
  if (!examples) refuse_file("the state of its generator cannot be read");
  return training;
}

}  // namespace attn::training
