#pragma once

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

/// A folder to try things in, and child processes to try them in.
namespace attn {

/// A folder in memory, where syncing takes no time; else where temporary files go.
inline std::filesystem::path fast_folder() {
  const std::filesystem::path memory = "/dev/shm";
  struct statvfs storage {};
  const bool usable = access(memory.c_str(), W_OK | X_OK) == 0 && statvfs(memory.c_str(), &storage) == 0 &&
                      storage.f_bavail * storage.f_frsize >= 16 << 20;
  return usable ? memory : std::filesystem::temp_directory_path();
}

/// An empty folder, removed in the end. Its path has no symbolic links.
class Scratch {
 public:
  /// @param parent programs cannot be run in every fast_folder(); they can in temp_directory_path() under ctest
  explicit Scratch(const std::filesystem::path& parent = fast_folder()) {
    std::string name = (std::filesystem::canonical(parent) / "attn-scratch-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make the folder " + name);
    path_ = name;
  }
  ~Scratch() {
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);  // so that what is in it can be removed
    for (fs::recursive_directory_iterator entry(path_, ignored), end; entry != end; entry.increment(ignored)) {
      if (fs::is_directory(entry->symlink_status(ignored))) fs::permissions(*entry, fs::perms::owner_all, ignored);
    }
    fs::remove_all(path_, ignored);
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

/// Kills children, each at a random moment of its work. On a machine so busy that five in a row got nothing done, the moments
/// spread over twice the time from then on.
class RandomKills {
 public:
  explicit RandomKills(std::chrono::duration<double> spread) : spread_(spread) {}

  /// Starts a child that sets itself up, says so with `begun()`, and works on for ever.
  /// @return whether it was at work when it was killed, rather than ended by itself
  bool kill_one(const std::function<bool(const std::function<void()>& begun)>& work) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t child = start_child([&] {
      return work([&] {
        if (write(pipe_ends[1], "x", 1) != 1) _exit(3);
      });
    });
    close(pipe_ends[1]);  // so that a child that ends is noticed
    char byte = 0;
    const bool has_begun = read(pipe_ends[0], &byte, 1) == 1;
    std::this_thread::sleep_for(std::uniform_real_distribution<double>(0, 1)(random_) * spread_);
    kill(child, SIGKILL);
    close(pipe_ends[0]);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && has_begun;
  }

  /// To be told after each kill whether the child had got something done.
  void count(bool done) {
    idle_ = done ? 0 : idle_ + 1;
    if (idle_ < 5) return;
    spread_ *= 2;
    idle_ = 0;
  }

 private:
  std::chrono::duration<double> spread_;
  std::mt19937_64 random_{2026};
  int idle_ = 0;  // kills in a row
};

/// Gives up the rights that let root ignore permissions: from now on root is refused where any owner is.
inline bool respect_permissions() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

/// Whether it returns true in a child process that, unlike root, has to respect permissions.
inline bool well_as_ordinary_user(const std::function<bool()>& act) {
  return ended_well(start_child([&] { return respect_permissions() && act(); }));
}

}  // namespace attn
