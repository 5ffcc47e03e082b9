#include "generate/prepared.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "attn/generation.hpp"
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

std::string gigabytes(double bytes) {
  return bytes < 1e9 ? with_decimals(bytes / 1e6, 0) + " MB" : with_decimals(bytes / 1e9, 1) + " GB";
}

/// The number after a word in a file of /proc; infinity where there is none.
double number_in(const char* file, const char* format) {
  std::ifstream in(file);
  double number = 0;
  for (std::string line; std::getline(in, line);) {
    if (std::sscanf(line.c_str(), format, &number) == 1) return number;
  }
  return HUGE_VAL;
}

/// Bytes that this program may still take: what the system has, and what `ulimit -v` leaves.
double available_memory() {
  const double free = number_in("/proc/meminfo", "MemAvailable: %lf kB") * 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return free;
  const double taken = number_in("/proc/self/status", "VmSize: %lf kB") * 1024;
  const double left = static_cast<double>(limit.rlim_cur) - (std::isfinite(taken) ? taken : 0);
  return std::min(free, std::max(left, 0.0));
}

/// What the scores of the prompt take: of one layer at a time, three cubes (rows x keys x heads) and the mask. The reference
/// puts the prompt through in chunks, and the cache may have room for twice as many keys; a learner's model may take the
/// prompt as a whole, as a map does.
double bytes_of_scores(const Prepared& prepared) {
  const auto tokens = static_cast<double>(prepared.ids.size()), chunk = static_cast<double>(prompt_chunk);
  const auto heads = static_cast<double>(prepared.files.config.attention.num_heads);
  const bool in_chunks = prepared.options.reference && !prepared.options.attention;
  const double scores = in_chunks ? std::min(tokens, chunk) * 2 * tokens : tokens * tokens;
  return 8 * scores * (3 * heads + 1);
}

/// The weights, the largest matrix once more, which is there twice while it is read; the cache, which may have room for twice
/// as many tokens; the logits of the prompt, and its scores.
void require_memory(const Prepared& prepared) {
  const LanguageModelConfig& config = prepared.files.config;
  const auto tokens = static_cast<double>(prepared.ids.size() + prepared.max_tokens);
  const auto vocab = static_cast<double>(config.vocab_size);
  const auto weights = static_cast<double>(bytes_in_memory(config));
  const double text = 2 * tokens * static_cast<double>(cache_bytes_per_token(config)) +
                      8 * vocab * static_cast<double>(prepared.ids.size()) + bytes_of_scores(prepared);
  constexpr double blas = 1.5e8;  // OpenBLAS's own buffers: without room for them it tries forever
  const double needed = blas + weights + 8 * vocab * static_cast<double>(config.attention.embed_dim) + text;
  const double available = available_memory();
  if (needed <= available) return;
  std::string advice = "take a smaller model, or end other programs";
  if (text > weights) {
    advice = "take a shorter prompt of fewer than " + std::to_string(prepared.ids.size()) +
             " tokens, or a smaller --max-tokens";
    if (!prepared.options.reference) advice += "; --reference takes a long prompt in parts, and less memory";
  }
  throw std::invalid_argument(prepared.model_name + " takes " + gigabytes(needed) +
                              " of memory, as all numbers are doubles here, and " + gigabytes(available) +
                              " are available: " + advice);
}

/// A tokenizer may have tokens that its model lacks.
void require_known(const Prepared& prepared) {
  const arma::uword most = *std::max_element(prepared.ids.begin(), prepared.ids.end());
  if (most < prepared.files.config.vocab_size) return;
  throw std::invalid_argument("the prompt has the token " + std::to_string(most) + ", expected below " +
                              std::to_string(prepared.files.config.vocab_size) + ", the vocab_size in config.json of " +
                              prepared.model_name);
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

/// A tokenizer, and what it makes of the prompt.
std::pair<ByteLevelBPE, std::vector<arma::uword>> tokenized(const GenerateOptions& options, const TokenizerData& data,
                                                            const std::string& prompt) {
  try {
    ByteLevelBPE tokenizer(data);
    std::vector<arma::uword> ids = prompt_ids(tokenizer, prompt);
    return {std::move(tokenizer), std::move(ids)};
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("the tokenizer of " + name_of(options) + " cannot take the prompt: " + error.what());
  }
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
  const std::string prompt = prompt_of(options);
  auto [tokenizer, ids] = tokenized(options, files.tokenizer, prompt);
  if (prompt.empty() || ids.empty()) throw std::invalid_argument("the prompt is empty: expected at least one token");
  Prepared prepared{options, name_of(options), std::move(files), std::move(tokenizer), prompt, std::move(ids)};
  if (!options.layer_and_head.empty()) {
    const auto dot = options.layer_and_head.find('.');
    const LanguageModelConfig& config = prepared.files.config;
    prepared.layer = require_below("layer", options.layer_and_head.substr(0, dot), config.num_layers);
    prepared.head = require_below("head", options.layer_and_head.substr(dot + 1), config.attention.num_heads);
  }
  prepared.max_tokens = max_tokens_of(prepared);
  require_known(prepared);
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
