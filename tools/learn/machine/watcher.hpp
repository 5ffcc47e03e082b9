#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attn::learn {

/// Notices when files are saved: by looking at them, which works on every file system, and sooner where the kernel
/// reports them (inotify). Editors that write a new file and rename it are noticed, too.
class Watcher {
 public:
  explicit Watcher(std::vector<std::filesystem::path> files);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// For poll(): readable when a file may have changed; -1 where the kernel does not report it.
  int wake_fd() const { return inotify_; }

  /// Whether a file has changed since the last call.
  bool changed();

 private:
  std::string stamp() const;

  std::vector<std::filesystem::path> files_;
  int inotify_ = -1;
  std::string seen_;
};

}  // namespace attn::learn
