#include "system/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace attn {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::hours old_enough_to_be_left_over{1};
constexpr const char* being_written = ".being-written-";

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Whether it is of this kind (S_IFREG, S_IFDIR), not a link to one, and belongs to our user.
bool is_ours(const fs::path& path, mode_t kind) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind && status.st_uid == geteuid();
}

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw std::runtime_error(what + " " + path.string() + ": " + std::generic_category().message(errno));
}

/// A file descriptor that is closed in the end, and not handed to other programs.
class File {
 public:
  File(const fs::path& path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// The file that a chain of symbolic links leads to, which need not be there.
fs::path resolve_links(fs::path file) {
  constexpr int most_links = 40;
  for (int i = 0; i < most_links && fs::is_symlink(file); ++i) file = file.parent_path() / fs::read_symlink(file);
  return file;
}

/// What is known of a file that is there already.
std::optional<struct stat> find_writable(const fs::path& file) {
  const File existing(file, O_WRONLY | O_NONBLOCK);  // a rename would replace a read-only file; a pipe would wait
  if (!existing.is_open() && errno == ENOENT) return {};
  struct stat status {};
  if (!existing.is_open() || fstat(existing.number(), &status) != 0) fail("cannot write", file);
  return status;
}

/// Its owner and permissions, as far as we may: root should not take a learner's file away.
void copy_owner_and_mode(const std::optional<struct stat>& other, int file) {
  if (!other) return;
  const bool same_owner = fchown(file, other->st_uid, other->st_gid) == 0;
  fchmod(file, other->st_mode & (same_owner ? 07777 : 0777));
}

void write_synced(const File& out, const fs::path& file, const std::string& text,
                  const std::optional<struct stat>& like) {
  copy_owner_and_mode(like, out.number());
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(out.number(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) fail("cannot write", file);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (fsync(out.number()) != 0) fail("cannot write", file);
}

/// What is said of a file that may not be replaced.
std::string refusal(const fs::path& path) {
  return path.string() + " exists already and is left as it is: give another name";
}

}  // namespace

void require_new_file(const fs::path& path) {
  if (path.empty()) return;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::exists(status)) throw std::invalid_argument(refusal(path));
  if (status.type() == fs::file_type::not_found) return;
  throw std::invalid_argument(path.string() + " cannot be written: " + error.message());  // a name that is too long
}

void write_new_file(const fs::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");  // x: never over an existing file
  if (file == nullptr) {
    throw NotWritable(errno == EEXIST ? refusal(path) : path.string() + " cannot be written: " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((std::fclose(file) != 0) || !written) {
    const std::string why = std::strerror(errno);
    unlink(path.c_str());
    throw NotWritable(path.string() + " cannot be written: " + why);
  }
}

fs::path name_while_written(const fs::path& path) { return path.string() + being_written + std::to_string(getpid()); }

bool is_left_over(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto marker = name.rfind(being_written);
  return marker != std::string::npos && is_number(name.substr(marker + std::strlen(being_written))) &&
         (is_ours(path, S_IFREG) || is_ours(path, S_IFDIR));
}

void remove_leftovers(const fs::path& folder, const std::string& before, const std::string& after) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t around = before.size() + after.size();
    if (name.size() <= around || name.rfind(before, 0) != 0 || name.substr(name.size() - after.size()) != after)
      continue;
    if (!is_number(name.substr(before.size(), name.size() - around)) || !is_ours(entry.path(), S_IFREG)) continue;
    const auto written = entry.last_write_time(ignored);
    if (!ignored && fs::file_time_type::clock::now() - written > old_enough_to_be_left_over) {
      fs::remove(entry.path(), ignored);
    }
  }
}

void replace_file(const fs::path& file, const std::string& text) {
  const fs::path target = resolve_links(file);
  const auto existing = find_writable(target);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  remove_leftovers(folder, target.filename().string() + being_written);
  // The number after ours is taken where a program that was killed had our process id: containers give few.
  std::optional<File> out;
  fs::path beside;
  for (int tries = 0; tries < 100 && (!out || (!out->is_open() && errno == EEXIST)); ++tries) {
    beside = target.string() + being_written + std::to_string(getpid() + tries);
    out.emplace(beside, O_WRONLY | O_CREAT | O_EXCL);
  }
  if (!out->is_open()) fail("cannot write", beside);
  try {
    write_synced(*out, beside, text, existing);
    if (rename(beside.c_str(), target.c_str()) != 0) fail("cannot replace", target);
  } catch (const std::runtime_error&) {
    unlink(beside.c_str());
    throw;
  }
  sync_to_disk(folder);
}

fs::path free_name(const fs::path& path) {
  fs::path name = path;
  for (int i = 2; fs::exists(fs::symlink_status(name)); ++i) name = path.string() + "-" + std::to_string(i);
  return name;
}

void clear_the_way(const fs::path& file) {
  std::error_code none;
  if (fs::is_regular_file(file, none)) return;
  if (fs::is_directory(fs::symlink_status(file, none)) && !fs::is_empty(file)) {
    fs::rename(file, free_name(file.string() + ".moved-aside"));
  } else {
    fs::remove(file);
  }
}

void sync_to_disk(const fs::path& path) {
  const File file(path, O_RDONLY);
  // Some file systems cannot sync a folder, and say so by EINVAL.
  if (!file.is_open() || (fsync(file.number()) != 0 && errno != EINVAL)) fail("cannot write", path);
}

}  // namespace attn
