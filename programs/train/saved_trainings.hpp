#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

/// Where trainings are kept: also for the tool, which looks for one before it builds the program that resumes it.
namespace attn::training {

/// What a folder's training is in.
constexpr const char* training_file = "training.safetensors";

/// models/trained, in the current folder: where trainings are kept.
inline std::filesystem::path trainings() { return std::filesystem::path("models") / "trained"; }

/// The folder of the training that was saved last.
/// @throws std::invalid_argument when there is none.
inline std::filesystem::path newest_training() {
  namespace fs = std::filesystem;
  fs::path newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(trainings(), error)) {
    std::error_code unreadable;
    if (!fs::is_regular_file(entry.path() / training_file, unreadable)) continue;
    if (newest.empty() ||
        fs::last_write_time(entry.path() / training_file) > fs::last_write_time(newest / training_file)) {
      newest = entry.path();
    }
  }
  if (newest.empty())
    throw std::invalid_argument("there is no training in " + trainings().string() +
                                " to resume: ./learn train begins one");
  return newest;
}

/// @throws std::invalid_argument saying what was expected, unless the folder has a training.
inline void require_training(const std::filesystem::path& folder) {
  std::error_code error;  // a name may be too long
  if (std::filesystem::is_regular_file(folder / training_file, error)) return;
  throw std::invalid_argument(folder.string() + " has no " + training_file +
                              ": expected the folder of a training that was stopped, such as " +
                              (trainings() / "reverse").string());
}

}  // namespace attn::training
