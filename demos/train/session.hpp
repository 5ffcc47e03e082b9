#pragma once

#include <optional>
#include <stdexcept>

#include "learn/commands/train_options.hpp"
#include "steps.hpp"
#include "text_data.hpp"
#include "training_folder.hpp"

namespace attn::training {

/// A loss or a parameter is no finite number any more.
struct NotANumber : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the program works on: a training, the folder that keeps it, and its text, if it has one.
struct Session {
  TrainingFolder folder;
  std::optional<TextData> text;
  Training training;
};

/// A new training, or the one that is gone on with.
/// @throws std::invalid_argument saying what is wrong and what to do; nothing was changed then.
Session open_session(const learn::TrainOptions& options);

/// Trains, saves and shows.
/// @return the exit code
/// @throws NotANumber, NotWritable for the picture, or what the code of a lesson throws. A new training of a task
///         leaves nothing behind then; one of a text what was saved last.
int run_session(Session& session, Steps& steps, const learn::TrainOptions& options);

}  // namespace attn::training
