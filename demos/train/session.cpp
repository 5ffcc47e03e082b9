#include "session.hpp"

#include <iostream>
#include <utility>

#include "end_screen.hpp"
#include "folder_names.hpp"
#include "interrupt.hpp"
#include "system/text_style.hpp"
#include "progress.hpp"
#include "task_screen.hpp"
#include "text_screen.hpp"
#include "training_loop.hpp"

namespace attn::training {

namespace {

void introduce(Session& session) {
  Training& training = session.training;
  if (session.text) {
    introduce_text(training, *session.text);
  } else {
    introduce_task(training);
  }
  if (!training.losses.empty()) {
    std::cout << "It goes on after step " << training.losses.size() << " of " << training.recipe.steps << ", from "
              << session.folder.path().string() << ".\n\n"
              << std::flush;
  }
}

void show_task_end(Training& training, const learn::TrainOptions& options) {
  std::mt19937_64 held_out = held_out_generator(training.recipe);
  show_end(training.model, task_named(training.recipe.task), training.losses, held_out, options.svg);
}

int show_stopped(Session& session, const learn::TrainOptions& options, bool saved) {
  Training& training = session.training;
  if (session.text) {
    show_losses(training.losses);
  } else {
    show_task_end(training, options);
  }
  if (saved) {
    std::cout << "\nSaved after step " << training.losses.size() << " of " << training.recipe.steps
              << ". To go on: ./learn train " << (training.recipe.fast ? "--fast " : "") << "--resume "
              << session.folder.path().string() << std::endl;
  }
  return exit_code_of_interrupt();
}

int show_finished(Session& session, const learn::TrainOptions& options, bool saved) {
  if (session.text) {
    show_text_end(session.training, *session.text);
  } else {
    show_task_end(session.training, options);
  }
  if (!saved) return 2;
  std::cout << "\nSaved in " << session.folder.path().string() << "\n";
  if (session.text) std::cout << "It writes on: ./learn generate --model " << session.folder.path().string() << "\n";
  std::cout << std::flush;
  return 0;
}

int train_and_show(Session& session, Steps& steps, const learn::TrainOptions& options) {
  Training& training = session.training;
  const Recipe& recipe = training.recipe;
  introduce(session);
  catch_interrupts();
  catch_termination();
  Progress progress(TextStyle::of_output(), recipe.steps, recipe.context * recipe.batch,
                    training.losses.size());
  const bool saved = train(session, steps, progress);
  if (!training.losses.empty()) progress.finish(training.losses, training.is_finished() ? "" : " (interrupted)");
  return training.is_finished() ? show_finished(session, options, saved) : show_stopped(session, options, saved);
}

}  // namespace

Session open_session(const learn::TrainOptions& options) {
  if (options.resume) {
    TrainingFolder folder = TrainingFolder::for_resumed(
        options.resume->empty() ? newest_training() : std::filesystem::path(*options.resume));
    Training training = folder.read();
    if (training.recipe.fast != options.fast) {
      throw std::invalid_argument(
          "the training in " + folder.path().string() +
          (options.fast
               ? " was begun without --fast: leave it out"
               : " was begun with --fast: go on with it by ./learn train --fast --resume " + folder.path().string()));
    }
    if (training.recipe.is_text() && !options.svg.empty()) {
      throw std::invalid_argument("--svg draws the attention of a task, and this training is on a text: leave it out");
    }
    std::optional<TextData> text;
    if (training.recipe.is_text()) text = read_same_text(training.recipe);
    return {std::move(folder), std::move(text), std::move(training)};
  }
  Recipe recipe = recipe_of(options);
  std::optional<TextData> text;
  if (recipe.is_text()) text = read_text_data(recipe);
  TrainingFolder folder =
      TrainingFolder::for_new(options.save.empty() ? usual_folder(recipe) : std::filesystem::path(options.save));
  return {std::move(folder), std::move(text), new_run(recipe)};
}

int run_session(Session& session, Steps& steps, const learn::TrainOptions& options) {
  const bool is_new = session.training.losses.empty();
  try {
    return train_and_show(session, steps, options);
  } catch (const std::exception&) {
    // A task takes seconds: what led to an error should not be in the way of the next attempt.
    if (is_new && !session.text && !session.training.is_finished()) session.folder.discard();
    throw;
  }
}

}  // namespace attn::training
