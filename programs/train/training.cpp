#include "train/training.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "attn/initialization.hpp"

namespace attn::training {

namespace {

/// SwiGLU has three matrices where others have two: 8/3 E instead of 4 E, rounded up to a multiple of 32.
arma::uword hidden_dim_of(const Recipe& recipe) {
  return recipe.architecture == "gpt2" ? 4 * recipe.width : (8 * recipe.width / 3 + 31) / 32 * 32;
}

using Json = nlohmann::json;

/// Calls visit(name, field) for each text of a recipe, and visit(name, field, least, most) for each size, within what the
/// command line allows.
template <typename AnyRecipe, typename Visit>
void visit_fields(AnyRecipe& recipe, const Visit& visit) {
  visit("task", recipe.task);
  visit("text", recipe.text);
  visit("text_hash", recipe.text_hash);
  visit("ids_hash", recipe.ids_hash);
  visit("tokens", recipe.tokens);
  visit("architecture", recipe.architecture);
  visit("vocab_size", recipe.vocab_size, 1, 10'000'000);
  visit("width", recipe.width, 2, 4096);
  visit("layers", recipe.layers, 1, 64);
  visit("heads", recipe.heads, 1, 256);
  visit("kv_heads", recipe.kv_heads, 1, 256);
  visit("context", recipe.context, 2, 4096);
  visit("batch", recipe.batch, 1, 4096);
  visit("steps", recipe.steps, 1, 1'000'000);
  visit("seed", recipe.seed, 0, ~std::uint64_t{0});
}

/// Reads a field of a recipe, for visit_fields.
struct FieldReader {
  const Json& fields;

  void operator()(const char* name, std::string& value) const {
    const auto found = fields.find(name);
    if (found == fields.end() || !found->is_string()) {
      throw std::invalid_argument(std::string(name) + " of the recipe is missing, or not a text");
    }
    value = found->get<std::string>();
  }

  template <typename Size>
  void operator()(const char* name, Size& value, std::uint64_t least, std::uint64_t most) const {
    const auto found = fields.find(name);
    if (found == fields.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most) {
      throw std::invalid_argument(std::string(name) + " of the recipe is missing, or not a number up to " +
                                  std::to_string(most));
    }
    value = found->get<Size>();
    if (value < least) throw std::invalid_argument(std::string(name) + " of the recipe is " + std::to_string(value));
  }
};

void require(bool fits, const std::string& what) {
  if (!fits) throw std::invalid_argument("the recipe has " + what + ", which this version does not know");
}

/// As the task needs it at first.
void initialize_for(LanguageModel& model, const Task& task, std::uint64_t seed) {
  initialize(model, seed);
  constexpr double factor = 5;  // GPT-2's deviation of 0.02 is one for matrices that are much wider
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.decayed) parameter.vector() *= factor;
  }
  model.position_embedding *= task.positions / (factor * 0.02);
}

/// GPT-2's deviation of 0.02 is that of matrices with E = 2500: 1 / sqrt(E), which keeps the size of what goes
/// through. Of embeddings it stays: the head is tied, and all tokens are predicted nearly alike at first.
void initialize_for_text(LanguageModel& model, std::uint64_t seed) {
  initialize(model, seed);
  const double factor = 1 / (0.02 * std::sqrt(static_cast<double>(model.config().attention.embed_dim)));
  for (const ParameterView& parameter : parameters_of(model)) {
    if (parameter.decayed && parameter.name.rfind("blocks.", 0) == 0) parameter.vector() *= factor;
  }
}

}  // namespace

Recipe recipe_of(const TrainOptions& options) {
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
  recipe.vocab_size = options.vocab.value_or(default_vocab);
  recipe.width = options.width;
  recipe.layers = options.layers;
  recipe.heads = options.heads;
  recipe.kv_heads = options.kv_heads.value_or(options.heads);
  recipe.context = options.context;
  recipe.batch = options.batch;
  recipe.steps = options.steps.value_or(default_text_steps);
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

std::string to_json(const Recipe& recipe) {
  Json fields = {{"rate", recipe.rate}, {"fast", recipe.fast}};
  visit_fields(recipe, [&](const char* name, const auto& value, auto...) { fields[name] = value; });
  return fields.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Recipe recipe_from_json(const std::string& json) {
  const Json fields = Json::parse(json, nullptr, false);
  if (!fields.is_object()) throw std::invalid_argument("the recipe is not a JSON object");
  Recipe recipe;
  visit_fields(recipe, FieldReader{fields});
  const auto fast = fields.find("fast");
  require(fast != fields.end() && fast->is_boolean(), "no word on whether it is fast");
  recipe.fast = fast->get<bool>();
  const auto rate = fields.find("rate");
  require(rate != fields.end() && rate->is_number(), "no learning rate");
  recipe.rate = rate->get<double>();
  require(std::isfinite(recipe.rate) && recipe.rate > 0, "a learning rate that is no number above 0");
  require(recipe.architecture == "llama" || recipe.architecture == "gpt2", "the architecture " + recipe.architecture);
  if (!recipe.is_text()) {
    require(std::any_of(tasks().begin(), tasks().end(), [&](const Task& task) { return task.name == recipe.task; }),
            "the task " + recipe.task);
  } else {
    require(recipe.tokens == "characters" || recipe.tokens == "bpe", "tokens of the kind " + recipe.tokens);
  }
  return recipe;
}

Training new_run(const Recipe& recipe) {
  Training training{recipe, LanguageModel(model_config_of(recipe)), {}, {}, std::mt19937_64(recipe.seed)};
  if (recipe.is_text()) {
    initialize_for_text(training.model, recipe.seed);
  } else {
    initialize_for(training.model, task_named(recipe.task), recipe.seed);
  }
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
  arma::uword all = 0;
  for (arma::uword b = 0; b < logits.n_slices; ++b) {
    const arma::ucolvec likeliest = arma::index_max(logits.slice(b), 1);  // (L x 1)
    for (arma::uword i = 0; i < likeliest.n_elem; ++i) {
      if (batch.targets(i, b) == ignored_target) continue;
      ++all;
      right += likeliest(i) == batch.targets(i, b) ? 1 : 0;
    }
  }
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

std::vector<arma::uword> written_after(LanguageModel& model, const std::vector<arma::uword>& ids, arma::uword count) {
  model.reset();
  arma::cube logits = model.extend(arma::umat(arma::uvec(ids)));  // (L x V x 1)
  std::vector<arma::uword> written;
  while (written.size() < count) {
    written.push_back(logits.slice(0).tail_rows(1).index_max());
    if (written.size() < count) logits = model.extend(arma::umat(1, 1, arma::fill::value(written.back())));
  }
  model.reset();
  return written;
}

}  // namespace attn::training
