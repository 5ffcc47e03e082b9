#include "train/training.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "attn/initialization.hpp"
#include "lesson/text.hpp"

namespace attn::training {

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Recipe, task, text, text_hash, ids_hash, tokens, architecture, vocab_size, width,
                                   layers, heads, kv_heads, context, batch, steps, rate, seed, fast)

namespace {

/// SwiGLU has three matrices where others have two: 8/3 E instead of 4 E, rounded up to a multiple of 32.
arma::uword hidden_dim_of(const Recipe& recipe) {
  return recipe.architecture == "gpt2" ? 4 * recipe.width : (8 * recipe.width / 3 + 31) / 32 * 32;
}

/// GPT-2's deviation of 0.02 is one for matrices with E = 2500: 1 / sqrt(E), which keeps the size of what goes
/// through. A text's embeddings keep it: the head is tied, and all tokens are predicted nearly alike at first.
void initialize_for(const Recipe& recipe, LanguageModel& model) {
  initialize(model, recipe.seed);
  const double factor = recipe.is_text() ? 1 / (0.02 * std::sqrt(static_cast<double>(recipe.width))) : 5;
  for (const ParameterView& parameter : parameters_of(model)) {
    const bool is_of_block = parameter.name.rfind("blocks.", 0) == 0;
    if (parameter.decayed && (is_of_block || !recipe.is_text())) parameter.vector() *= factor;
  }
  if (!recipe.is_text()) model.position_embedding *= task_named(recipe.task).positions / (factor * 0.02);
}

}  // namespace

Recipe recipe_of(const TrainOptions& options) {
  Recipe recipe;
  static_cast<KeptOptions&>(recipe) = options;
  if (options.text.empty()) {
    const Task& task = task_named(options.task);
    recipe.task = task.name;
    recipe.architecture = "gpt2";
    recipe.vocab_size = symbols + 1;
    recipe.width = 32;
    recipe.layers = recipe.heads = recipe.kv_heads = 2;
    recipe.context = 2 * length;
    recipe.batch = batch_size;
    recipe.steps = options.steps.value_or(task.steps);
    recipe.rate = 5e-3;
    return recipe;
  }
  recipe.text = std::filesystem::weakly_canonical(std::filesystem::absolute(options.text)).string();
  recipe.vocab_size = options.vocab.value_or(default_vocab);
  recipe.kv_heads = options.kv_heads.value_or(options.heads);
  recipe.steps = options.steps.value_or(default_text_steps);
  return recipe;
}

LanguageModelConfig model_config_of(const Recipe& recipe) {
  const bool gpt2 = recipe.architecture == "gpt2";
  LanguageModelConfig config;
  config.architecture = gpt2 ? Architecture::gpt2 : Architecture::llama;
  config.vocab_size = recipe.vocab_size;
  config.num_layers = recipe.layers;
  config.hidden_dim = recipe.is_text() ? hidden_dim_of(recipe) : 2 * recipe.width;
  config.attention.embed_dim = recipe.width;
  config.attention.num_heads = recipe.heads;
  config.attention.num_kv_heads = recipe.kv_heads;
  config.attention.head_dim = recipe.width / recipe.heads;
  config.attention.bias = gpt2;
  config.attention.window = gpt2 ? 0 : recipe.context;
  config.norm_epsilon = gpt2 ? 1e-5 : 1e-6;
  config.max_position = gpt2 ? recipe.context : 0;
  return config;
}

TrainingConfig training_config_of(const Recipe& recipe) {
  TrainingConfig config;
  config.optimizer.beta2 = 0.95;  // the mean of about 20 steps: a training has a few hundred
  config.schedule.max_rate = recipe.rate;
  config.schedule.min_rate = recipe.rate / 50;
  config.schedule.total_steps = recipe.steps;
  if (recipe.is_text()) config.optimizer.weight_decay = 0.1;
  const arma::uword warmup =
      recipe.is_text() ? std::max<arma::uword>(recipe.steps / 25, 1) : task_named(recipe.task).warmup_steps;
  config.schedule.warmup_steps = std::min(recipe.steps, warmup);
  return config;
}

std::string to_json(const Recipe& recipe) { return Json(recipe).dump(-1, ' ', false, Json::error_handler_t::replace); }

Recipe recipe_from_json(const std::string& json) {
  const auto require = [](bool fits, const std::string& what) {
    if (fits) return;
    throw std::invalid_argument("the recipe has " + cut(harmless(what), 100) + ", which this version does not know");
  };
  Recipe recipe;
  try {
    recipe = Json::parse(json).get<Recipe>();
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[json.exception.out_of_range.403] key 'rate' not found"
    throw std::invalid_argument("the recipe cannot be read: " + cut(harmless(what.substr(what.find("] ") + 2)), 200));
  }
  const auto require_size = [&](const std::string& name, arma::uword size, arma::uword most) {
    require(size > 0 && size <= most, "the " + name + " " + std::to_string(size));
  };
  require_size("vocab_size", recipe.vocab_size, 10'000'000);
  require_size("width", recipe.width, 4096);
  require_size("layers", recipe.layers, 64);
  require_size("heads", recipe.heads, 256);
  require_size("kv_heads", recipe.kv_heads, 256);
  require_size("context", recipe.context, 4096);
  require_size("batch", recipe.batch, 4096);
  require_size("steps", recipe.steps, 1'000'000);
  require(std::isfinite(recipe.rate) && recipe.rate > 0, "a learning rate that is not a number above 0");
  require(recipe.architecture == "llama" || recipe.architecture == "gpt2", "the architecture " + recipe.architecture);
  require(!recipe.is_text() || recipe.tokens == "characters" || recipe.tokens == "bpe",
          "tokens of the kind " + recipe.tokens);
  constexpr std::size_t longest_path = 4096;  // Linux opens no longer one
  require(recipe.text.size() < longest_path, "a text whose path has " + std::to_string(recipe.text.size()) + " bytes");
  if (!recipe.is_text()) task_named(recipe.task);
  return recipe;
}

Training new_run(const Recipe& recipe) {
  Training training{recipe, LanguageModel(model_config_of(recipe)), {}, {}, std::mt19937_64(recipe.seed)};
  initialize_for(recipe, training.model);
  return training;
}

std::mt19937_64 held_out_generator(const Recipe& recipe) { return std::mt19937_64(recipe.seed ^ 0x9E3779B97F4A7C15); }

bool all_finite(Training& training) {
  bool finite = true;
  for (const ParameterView& parameter : parameters_of(training.model))
    finite = finite && parameter.vector().is_finite();
  for (const auto* moments : {&training.state.m, &training.state.v}) {
    for (const arma::vec& x : *moments) finite = finite && x.is_finite();
  }
  return finite;
}

double loss_of(LanguageModel& model, const Batch& batch) {
  model.reset();
  const double loss = cross_entropy(model.extend(batch.ids), batch.targets);
  model.reset();
  return loss;
}

double accuracy_of(LanguageModel& model, const Batch& batch) {
  model.reset();
  const arma::cube logits = model.extend(batch.ids);  // (L x V x B)
  model.reset();
  arma::uword right = 0;
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    const arma::uvec likeliest = arma::index_max(logits.slice(b), 1);  // (L x 1)
    right += arma::accu(likeliest == batch.targets.col(b));            // ignored_target is not a token
  }
  const arma::uword all = arma::accu(batch.targets != ignored_target);
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

}  // namespace attn::training
