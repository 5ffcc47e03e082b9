#include "learn/build.hpp"

#include <sstream>

#include "learn/lesson.hpp"
#include "learn/process.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

std::vector<std::string> configure_command(const std::string& preset) { return {"cmake", "--preset", preset}; }

/// One at a time in each folder: a second tool waits for the first.
std::vector<std::string> build_command(const fs::path& root, const std::string& preset, const std::string& target) {
  const std::string folder = (root / "build" / preset).string();
  return {"flock", "--no-fork", folder + "/learn.lock", "ninja", "-C", folder, target};
}

bool unconfigured(const fs::path& root, const std::string& preset) {
  return !fs::exists(root / "build" / preset / "build.ninja");
}

Built build(const fs::path& root, const std::string& preset, const std::string& target) {
  const fs::path folder = root / "build" / preset;
  fs::create_directories(folder);
  const fs::path log = folder / ("build-" + target + ".log");
  if (unconfigured(root, preset) && run(configure_command(preset), root, log) != 0) {
    return {false, course::read_file(log)};
  }
  const int exit_code = run(build_command(root, preset, target), root, log);
  std::string says = without_build_noise(course::read_file(log));
  if (exit_code != 0 && says.empty()) says = course::read_file(log);
  return {exit_code == 0, says};
}

std::string without_build_noise(const std::string& output) {
  std::istringstream in(output);
  std::string kept;
  bool command_follows = false;
  for (std::string row; std::getline(in, row);) {
    const bool is_command = command_follows;
    command_follows = row.rfind("FAILED: ", 0) == 0;
    const bool is_progress = row.rfind("[", 0) == 0 && row.find("] ") != std::string::npos &&
                             row.find_first_not_of("[0123456789/") == row.find("] ");
    if (is_command || command_follows || is_progress || row.rfind("ninja: ", 0) == 0) continue;
    kept += row + "\n";
  }
  return kept;
}

}  // namespace attn::learn
