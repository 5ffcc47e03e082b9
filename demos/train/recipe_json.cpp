#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "recipe.hpp"
#include "tasks.hpp"

namespace attn::training {

namespace {

using Json = nlohmann::json;

/// A size, within what the command line allows.
void read(const Json& fields, const char* name, std::uint64_t& value, std::uint64_t most) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most) {
    throw std::invalid_argument(std::string(name) + " of the recipe is missing, or not a number up to " +
                                std::to_string(most));
  }
  value = found->get<std::uint64_t>();
}

void read(const Json& fields, const char* name, arma::uword& value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  read(fields, name, number, most);
  if (number < least) throw std::invalid_argument(std::string(name) + " of the recipe is " + std::to_string(number));
  value = number;
}

void read(const Json& fields, const char* name, std::string& value) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_string()) {
    throw std::invalid_argument(std::string(name) + " of the recipe is missing, or not a text");
  }
  value = found->get<std::string>();
}

void require(bool fits, const std::string& what) {
  if (!fits) throw std::invalid_argument("the recipe has " + what + ", which this version does not know");
}

}  // namespace

std::string to_json(const Recipe& recipe) {
  return Json{{"task", recipe.task},
              {"text", recipe.text},
              {"text_hash", recipe.text_hash},
              {"ids_hash", recipe.ids_hash},
              {"tokens", recipe.tokens},
              {"architecture", recipe.architecture},
              {"vocab_size", recipe.vocab_size},
              {"width", recipe.width},
              {"layers", recipe.layers},
              {"heads", recipe.heads},
              {"kv_heads", recipe.kv_heads},
              {"context", recipe.context},
              {"batch", recipe.batch},
              {"steps", recipe.steps},
              {"rate", recipe.rate},
              {"seed", recipe.seed},
              {"fast", recipe.fast}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Recipe recipe_from_json(const std::string& json) {
  const Json fields = Json::parse(json, nullptr, false);
  if (!fields.is_object()) throw std::invalid_argument("the recipe is not a JSON object");
  Recipe recipe;
  read(fields, "task", recipe.task);
  read(fields, "text", recipe.text);
  read(fields, "text_hash", recipe.text_hash);
  read(fields, "ids_hash", recipe.ids_hash);
  read(fields, "tokens", recipe.tokens);
  read(fields, "architecture", recipe.architecture);
  read(fields, "vocab_size", recipe.vocab_size, 1, 10'000'000);
  read(fields, "width", recipe.width, 2, 4096);
  read(fields, "layers", recipe.layers, 1, 64);
  read(fields, "heads", recipe.heads, 1, 256);
  read(fields, "kv_heads", recipe.kv_heads, 1, 256);
  read(fields, "context", recipe.context, 2, 4096);
  read(fields, "batch", recipe.batch, 1, 4096);
  read(fields, "steps", recipe.steps, 1, 1'000'000);
  read(fields, "seed", recipe.seed, ~std::uint64_t{0});
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

}  // namespace attn::training
