#pragma once

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

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
