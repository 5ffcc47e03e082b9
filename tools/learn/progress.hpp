#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace attn::learn {

/// Which lessons the learner has passed: `.learn/progress.json`, by name, so that renumbering is harmless.
class Progress {
 public:
  /// Reads the file. One that cannot be understood is kept beside it under another name, told on standard error, and
  /// counted as empty.
  explicit Progress(const std::filesystem::path& root);

  bool passed(const std::string& lesson) const { return passed_.count(lesson) != 0; }

  /// Notes it down, safely: written beside, synced, renamed. What cannot be written is told, never thrown.
  void set_passed(const std::string& lesson, bool passed);

 private:
  void write() const;

  std::filesystem::path file_;
  std::set<std::string> passed_;
};

}  // namespace attn::learn
