#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn::learn {

/// Notices when files are saved: by looking at them, which works on every file system, and sooner where the kernel
/// tells (inotify). Editors that write a new file and rename it are noticed likewise.
class Watcher {
 public:
  explicit Watcher(std::vector<std::filesystem::path> files);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// For poll(): readable when it is worth to look; -1 where the kernel does not tell.
  int wake_fd() const { return inotify_; }

  /// Whether a file is another one than at the last call.
  bool changed();

 private:
  std::string look() const;

  std::vector<std::filesystem::path> files_;
  int inotify_ = -1;
  std::string seen_;
};

}  // namespace attn::learn
