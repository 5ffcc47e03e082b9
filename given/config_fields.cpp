#include "attn/config_fields.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "attn/shape.hpp"
#include "json_file.hpp"

namespace attn {

namespace {

using namespace given;

// Above the sizes of any model. With them no product of sizes reaches 2^64.
constexpr arma::uword most_layers = 1'000, widest = 1'000'000, most_tokens = 10'000'000;

arma::uword required_size(const Json& config, const std::string& field, arma::uword most = widest) {
  const auto size = find_size(config, field, most);
  if (!size || *size == 0) throw std::invalid_argument(field + (size ? " is 0, expected at least 1" : " is missing"));
  return *size;
}

void refuse_unless(bool supported, const Json& config, const std::string& field, const std::string& expected) {
  if (supported) return;
  throw std::invalid_argument(field + " is " + shown(config.at(field)) + ", which is not supported; expected " +
                              expected);
}

/// A text that, when it is there, is one of these.
void require_text(const Json& config, const std::string& field, const std::set<std::string>& supported) {
  const auto text = find_text(config, field);
  std::string names;
  for (const std::string& name : supported) names += (names.empty() ? "" : " or ") + name;
  refuse_unless(!text || supported.count(*text) != 0, config, field, names);
}

void require_false(const Json& config, const std::string& field) {
  refuse_unless(!find_bool(config, field).value_or(false), config, field, "false");
}

ConfigFields read_gpt2(const Json& config) {
  require_text(config, "activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  refuse_unless(find_bool(config, "scale_attn_weights").value_or(true), config, "scale_attn_weights", "true");
  require_false(config, "scale_attn_by_inverse_layer_idx");
  require_false(config, "add_cross_attention");
  ConfigFields fields;
  fields.hidden_size = required_size(config, "n_embd");
  fields.num_hidden_layers = required_size(config, "n_layer", most_layers);
  fields.num_attention_heads = required_size(config, "n_head");
  fields.intermediate_size = find_size(config, "n_inner", widest);
  fields.max_position_embeddings = find_size(config, has(config, "n_positions") ? "n_positions" : "n_ctx", most_tokens);
  fields.rms_norm_eps = find_number(config, "layer_norm_epsilon");
  return fields;
}

/// rope_scaling of older files, or rope_parameters of newer ones, which have rope_theta, too.
void read_rope(const Json& config, ConfigFields& fields) {
  fields.rope_theta = find_number(config, "rope_theta");
  const std::string name = has(config, "rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!has(config, name)) return;
  const Json& rope = config[name];
  if (!rope.is_object()) throw std::invalid_argument(name + " is " + shown(rope) + ", expected an object");
  if (has(rope, "rope_theta")) fields.rope_theta = find_number(rope, "rope_theta");
  const std::string field = has(rope, "rope_type") ? "rope_type" : "type";
  require_text(rope, field, {"default", "llama3"});
  refuse_unless(find_number(rope, "partial_rotary_factor").value_or(1) == 1, rope, "partial_rotary_factor", "1");
  if (find_text(rope, field).value_or("default") == "default") return;
  fields.rope_scaling.method = RopeScaling::Method::llama3;
  for (const char* needed : {"factor", "low_freq_factor", "high_freq_factor"}) {
    if (!has(rope, needed)) throw std::invalid_argument(name + " has no " + needed);
  }
  fields.rope_scaling.factor = *find_number(rope, "factor");
  fields.rope_scaling.low_freq_factor = *find_number(rope, "low_freq_factor");
  fields.rope_scaling.high_freq_factor = *find_number(rope, "high_freq_factor");
  fields.rope_scaling.original_max_position_embeddings =
      required_size(rope, "original_max_position_embeddings", SIZE_MAX);
}

/// The window of all layers; 0 for none.
arma::uword read_window(const Json& config, const std::string& model_type, arma::uword layers) {
  if (has(config, "layer_types")) {
    const Json& types = config["layer_types"];
    const bool alike = types.is_array() && !types.empty() &&
                       std::all_of(types.begin(), types.end(), [&types](const Json& type) { return type == types[0]; });
    const bool known = alike && (types[0] == "full_attention" || types[0] == "sliding_attention");
    refuse_unless(known, config, "layer_types", "one kind for all layers: full_attention or sliding_attention");
    if (types[0] == "full_attention") return 0;
    return required_size(config, "sliding_window", SIZE_MAX);
  }
  if (model_type == "mistral") {
    return config.contains("sliding_window") ? find_size(config, "sliding_window").value_or(0) : 4096;
  }
  if (model_type == "llama" || !find_bool(config, "use_sliding_window").value_or(false)) return 0;
  const arma::uword full = find_size(config, "max_window_layers").value_or(28);  // so many layers have no window
  if (full >= layers) return 0;
  if (full != 0) {
    throw std::invalid_argument("max_window_layers is " + std::to_string(full) +
                                (has(config, "max_window_layers") ? "" : ", as it is missing") +
                                ", expected 0 or at least " + std::to_string(layers) +
                                ": a window in all layers or in none");
  }
  return find_size(config, "sliding_window").value_or(4096);
}

ConfigFields read_llama(const Json& config, const std::string& model_type) {
  require_text(config, "hidden_act", {"silu", "swish"});
  require_false(config, "mlp_bias");
  ConfigFields fields;
  fields.hidden_size = required_size(config, "hidden_size");
  fields.num_hidden_layers = required_size(config, "num_hidden_layers", most_layers);
  fields.num_attention_heads = required_size(config, "num_attention_heads");
  fields.num_key_value_heads = find_size(config, "num_key_value_heads", widest);
  fields.head_dim = find_size(config, "head_dim", widest);
  fields.intermediate_size = required_size(config, "intermediate_size");
  fields.max_position_embeddings = find_size(config, "max_position_embeddings");
  fields.rms_norm_eps = find_number(config, "rms_norm_eps");
  fields.attention_bias = find_bool(config, "attention_bias");
  fields.sliding_window = read_window(config, model_type, fields.num_hidden_layers);
  read_rope(config, fields);
  return fields;
}

/// What a model's constructor would refuse, named as it is in the file.
void require_consistent(const ConfigFields& fields) {
  const arma::uword heads = fields.num_attention_heads;
  require_multiple("num_attention_heads", heads, "num_key_value_heads", fields.num_key_value_heads.value_or(heads));
  if (!fields.head_dim && fields.model_type != "qwen3") {
    require_multiple("hidden_size", fields.hidden_size, "num_attention_heads", heads);
    require_multiple("hidden_size", fields.hidden_size, "2 x num_attention_heads, as RoPE turns pairs,", 2 * heads);
  }
  require_multiple("head_dim", fields.head_dim.value_or(2), "a pair's width", 2);
  if (fields.rms_norm_eps.value_or(0) < 0) {
    throw std::invalid_argument("rms_norm_eps is " + shown(*fields.rms_norm_eps) + ", expected at least 0");
  }
}

}  // namespace

ConfigFields read_config(const std::filesystem::path& folder) {
  std::error_code unreadable;
  if (!std::filesystem::is_directory(folder, unreadable)) {
    throw std::invalid_argument("folder " + folder.string() + " does not exist");
  }
  const std::filesystem::path file = folder / "config.json";
  const Json config = read_object(file);
  return read_fields(file, [&config] {
    if (!has(config, "model_type")) throw std::invalid_argument("model_type is missing");
    const std::string model_type = *find_text(config, "model_type");
    refuse_unless(std::set<std::string>{"gpt2", "llama", "mistral", "qwen2", "qwen3"}.count(model_type) != 0, config,
                  "model_type", "gpt2, llama, mistral, qwen2 or qwen3");
    if (has(config, "quantization_config")) {
      throw std::invalid_argument("quantization_config: weights that are quantized are not supported");
    }
    ConfigFields fields = model_type == "gpt2" ? read_gpt2(config) : read_llama(config, model_type);
    fields.model_type = model_type;
    fields.vocab_size = required_size(config, "vocab_size", most_tokens);
    fields.tie_word_embeddings = find_bool(config, "tie_word_embeddings");
    require_consistent(fields);
    return fields;
  });
}

}  // namespace attn
