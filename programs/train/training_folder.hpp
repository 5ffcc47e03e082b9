#pragma once

#include <dirent.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attn/tokenizer_files.hpp"
#include "train/training.hpp"

namespace attn::training {

/// Where a training is kept unless a folder is given: models/trained and the task's name, or that of the text without its ending.
std::filesystem::path usual_folder(const Recipe& recipe);

/// `folder`, or where a finished training is kept in it, the first of `folder-2`, `folder-3` and so on that holds none.
std::filesystem::path folder_beside_finished(const std::filesystem::path& folder);

/// The command that resumes a training.
std::string resume_command(const Recipe& recipe, const std::filesystem::path& folder);

/// The folder of one training: training.safetensors, and for a text what ./learn generate reads, too. Each file is
/// there as a whole, or as it was before. While this lives, no other program may train in the folder.
class TrainingFolder {
 public:
  /// For a new training: makes the folder, where it is not there.
  /// @throws std::invalid_argument saying what to do, when the folder holds what may not be lost: another training of
  ///         which a step was made, or other files; when another program trains in it; or when it cannot be made.
  static TrainingFolder for_new(const std::filesystem::path& folder);

  /// For a training that is resumed.
  /// @throws std::invalid_argument when there is none, or another program trains in it.
  static TrainingFolder for_resumed(const std::filesystem::path& folder);

  /// @param steps after which the training ends from now on; none: as many as it was begun with
  /// @throws std::invalid_argument naming the file and why it cannot be resumed; also when all steps are made.
  Training read(std::optional<arma::uword> steps = {}) const;

  /// Writes all files; training.safetensors last, so that a training that is finished there is finished everywhere. Before
  /// the first save it is written as it begins, so that a folder with files of ours always has one: without, for_new() would
  /// refuse what an interrupted first save left.
  /// @param tokenizer of a text; none for a task
  /// @throws std::runtime_error naming the file that could not be written. The one that was there still is.
  void write(Training& training, const TokenizerData* tokenizer) const;

  /// Removes training.safetensors.
  void discard() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  using Lock = std::unique_ptr<DIR, int (*)(DIR*)>;

  explicit TrainingFolder(std::filesystem::path path);

  std::filesystem::path path_;
  Lock lock_;
};

}  // namespace attn::training
