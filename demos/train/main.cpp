// The program of ./learn train: a small transformer learns a task, with the gradients and the optimizer that the
// learner wrote. The tool says which parts those are.
//
// Exit codes: 0 well, 1 the code threw an error or the loss is no number, 2 it cannot be run as asked, 130 ended by
// Ctrl-C.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "crash.hpp"
#include "end_screen.hpp"
#include "interrupt.hpp"
#include "learn/commands/train_options.hpp"
#include "learn/screens/style.hpp"
#include "new_file.hpp"
#include "progress.hpp"
#include "trainer.hpp"

namespace {

using namespace attn;
using namespace attn::training;

constexpr const char* with_reference = "With the reference's parts: ./learn train --reference\n";
constexpr const char* crashed = "\nThe training crashed. With the reference's parts: ./learn train --reference\n";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

/// The model, the task with an example, and what a model knows that has learned nothing.
void introduce(LanguageModel& model, const Task& task, std::mt19937_64 generator) {
  arma::uword parameters = 0;
  for (const ParameterView& parameter : parameters_of(model)) parameters += parameter.size;
  const LanguageModelConfig& config = model.config();
  const learn::Style style = learn::Style::of_output(false);
  std::cout << style("A model like GPT-2 with " + std::to_string(config.num_layers) + " layers, " +
                     std::to_string(config.attention.num_heads) + " heads and " + std::to_string(parameters) +
                     " parameters. Its task: " + task.what + ".")
            << "\n";
  const Batch batch = task.draw(batch_size, generator);
  const double loss = loss_of(model, batch);
  std::cout << "For example: " << text_of(whole_sequence(batch, 0)) << "\n"
            << "The loss before the first step is " << number(loss) << "; of guessing, ln " << config.vocab_size
            << " = " << number(std::log(static_cast<double>(config.vocab_size))) << ".\n\n"
            << std::flush;
}

/// @return the exit code
int run(const learn::TrainOptions& options) {
  const Task& task = task_named(options.task);
  const arma::uword steps = options.steps.value_or(task.steps);
  LanguageModel model = new_model(task, options.seed);
  std::mt19937_64 examples(options.seed);
  std::mt19937_64 held_out(options.seed ^ 0x9E3779B97F4A7C15);  // another sequence of numbers
  introduce(model, task, examples);
  catch_interrupts();

  const TrainingConfig config = config_of(task, steps);
  AdamWState state;
  std::vector<double> losses;
  Progress progress(learn::Style::of_output(false), steps, 2 * length * batch_size);
  while (losses.size() < steps && !was_interrupted()) {
    const double loss = train_step(model, state, {task.draw(batch_size, examples)}, config).loss;
    if (!std::isfinite(loss)) {
      std::cerr
          << "\nThe loss is " << loss << " at step " << losses.size() + 1
          << ", and no step makes that a number again: a gradient or the optimizer divides by 0, or its steps are "
             "far too large.\n"
          << (options.reference ? "" : with_reference);
      return 1;
    }
    losses.push_back(loss);
    progress.show(losses.size(), loss);
  }
  progress.finish(losses.size(), was_interrupted() ? " (interrupted)" : "");
  show_end(model, task, losses, held_out, options.svg);
  return was_interrupted() ? exit_interrupted : 0;
}

}  // namespace

int main(int argc, char** argv) {
  learn::TrainOptions options;
  CLI::App app("A small transformer learns, with what you wrote", "./learn train");
  learn::add_train_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    require_new_file(options.svg);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  try {
    if (!options.reference) report_crashes(crashed);
    return run(options);
  } catch (const NotWritable& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "\nThe training threw an error: " << error.what() << "\n" << (options.reference ? "" : with_reference);
    return 1;
  }
}
