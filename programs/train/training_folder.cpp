#include "train/training_folder.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/memory_map.hpp"
#include "lesson/text.hpp"
#include "system/files.hpp"
#include "train/saved_trainings.hpp"
#include "train/text_data.hpp"
#include "train/training_files.hpp"

namespace attn::training {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

/// The training of a folder; nothing when there is none that can be read.
std::optional<Training> find_training(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_regular_file(folder / training_file, unreadable)) return {};
  try {
    return read_training(MemoryMap(folder / training_file).bytes());
  } catch (const std::exception&) {
    return {};
  }
}

void require_free(const fs::path& folder) {
  const std::string otherwise = "take another folder with --save, or delete this one";
  const fs::path file = folder / training_file;
  if (!fs::exists(fs::symlink_status(file))) {  // a link to itself is refused below
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!is_left_over(entry.path()))
        refuse(folder.string() + " holds other files, such as " + name + ": " + otherwise);
    }
    return;
  }
  const Training old = [&] {
    try {
      return read_training(MemoryMap(file).bytes());
    } catch (const std::invalid_argument& error) {
      refuse(file.string() + " cannot be read: " + error.what() + ". It is left as it is: " + otherwise);
    }
  }();
  const std::size_t steps = old.losses.size();
  if (steps > 0 && !old.is_finished()) {
    refuse(folder.string() + " holds a training that is not finished, " + std::to_string(steps) + " of " +
           std::to_string(old.recipe.steps) + " steps: go on with it by " + resume_command(old.recipe, folder) + ", " +
           otherwise);
  }
  if (steps > 0) {
    refuse(folder.string() + " holds a finished training, " +
           (old.recipe.is_text() ? "on " + old.recipe.text : "of the task " + old.recipe.task) + ": " + otherwise);
  }
}

}  // namespace

fs::path usual_folder(const Recipe& recipe) {
  if (!recipe.is_text()) return trainings() / recipe.task;
  std::string name = fs::path(recipe.text).stem().string();
  for (char& c : name) {  // so that it needs no quotes; other scripts stay
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) == 0 && c != '.' && c != '_') c = '-';
  }
  if (name.empty() || name[0] == '.' || name[0] == '-') name = "text" + name;
  const auto same = [&](const Task& task) { return task.name == name; };
  if (std::any_of(tasks().begin(), tasks().end(), same)) name += "-text";
  return trainings() / name;
}

fs::path folder_beside_finished(const fs::path& folder) {
  const auto holds_finished = [](const fs::path& path) {
    const auto training = find_training(path);
    return training && training->is_finished();
  };
  fs::path beside = folder;
  for (int i = 2; holds_finished(beside); ++i) beside = folder.string() + "-" + std::to_string(i);
  return beside;
}

std::string resume_command(const Recipe& recipe, const fs::path& folder) {
  return std::string("./learn train ") + (recipe.fast ? "--fast " : "") + "--resume " + shell_word(folder.string());
}

TrainingFolder TrainingFolder::for_new(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code no_folder;  // the reason is in the other one
  if (!fs::is_directory(folder, no_folder)) {
    refuse("the folder " + folder.string() + " cannot be made" + (error ? ": " + error.message() : "") +
           ". Give another one with --save");
  }
  TrainingFolder result(folder);
  require_free(folder);
  return result;
}

TrainingFolder TrainingFolder::for_resumed(const fs::path& folder) {
  require_training(folder);
  return TrainingFolder(folder);
}

TrainingFolder::TrainingFolder(fs::path path) : path_(std::move(path)), lock_(opendir(path_.c_str()), closedir) {
  if (!lock_) refuse(path_.string() + " cannot be opened: expected a folder that may be read");
  if (flock(dirfd(lock_.get()), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  refuse("another program is training in " + path_.string() + ": wait for it, or take another folder with --save");
}

Training TrainingFolder::read(std::optional<arma::uword> steps) const {
  const fs::path file = path_ / training_file;
  try {
    const MemoryMap map(file);
    Training training = read_training(map.bytes());
    const std::size_t made = training.losses.size();
    if (steps) {
      if (*steps <= made) {
        refuse("--steps " + std::to_string(*steps) + " is the number of all its steps, and " + std::to_string(made) +
               " are made: expected a larger number");
      }
      training.recipe.steps = *steps;
    }
    if (!training.is_finished()) return training;
    const std::string use = "; ./learn generate --model " + shell_word(path_.string()) + " writes with it";
    refuse("the training is finished, after " + std::to_string(made) + " steps" +
           (training.recipe.is_text() ? use : "") + ". " + resume_command(training.recipe, path_) +
           " --steps N makes more, until there are N. A new one begins without --resume");
  } catch (const std::invalid_argument& error) {
    refuse(file.string() + ": " + error.what());
  }
}

void TrainingFolder::write(Training& training, const TokenizerData* tokenizer) const {
  if (tokenizer != nullptr && !training.losses.empty()) {
    if (!fs::exists(path_ / training_file)) {
      Training begun = new_run(training.recipe);
      replace_file(path_ / training_file, saved_training(begun));
    }
    replace_file(path_ / "config.json", config_json(training.model.config()));
    replace_file(path_ / "tokenizer.json", tokenizer_json(*tokenizer));
    replace_file(path_ / "model.safetensors", exported_weights(training.model));
  }
  replace_file(path_ / training_file, saved_training(training));
}

void TrainingFolder::discard() const {
  std::error_code ignored;
  fs::remove(path_ / training_file, ignored);
}

}  // namespace attn::training
