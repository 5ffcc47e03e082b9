#pragma once

#include <armadillo>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "attn/language_model.hpp"
#include "attn/parameters.hpp"
#include "attn/sampling.hpp"

namespace attn {

/// A number of the standard normal distribution (Box, Muller 1958). Takes two numbers of draw_uniform.
inline double draw_normal(std::mt19937_64& generator) {
  const double radius = std::sqrt(-2 * std::log(1 - draw_uniform(generator)));
  return radius * std::cos(2 * arma::datum::pi * draw_uniform(generator));
}

/// Draws all parameters anew, as GPT-2 does (Radford et al. 2019, section 2.3): matrices from a normal distribution with
/// the standard deviation 0.02, the two of each block that end in a residual connection with 0.02 / sqrt(2 N) for N
/// blocks; biases are 0, weights of norms 1. A new model then predicts all tokens nearly alike: its loss is about ln V.
/// (The layers' own constructors draw embeddings with the standard deviation 1; through a tied head these are logits of
/// that times sqrt(E), and a loss far above ln V.)
///
/// The same seed gives the same model. Resets the model: its caches are of the old weights.
inline void initialize(LanguageModel& model, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  for (const ParameterView& parameter : parameters_of(model)) {
    arma::vec x = parameter.vector();
    if (!parameter.decayed) {
      x.fill(ends_with(parameter.name, "norm.weight") ? 1 : 0);
      continue;
    }
    const bool residual =
        ends_with(parameter.name, "output_proj.weight") || ends_with(parameter.name, "down_proj.weight");
    const double deviation = residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(model.blocks.size())) : 0.02;
    for (double& number : x) number = deviation * draw_normal(generator);
  }
  model.reset();
}

}  // namespace attn
