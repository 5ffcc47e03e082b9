// The program of ./learn train --break NAME: the same training twice, once with a mistake, and both losses as curves. Its
// code is the reference's.
//
// Exit codes: 0 well, 2 it cannot be run as asked, 130 ended by Ctrl-C.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "lesson/text.hpp"
#include "shared/program_end.hpp"
#include "system/files.hpp"
#include "train/curves.hpp"
#include "train/options.hpp"
#include "train/screens.hpp"
#include "train_break/breaks.hpp"
#include "train_break/trainings.hpp"

namespace {

using namespace attn;
using namespace attn::training;

void introduce(const Break& broken, const Recipe& recipe, const TextStyle& style) {
  const Task& task = task_named(recipe.task);
  std::cout << style("The mistake: " + broken.what + " (lesson " + broken.lesson + ").") << "\n"
            << edit_text(broken, ATTN_ROOT) << "\n"
            << style("Two models like GPT-2 with 2 layers learn the same task: " + task.what +
                     ". Weights, examples and rates are the same; one of them learns with the mistake.")
            << "\n";
  Training run = new_run(recipe);
  std::cout << "For example: " << text_of(whole_sequence(task.draw(batch_size, run.examples), 0)) << "\n\n"
            << std::flush;
}

std::string outcome_text(const TrainingReport& training) {
  const std::vector<double>& losses = training.losses;
  const std::string steps = std::to_string(losses.size()) + (losses.size() == 1 ? " step" : " steps");
  if (losses.empty()) return "ended before its first step";
  if (!std::isfinite(losses.back())) return "its loss is no number from step " + std::to_string(losses.size()) + " on";
  if (!training.outcome) return "loss " + with_decimals(losses.back(), 3) + " after " + steps;
  return "loss " + with_decimals(training.outcome->held_out_loss, 3) + " on held-out sequences, of which it writes " +
         with_decimals(100 * training.outcome->accuracy, 1) + " % right";
}

/// @return the exit code
int run(const TrainOptions& options, bool task_was_given) {
  const Break broken = break_named(*options.broken, ATTN_ROOT);
  const Recipe recipe = recipe_of(broken, options, task_was_given);
  const TextStyle style = TextStyle::of_output();
  introduce(broken, recipe, style);
  TrainingProcess process(recipe, broken.wrong, broken.id);
  catch_interrupts();
  Progress progress(style, recipe.steps, 2 * length * batch_size);
  const TrainingReport right = train_variant(recipe, broken.right, [&](const std::vector<double>& losses) {
    progress.show(losses);
    return !was_interrupted();
  });
  process.wait([] { return !was_interrupted(); });
  const TrainingReport wrong = process.report();
  progress.finish(right.losses, was_interrupted() ? " (interrupted)" : "");

  const TwoCurves curves{right.losses, wrong.losses, std::log(static_cast<double>(symbols))};
  std::cout << "\n" << curves_text(curves, style.ascii);
  std::cout << "\nright:             " << outcome_text(right) << "\n"
            << "with the mistake:  " << outcome_text(wrong) << "\n"
            << "guessing:          loss " << with_decimals(curves.guessing, 3) << ", "
            << with_decimals(100 * accuracy_of_guessing(), 1) << " % right\n";
  if (!broken.look_for.empty()) std::cout << "\n" << style("What to look for: " + broken.look_for) << "\n";
  if (!options.svg.empty()) {
    write_new_file(options.svg, curves_svg(curves, recipe.task, broken.name));
    std::cout << "wrote " << options.svg << "\n";
  }
  return was_interrupted() ? exit_interrupted : 0;
}

}  // namespace

int main(int argc, char** argv) {
  let_large_writes_fail();
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // each training has a core
  TrainOptions options;
  CLI::App app("What a mistake does to learning", "./learn train");
  add_train_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!options.broken || options.broken->empty()) {
    std::cout << list_of_breaks();
    return options.broken ? 0 : 2;
  }
  try {
    require_new_file(options.svg);
    return run(options, app.get_option("--task")->count() > 0);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
