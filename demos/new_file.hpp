#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace attn {

/// A file could not be written.
struct NotWritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Asks before anything else is done: a program that works for minutes should not find out at its end.
/// @param path empty: no file is to be written
/// @throws std::invalid_argument when it exists already
inline void require_new_file(const std::string& path) {
  if (!path.empty() && std::filesystem::exists(std::filesystem::symlink_status(path))) {
    throw std::invalid_argument(path + " exists already and is left as it is: give another name");
  }
}

/// Writes a file that is not there yet.
/// @throws NotWritable when it exists already, or cannot be written.
inline void write_new_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");  // x: never over an existing file
  if (file == nullptr) {
    throw NotWritable(errno == EEXIST ? path + " exists already and is left as it is: give another name"
                                      : path + " cannot be written: " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((std::fclose(file) != 0) || !written) throw NotWritable(path + " could not be written to its end");
}

}  // namespace attn
