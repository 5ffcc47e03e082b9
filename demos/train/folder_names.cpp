#include "folder_names.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

#include "tasks.hpp"

namespace attn::training {

namespace fs = std::filesystem;

fs::path trainings() { return fs::path("models") / "trained"; }

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

fs::path newest_training() {
  fs::path newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(trainings(), error)) {
    if (!fs::is_regular_file(entry.path() / training_file)) continue;
    if (newest.empty() ||
        fs::last_write_time(entry.path() / training_file) > fs::last_write_time(newest / training_file)) {
      newest = entry.path();
    }
  }
  if (newest.empty())
    throw std::invalid_argument("there is no training in " + trainings().string() +
                                " to go on with: ./learn train begins one");
  return newest;
}

}  // namespace attn::training
