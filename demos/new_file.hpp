#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace attn {

/// A file could not be written.
struct NotWritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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
