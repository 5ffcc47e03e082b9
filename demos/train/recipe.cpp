#include "recipe.hpp"

#include <algorithm>
#include <filesystem>

#include "tasks.hpp"
#include "trainer.hpp"

namespace attn::training {

namespace {

/// SwiGLU has three matrices where others have two: 8/3 E instead of 4 E, rounded up to a multiple of 32.
arma::uword hidden_dim_of(const Recipe& recipe) {
  return recipe.architecture == "gpt2" ? 4 * recipe.width : (8 * recipe.width / 3 + 31) / 32 * 32;
}

}  // namespace

Recipe recipe_of(const learn::TrainOptions& options) {
  Recipe recipe;
  recipe.seed = options.seed;
  recipe.fast = options.fast;
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
  recipe.tokens = options.tokens;
  recipe.architecture = options.architecture;
  recipe.vocab_size = options.vocab.value_or(learn::default_vocab);
  recipe.width = options.width;
  recipe.layers = options.layers;
  recipe.heads = options.heads;
  recipe.kv_heads = options.kv_heads.value_or(options.heads);
  recipe.context = options.context;
  recipe.batch = options.batch;
  recipe.steps = options.steps.value_or(learn::default_text_steps);
  recipe.rate = options.rate;
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
  config.schedule.total_steps = recipe.steps;
  if (recipe.is_text()) {
    config.optimizer.weight_decay = 0.1;
    config.schedule.min_rate = recipe.rate / 50;
    config.schedule.warmup_steps = std::min<arma::uword>(recipe.steps, std::max<arma::uword>(recipe.steps / 25, 1));
  } else {
    config.schedule.min_rate = recipe.rate / 50;
    config.schedule.warmup_steps = std::min(task_named(recipe.task).warmup_steps, recipe.steps);
  }
  return config;
}

}  // namespace attn::training
