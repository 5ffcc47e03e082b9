#include "task_screen.hpp"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include "system/text_style.hpp"

namespace attn::training {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

void introduce_task(Training& training) {
  const Task& task = task_named(training.recipe.task);
  arma::uword parameters = 0;
  for (const ParameterView& parameter : parameters_of(training.model)) parameters += parameter.size;
  const LanguageModelConfig& config = training.model.config();
  const TextStyle style = TextStyle::of_output();
  std::cout << style("A model like GPT-2 with " + std::to_string(config.num_layers) + " layers, " +
                     std::to_string(config.attention.num_heads) + " heads and " + std::to_string(parameters) +
                     " parameters. Its task: " + task.what + ".")
            << "\n";
  std::mt19937_64 generator = training.examples;
  const Batch batch = task.draw(batch_size, generator);
  std::cout << "For example: " << text_of(whole_sequence(batch, 0)) << "\n";
  if (!training.losses.empty()) return;
  std::cout << "The loss before the first step is " << number(loss_of(training.model, batch)) << "; of guessing, ln "
            << config.vocab_size << " = " << number(std::log(static_cast<double>(config.vocab_size))) << ".\n\n"
            << std::flush;
}

}  // namespace attn::training
