#include "generate/prepared.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "attn/tensor_files.hpp"
#include "lesson/text.hpp"
#include "system/files.hpp"

namespace attn::generating {

namespace fs = std::filesystem;

namespace {

/// Its path as the learner knows it.
std::string name_of(const GenerateOptions& options) { return options.model.empty() ? "models/small" : options.model; }

fs::path folder_of(const GenerateOptions& options) {
  return options.model.empty() ? fs::path(ATTN_ROOT) / "models/small" : fs::path(options.model);
}

std::string prompt_of(const GenerateOptions& options) {
  if (!options.prompt.empty()) return joined(options.prompt, " ");
  if (options.attention) return "Elizabeth looked at her sister, and her sister looked at Elizabeth.";
  return options.model.empty() ? "Elizabeth looked at her sister, and" : "Once upon a time,";
}

std::string gigabytes(double bytes) { return with_decimals(bytes / 1e9, 1) + " GB"; }

/// Bytes that programs may still take; 0 where it is not known.
double available_memory() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    double kibibytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lf kB", &kibibytes) == 1) return kibibytes * 1024;
  }
  return 0;
}

/// The weights, the largest matrix once more, which is there twice while it is read; the cache, which may have room for twice
/// as many tokens; and the logits of the prompt.
void require_memory(const Prepared& prepared) {
  const LanguageModelConfig& config = prepared.files.config;
  const auto tokens = static_cast<double>(prepared.ids.size() + prepared.max_tokens);
  const auto vocab = static_cast<double>(config.vocab_size);
  const double needed = static_cast<double>(bytes_in_memory(config)) +
                        8 * vocab * static_cast<double>(config.attention.embed_dim) +
                        2 * tokens * static_cast<double>(cache_bytes_per_token(config)) +
                        8 * vocab * static_cast<double>(prepared.ids.size());
  const double available = available_memory();
  if (available == 0 || needed <= available) return;
  throw std::invalid_argument(prepared.model_name + " takes " + gigabytes(needed) +
                              " of memory, as all numbers are doubles here, and " + gigabytes(available) +
                              " are available: take a smaller model, or end other programs");
}

/// How many new tokens: what was asked for, and what the model has positions for.
arma::uword max_tokens_of(const Prepared& prepared) {
  const arma::uword positions = prepared.files.config.max_position;  // 0: there is no limit
  const arma::uword count = prepared.ids.size();
  if (positions > 0 && count > positions) {
    throw std::invalid_argument("the prompt has " + std::to_string(count) + " tokens, expected at most " +
                                std::to_string(positions) + ", the positions of " + prepared.model_name);
  }
  const auto& asked = prepared.options.max_tokens;
  if (prepared.options.attention && !asked) return 0;
  const arma::uword wanted = asked.value_or(default_max_tokens);
  return positions == 0 ? wanted : std::min(wanted, positions - count + 1);  // the last one takes no position
}

arma::uword require_below(const std::string& what, const std::string& digits, arma::uword count) {
  const arma::uword value = std::stoul(digits);
  if (value < count) return value;
  throw std::invalid_argument(what + " is " + digits + ", expected 0 to " + std::to_string(count - 1));
}

}  // namespace

Prepared prepare(const GenerateOptions& options) {
  require_new_file(options.svg);
  CheckpointFiles files = open_checkpoint(folder_of(options));
  ByteLevelBPE tokenizer(files.tokenizer);
  const std::string prompt = prompt_of(options);
  std::vector<arma::uword> ids = prompt_ids(tokenizer, prompt);
  if (prompt.empty() || ids.empty()) throw std::invalid_argument("the prompt is empty: expected at least one token");
  Prepared prepared{options, name_of(options), std::move(files), std::move(tokenizer), prompt, std::move(ids)};
  if (!options.layer_and_head.empty()) {
    const auto dot = options.layer_and_head.find('.');
    const LanguageModelConfig& config = prepared.files.config;
    prepared.layer = require_below("layer", options.layer_and_head.substr(0, dot), config.num_layers);
    prepared.head = require_below("head", options.layer_and_head.substr(dot + 1), config.attention.num_heads);
  }
  prepared.max_tokens = max_tokens_of(prepared);
  require_memory(prepared);
  return prepared;
}

Checkpoint load(const Prepared& prepared) {
  constexpr double much = 5e8;
  const auto bytes = static_cast<double>(bytes_in_memory(prepared.files.config));
  if (bytes > much) {
    std::printf("reading %s: %.2f billion parameters, %s ...\n\n", prepared.model_name.c_str(), bytes / 8e9,
                gigabytes(bytes).c_str());
    std::fflush(stdout);
  }
  TensorFiles tensors(prepared.files.weights);
  LanguageModel model(prepared.files.config);
  load_weights(model, tensors);
  return {std::move(model), prepared.tokenizer, prepared.files.stop_tokens};
}

}  // namespace attn::generating
