#include "learn/progress.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "learn/lesson.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

Progress::Progress(const fs::path& root) : file_(root / ".learn" / "progress.json") {
  std::error_code ignored;
  if (!fs::exists(file_, ignored)) return;
  try {
    passed_ = nlohmann::json::parse(course::read_file(file_)).at("passed").get<std::set<std::string>>();
  } catch (const std::exception& error) {
    fs::path aside = file_;
    aside += ".unreadable-" + std::to_string(std::time(nullptr));
    fs::rename(file_, aside, ignored);
    std::cerr << "your progress could not be read (" << error.what() << ")\nit was kept as " << aside.string()
              << "; lessons count as not passed until they are checked again\n";
  }
}

void Progress::set_passed(const std::string& lesson, bool passed) {
  if (passed == this->passed(lesson)) return;
  if (passed) {
    passed_.insert(lesson);
  } else {
    passed_.erase(lesson);
  }
  write();
}

void Progress::write() const {
  const std::string text = nlohmann::json{{"version", 1}, {"passed", passed_}}.dump(2) + "\n";
  std::error_code failed;
  fs::create_directories(file_.parent_path(), failed);
  fs::path beside = file_;
  beside += ".new-" + std::to_string(getpid());
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (written) fs::rename(beside, file_, failed);
  if (!written || failed) std::cerr << "your progress could not be written to " << file_.string() << "\n";
}

}  // namespace attn::learn
