#include "learn/machine/watcher.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <utility>

namespace attn::learn {

namespace fs = std::filesystem;

Watcher::Watcher(std::vector<fs::path> files) : files_(std::move(files)), seen_(stamp()) {
  inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::set<fs::path> folders;
  for (const auto& file : files_) folders.insert(file.parent_path());
  for (const auto& folder : folders) {
    if (inotify_ < 0) return;
    inotify_add_watch(inotify_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB);
  }
}

Watcher::~Watcher() {
  if (inotify_ >= 0) close(inotify_);
}

bool Watcher::changed() {
  char events[4096];
  while (inotify_ >= 0 && read(inotify_, events, sizeof events) > 0) {
  }
  std::string now = stamp();
  return std::exchange(seen_, now) != now;
}

/// Inode, size and time of every file.
std::string Watcher::stamp() const {
  std::string all;
  for (const auto& file : files_) {
    struct stat info {};
    if (stat(file.c_str(), &info) == 0) {
      for (const auto number : {static_cast<long>(info.st_ino), static_cast<long>(info.st_size),
                                static_cast<long>(info.st_mtim.tv_sec), static_cast<long>(info.st_mtim.tv_nsec)}) {
        all += std::to_string(number) + " ";
      }
    }
    all += "\n";
  }
  return all;
}

}  // namespace attn::learn
