#include "training_loop.hpp"

#include <chrono>
#include <cmath>
#include <iostream>

#include "interrupt.hpp"
#include "system/text_style.hpp"
#include "saved_training.hpp"
#include "text_screen.hpp"

namespace attn::training {

namespace {

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
    return true;
  } catch (const std::exception& error) {
    progress.clear();
    std::cerr << "The training could not be saved after step " << session.training.losses.size() << ": " << error.what()
              << ". What was saved before is still there.\n";
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
  std::cout << TextStyle::of_output()("after step " + std::to_string(session.training.losses.size()) +
                                              " it writes:")
            << "\n  " << text << "\n"
            << std::flush;
}

}  // namespace

bool train(Session& session, Steps& steps, Progress& progress) {
  Training& training = session.training;
  const TrainingConfig config = training_config_of(training.recipe);
  bool saved = !training.losses.empty();  // what was read
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

}  // namespace attn::training
