#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

/// A folder to try things in, and child processes to try them in.
namespace attn::learn {

/// An empty folder of its own, removed in the end: in memory where it can be, so that syncing takes no time.
class Scratch {
 public:
  Scratch() {
    const std::filesystem::path memory = "/dev/shm";
    const bool usable = access(memory.c_str(), W_OK | X_OK) == 0;
    std::string name = ((usable ? memory : std::filesystem::temp_directory_path()) / "attn-scratch-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make the folder " + name);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Writes a file, and its folder where that is not there.
inline void put(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// Starts a child process that ends with 0 when `act` returns true.
inline pid_t start_child(const std::function<bool()>& act) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child != 0) return child;
  bool well = false;
  try {
    well = act();
  } catch (...) {
    _exit(2);
  }
  _exit(well ? 0 : 1);
}

/// Whether a child process ended with 0.
inline bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Does it in a child process that owns the folder but, unlike root, has to respect permissions.
inline bool well_as_ordinary_user(const std::filesystem::path& folder, const std::function<bool()>& act) {
  constexpr uid_t nobody = 65534;
  const bool root = geteuid() == 0;
  if (root && chown(folder.c_str(), nobody, nobody) != 0) throw std::runtime_error("cannot give the folder away");
  return ended_well(start_child([&] { return (!root || (setegid(nobody) == 0 && seteuid(nobody) == 0)) && act(); }));
}

}  // namespace attn::learn
