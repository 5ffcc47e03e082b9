// The program of ./learn train: a small transformer learns a task or a text, with the gradients and the optimizer
// that the learner wrote, or with the fast kernels. The tool says which parts those are.
//
// Exit codes: 0 well, 1 the code threw an error or the loss is not a number, 2 it cannot be run as asked, or not be saved; 130
// ended by Ctrl-C, 143 by SIGTERM.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "lesson/text.hpp"
#include "shared/program_end.hpp"
#include "system/files.hpp"
#include "train/options.hpp"
#include "train/saved_trainings.hpp"
#include "train/screens.hpp"
#include "train/training_folder.hpp"

namespace attn::training {

namespace {

/// A loss or a parameter is not finite any more.
struct NotANumber : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the program works on: a training, the folder that keeps it, and its text, if it has one.
struct Session {
  TrainingFolder folder;
  std::optional<TextData> text;
  Training training;
  std::size_t saved_steps = 0;       ///< that the folder has
  bool has_new_steps = false;        ///< it was resumed with --steps
  std::filesystem::path finished{};  ///< a folder that was not taken, as it holds a finished training; mostly empty
};

// ------------------------------------------------------------------------------------------------- what is trained

/// A new training, or the one that is resumed.
/// @throws std::invalid_argument saying what is wrong and what to do; nothing was changed then.
Session open_session(const TrainOptions& options) {
  if (options.resume) {
    TrainingFolder folder = TrainingFolder::for_resumed(
        options.resume->empty() ? newest_training() : std::filesystem::path(*options.resume));
    Training training = folder.read(options.steps);
    if (training.recipe.fast != options.fast) {
      throw std::invalid_argument("the training in " + folder.path().string() +
                                  (options.fast ? " was begun without --fast: leave it out"
                                                : " was begun with --fast: go on with it by " +
                                                      resume_command(training.recipe, folder.path())));
    }
    if (training.recipe.is_text() && !options.svg.empty()) {
      throw std::invalid_argument("--svg draws the attention of a task, and this training is on a text: leave it out");
    }
    std::optional<TextData> text;
    if (training.recipe.is_text()) text = read_same_text(training.recipe);
    const std::size_t made = training.losses.size();
    return {std::move(folder), std::move(text), std::move(training), made, options.steps.has_value(), {}};
  }
  Recipe recipe = recipe_of(options);
  std::optional<TextData> text;
  if (recipe.is_text()) text = read_text_data(recipe);
  if (!options.save.empty()) return {TrainingFolder::for_new(options.save), std::move(text), new_run(recipe)};
  const std::filesystem::path usual = usual_folder(recipe), beside = folder_beside_finished(usual);
  TrainingFolder folder = TrainingFolder::for_new(beside);
  Session session{std::move(folder), std::move(text), new_run(recipe)};
  if (beside != usual) session.finished = usual;
  return session;
}

// ------------------------------------------------------------------------------------------------- the steps

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds longest_unsaved{30};

/// Every so many parts of the steps, and at the last one.
bool is_part(const Training& training, arma::uword parts) {
  const arma::uword done = training.losses.size(), steps = training.recipe.steps;
  return done * parts / steps != (done - 1) * parts / steps;
}

Batch next_batch(Session& session) {
  Training& training = session.training;
  if (!session.text) return task_named(training.recipe.task).draw(training.recipe.batch, training.examples);
  return next_token_batch(session.text->training_ids, training.recipe.context, training.recipe.batch,
                          training.examples);
}

/// Saves; a disk that is full does not stop a training.
/// @return whether it is saved
bool save(Session& session, Progress& progress) {
  try {
    session.folder.write(session.training, session.text ? &session.text->tokenizer : nullptr);
    session.saved_steps = session.training.losses.size();
    return true;
  } catch (const std::exception& error) {
    progress.clear();
    std::cerr << "The training could not be saved after step " << session.training.losses.size() << ": "
              << harmless_text(error.what())
              << (session.saved_steps == 0 ? ". Nothing of it is saved yet.\n"
                                           : ". What was saved before, after step " +
                                                 std::to_string(session.saved_steps) + ", is still there.\n");
    return false;
  }
}

[[noreturn]] void refuse_number(const Training& training, const std::string& what) {
  throw NotANumber(what + " at step " + std::to_string(training.losses.size() + 1) +
                   ", and no step makes that a number again: a gradient or the optimizer divides by 0, or its steps "
                   "are far too large.");
}

void require_finite(Training& training) {
  if (!all_finite(training)) refuse_number(training, "A parameter is not a finite number");
}

void show_sample(Session& session, Progress& progress) {
  const std::string text = sample_of(session.training, *session.text, 140, true);
  progress.clear();
  std::cout << TextStyle::of_output()("after step " + std::to_string(session.training.losses.size()) + " it writes:")
            << "\n  " << text << "\n"
            << std::flush;
}

/// Makes steps until all are made, or Ctrl-C: shows how far it is, saves now and then, and for a text shows what the
/// model writes.
/// @return whether the training is saved as it is then
/// @throws NotANumber, or what the code of a lesson throws.
bool train(Session& session, Steps& steps, Progress& progress) {
  Training& training = session.training;
  const TrainingConfig config = training_config_of(training.recipe);
  bool saved = session.saved_steps > 0 && !session.has_new_steps;  // what was read
  auto last_save = Clock::now();
  while (!training.is_finished() && !was_interrupted()) {
    const double loss = steps.make(training, next_batch(session), config).loss;
    if (!std::isfinite(loss))
      refuse_number(training, "The loss is " + std::string(std::isnan(loss) ? "nan" : "infinite"));
    training.losses.push_back(loss);
    saved = false;
    progress.show(training.losses);
    if (is_part(training, 10) || Clock::now() - last_save > longest_unsaved) {
      steps.put_into(training);
      require_finite(training);
      saved = save(session, progress);
      last_save = Clock::now();
    }
    if (session.text && is_part(training, 5) && !training.is_finished()) {
      steps.put_into(training);
      show_sample(session, progress);
    }
  }
  steps.put_into(training);
  if (saved || training.is_finished()) return saved;
  require_finite(training);
  return save(session, progress);
}

// ------------------------------------------------------------------------------------------------- what is shown

void introduce(Session& session) {
  Training& training = session.training;
  if (!session.finished.empty()) {
    std::cout << session.finished.string() << " holds a finished training, which stays: this one is kept in "
              << session.folder.path().string() << ".\n\n";
  }
  if (session.text) {
    introduce_text(training, *session.text);
  } else {
    introduce_task(training);
  }
  if (!training.losses.empty()) {
    std::cout << "It goes on after step " << training.losses.size() << " of " << training.recipe.steps << ", from "
              << session.folder.path().string() << ".\n"
              << (session.has_new_steps ? "From here on, the learning rate is that of a training of " +
                                              std::to_string(training.recipe.steps) +
                                              " steps: after a finished one it rises at once, and falls again.\n"
                                        : "")
              << "\n"
              << std::flush;
  }
}

/// What the training has led to, and where it is kept.
/// @return the exit code
int show_result(Session& session, const TrainOptions& options, bool saved) {
  Training& training = session.training;
  const bool finished = training.is_finished();
  if (!session.text) {
    show_task_end(training, options.svg);
  } else if (finished) {
    show_text_end(training, *session.text);
  } else {
    show_losses(training.losses);
  }
  const std::string folder = session.folder.path().string();
  if (saved && finished) {
    std::cout << "\nSaved in " << folder << "\n";
    if (session.text) std::cout << "It writes on: ./learn generate --model " << folder << "\n";
    if (session.finished.empty() && !options.resume) {
      std::cout
          << "What would a mistake have done? ./learn train --break row-sum shows it; --break alone lists them all\n";
    }
  } else if (saved) {
    std::cout << "\nSaved after step " << training.losses.size() << " of " << training.recipe.steps
              << ". To go on: " << resume_command(training.recipe, folder) << "\n";
  }
  std::cout << std::flush;
  if (!finished) return exit_code_of_interrupt();
  return saved ? 0 : 2;
}

/// Trains, saves and shows.
/// @return the exit code
int train_and_show(Session& session, const TrainOptions& options) {
  Training& training = session.training;
  const Recipe& recipe = training.recipe;
  const std::unique_ptr<Steps> steps = make_steps(training);
  introduce(session);
  catch_interrupts();
  catch_termination();
  Progress progress(TextStyle::of_output(), recipe.steps, recipe.context * recipe.batch, training.losses.size());
  const bool saved = train(session, *steps, progress);
  if (!training.losses.empty()) progress.finish(training.losses, training.is_finished() ? "" : " (interrupted)");
  return show_result(session, options, saved);
}

constexpr const char* with_reference = "With the reference's parts: ./learn train --reference\n";
constexpr const char* crashed = "\nThe training crashed. With the reference's parts: ./learn train --reference\n";

/// @return the exit code
/// @throws NotANumber, NotWritable for the picture, or what the code of a lesson throws. A new training of a task
///         leaves nothing behind then; one of a text what was saved last.
int run(const TrainOptions& options) {
  std::optional<Session> session;
  try {
    require_new_file(options.svg);
    session.emplace(open_session(options));
  } catch (const std::invalid_argument& error) {
    std::cerr << harmless_text(error.what()) << "\n";
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << harmless_text(error.what()) << "\n";
    return 2;
  }
  const bool is_new = session->training.losses.empty();
  try {
    return train_and_show(*session, options);
  } catch (const std::exception&) {
    // A task takes seconds: what led to an error should not be in the way of the next attempt.
    if (is_new && !session->text && !session->training.is_finished()) session->folder.discard();
    throw;
  }
}

}  // namespace

int train_program(int argc, char** argv) {
  let_large_writes_fail();
  TrainOptions options;
  CLI::App app("A small transformer learns, with what you wrote", "./learn train");
  add_train_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return attn::report_usage(app, error);
  }
  if (options.fast && !has_fast_steps) {
    std::cerr << "--fast is another program's: ./learn train --fast starts it\n";
    return 2;
  }
  options.fast = has_fast_steps;
  try {
    if (!options.reference) report_crashes(crashed);
    return exit_code_when_printed(run(options));
  } catch (const NotWritable& error) {
    std::cerr << harmless_text(error.what()) << "\n";
    return 2;
  } catch (const NotANumber& error) {
    std::cerr << "\n" << error.what() << "\n" << (options.reference ? "" : with_reference);
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "\nThe training threw an error: " << error.what() << "\n" << (options.reference ? "" : with_reference);
    return 1;
  }
}

}  // namespace attn::training

int main(int argc, char** argv) { return attn::training::train_program(argc, argv); }
