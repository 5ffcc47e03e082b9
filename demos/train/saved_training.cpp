#include "saved_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "attn/checkpoint.hpp"
#include "attn/parameters.hpp"
#include "double_tensors.hpp"
#include "hash.hpp"
#include "write_tensors.hpp"

namespace attn::training {

namespace {

constexpr const char* format = "training of attention-by-hand";
constexpr const char* version = "1";

/// What is said of a training in texts. The keys are those of __metadata__.
using Metadata = std::map<std::string, std::string>;

/// Of all that a file says: the texts, and then the numbers.
std::string checksum_of(const Metadata& metadata, std::string_view numbers) {
  Hash hash;
  for (const auto& [key, value] : metadata) {
    if (key != "checksum") hash.add(key + "\n" + value + "\n");
  }
  return hash.add(numbers.data(), numbers.size()).text();
}

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

/// @param file one that read_header has accepted
Metadata metadata_of(std::string_view file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  const auto header = nlohmann::json::parse(file.substr(8, size), nullptr, false);
  const auto found = header.find("__metadata__");
  if (found == header.end() || !found->is_object()) refuse("it has no __metadata__: it is no saved training");
  Metadata metadata;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) refuse("__metadata__ has no text for " + key);
    metadata[key] = value.get<std::string>();
  }
  for (const char* key : {"format", "version", "recipe", "examples", "checksum"}) {
    if (metadata.count(key) == 0) refuse(std::string("__metadata__ has no ") + key + ": it is no saved training");
  }
  if (metadata["format"] != format) refuse("its format is \"" + metadata["format"] + "\": it is no saved training");
  if (metadata["version"] != version) {
    refuse("its version is " + metadata["version"] + ", and this program reads version " + version +
           ": go on with the program that wrote it");
  }
  return metadata;
}

void require_room(const Recipe& recipe, std::string_view file) {
  const arma::uword numbers = number_of_parameters(model_config_of(recipe));
  if (numbers > file.size() / sizeof(double)) {
    refuse("it is too small for its model: " + std::to_string(file.size()) + " bytes, expected at least " +
           std::to_string(numbers * sizeof(double)));
  }
}

}  // namespace

std::string saved_training(Training& training) {
  std::vector<WrittenTensor> tensors;
  const std::vector<ParameterView> parameters = parameters_of(training.model);
  const auto add = [&](const std::string& kind, const auto& numbers_of) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      tensors.push_back(double_list(kind + parameters[i].name, numbers_of(i), parameters[i].size));
    }
  };
  add("model.", [&](std::size_t i) { return parameters[i].values; });
  if (!training.state.m.empty()) {
    add("m.", [&](std::size_t i) { return training.state.m[i].memptr(); });
    add("v.", [&](std::size_t i) { return training.state.v[i].memptr(); });
  }
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
  DoubleTensors tensors(file);
  const Metadata metadata = metadata_of(file);
  if (metadata.at("checksum") != checksum_of(metadata, tensors.numbers())) {
    refuse("its checksum does not fit: the file was damaged");
  }
  const Recipe recipe = recipe_from_json(metadata.at("recipe"));
  Training training{recipe,
                    LanguageModel([&] {
                      require_room(recipe, file);
                      return model_config_of(recipe);
                    }()),
                    {},
                    {},
                    {}};
  training.losses.resize(tensors.size_of("losses"));
  tensors.take("losses", training.losses.data(), training.losses.size());
  if (training.losses.size() > recipe.steps) refuse("it has more losses than steps");
  training.state.t = training.losses.size();
  for (const ParameterView& parameter : parameters_of(training.model)) {
    tensors.take("model." + parameter.name, parameter.values, parameter.size);
    if (training.state.t == 0) continue;
    for (auto* moments : {&training.state.m, &training.state.v}) {
      const std::string kind = moments == &training.state.m ? "m." : "v.";
      moments->emplace_back(parameter.size, arma::fill::zeros);
      tensors.take(kind + parameter.name, moments->back().memptr(), parameter.size);
    }
  }
  tensors.require_all_taken();
  std::istringstream examples(metadata.at("examples"));
  examples >> training.examples;
  if (!examples) refuse("the state of its generator cannot be read");
  return training;
}

Progressed read_progress(std::string_view file) {
  const DoubleTensors tensors(file);
  return {recipe_from_json(metadata_of(file).at("recipe")), tensors.size_of("losses")};
}

bool all_finite(Training& training) {
  bool finite = true;
  for (const ParameterView& parameter : parameters_of(training.model))
    finite = finite && parameter.vector().is_finite();
  for (const auto* moments : {&training.state.m, &training.state.v}) {
    for (const arma::vec& x : *moments) finite = finite && x.is_finite();
  }
  return finite;
}

}  // namespace attn::training
