// The program of ./learn train --break NAME: the same training twice, once with a mistake, or with
// what the learner wrote, and both losses as curves. Its own code is the reference's.
//
// Exit codes: 0 well, 2 it cannot be run as asked, 130 ended by Ctrl-C.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
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

/// What the two trainings are called.
struct Names {
  std::string right = "right";
  std::string wrong = "with the mistake";
};

Names names_of(const Break& broken) { return broken.is_mine() ? Names{"the reference", "yours"} : Names{}; }

void introduce(const Break& broken, const Recipe& recipe, const TextStyle& style) {
  const Task& task = task_named(recipe.task);
  if (!broken.is_mine()) {
    std::cout << style("The mistake: " + broken.what + " (lesson " + broken.lesson + ").") << "\n"
              << edit_text(broken, ATTN_ROOT) << "\n";
  }
  std::cout << style("Two models like GPT-2 with 2 layers learn the same task: " + task.what +
                     ". Weights, examples and rates are the same; one of them learns with " +
                     (broken.is_mine() ? "what you wrote." : "the mistake."))
            << "\n";
  Training run = new_run(recipe);
  std::cout << "For example: " << text_of(whole_sequence(task.draw(batch_size, run.examples), 0)) << "\n\n"
            << std::flush;
}

/// @param failure how the process ended, if not well
std::string outcome_text(const TrainingReport& training, const std::string& failure = "") {
  const std::vector<double>& losses = training.losses;
  const std::string steps = std::to_string(losses.size()) + (losses.size() == 1 ? " step" : " steps");
  if (!failure.empty()) return "after " + steps + " it " + failure;
  if (losses.empty()) return "ended before its first step";
  if (!std::isfinite(losses.back()))
    return "its loss is not a number from step " + std::to_string(losses.size()) + " on";
  if (!training.outcome) return "loss " + with_decimals(losses.back(), 3) + " after " + steps;
  return "loss " + with_decimals(training.outcome->held_out_loss, 3) + " on held-out sequences, of which it writes " +
         with_decimals(100 * training.outcome->accuracy, 1) + " % right";
}

/// Whether what the learner wrote learns as the reference does, and what to do if not.
std::string comparison_text(const std::vector<double>& reference, const std::vector<double>& own, bool stopped_early) {
  constexpr double relative_error = 1e-6;
  const std::size_t steps = std::min(reference.size(), own.size());
  std::size_t same = 0;
  while (same < steps && std::abs(own[same] - reference[same]) <= relative_error * std::abs(reference[same])) ++same;
  constexpr const char* what_to_do = " ./learn check 24 (or 25, 26, 27) says what is wrong.";
  constexpr std::size_t rounding_shows = 50;  // a difference of 1e-16 may have grown to 1e-6 after so many steps
  if (same < steps && same < rounding_shows) {
    return "Yours is not right: its loss differs from the reference's from step " + std::to_string(same + 1) + " on." +
           what_to_do;
  }
  if (stopped_early) return std::string("Yours did not come to its end.") + what_to_do;
  if (same < steps) {
    return "The losses are the same for " + std::to_string(same) + " steps; then small differences have grown.";
  }
  return steps == 0 ? "" : "Yours learns as the reference does: all losses are the same.";
}

/// Both losses at the newest step of the right training, or that of an earlier step where the other one is behind.
std::string losses_text(const Names& names, const std::vector<double>& right, const std::vector<double>& wrong) {
  const std::string text = "loss " + with_decimals(right.back(), 3) + " (" + names.right + ")";
  if (wrong.empty()) return text;
  const std::size_t step = std::min(right.size(), wrong.size());
  const std::string behind = step < right.size() ? ", step " + std::to_string(step) : "";
  return text + ", " + with_decimals(wrong[step - 1], 3) + " (" + names.wrong + behind + ")";
}

/// @return the exit code
int run(const TrainOptions& options, bool task_was_given) {
  const Break broken = break_named(*options.broken, ATTN_ROOT);
  const Recipe recipe = recipe_of(broken, options, task_was_given);
  const TextStyle style = TextStyle::of_output();
  const Names names = names_of(broken);
  // Before anything is drawn here: the code with the mistakes reads once which one it makes, and a child would inherit that.
  const auto process = broken.is_mine() ? std::make_unique<TrainingProcess>(recipe, std::string(ATTN_TRAIN_MINE))
                                        : std::make_unique<TrainingProcess>(recipe, broken.wrong, broken.id);
  introduce(broken, recipe, style);
  catch_interrupts();
  Progress progress(style, recipe.steps, 2 * length * batch_size);
  const TrainingReport right = train_variant(recipe, broken.right, [&](const std::vector<double>& losses) {
    progress.show(losses, losses_text(names, losses, process->report().losses));
    return !was_interrupted();
  });
  process->wait([] { return !was_interrupted(); });
  const TrainingReport wrong = process->report();
  const std::string failure = was_interrupted() ? "" : process->failure();
  progress.finish(right.losses, was_interrupted() ? " (interrupted)" : "");

  const TwoCurves curves{right.losses, wrong.losses, std::log(static_cast<double>(symbols)), names.right, names.wrong};
  std::cout << "\n" << curves_text(curves, style.ascii);
  const auto label = [](const std::string& name) { return name + ":" + std::string(18 - name.size(), ' '); };
  std::cout << "\n"
            << label(names.right) << outcome_text(right) << "\n"
            << label(names.wrong) << outcome_text(wrong, failure) << "\n"
            << label("guessing") << "loss " << with_decimals(curves.guessing, 3) << ", "
            << with_decimals(100 * accuracy_of_guessing(), 1) << " % right\n";
  if (!broken.look_for.empty()) std::cout << "\n" << style("What to look for: " + broken.look_for) << "\n";
  if (broken.is_mine() && !was_interrupted()) {
    const std::string says = comparison_text(right.losses, wrong.losses, !wrong.outcome);
    if (!says.empty()) std::cout << "\n" << style(says) << "\n";
  }
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
    return attn::report_usage(app, error);
  }
  if (!options.broken || options.broken->empty()) {
    std::cout << list_of_breaks();
    return options.broken ? 0 : 2;
  }
  try {
    require_new_file(options.svg);
    return run(options, app.get_option("--task")->count() > 0);
  } catch (const std::exception& error) {
    std::cerr << harmless_text(error.what()) << "\n";
    return 2;
  }
}
