#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "system/text_style.hpp"

/// Small questions about the machine that the course is on.
namespace attn::learn {

/// Where a program is: in PATH, or at the path given. Empty when it is not there.
std::filesystem::path find_program(const std::string& name);

/// The line that installs a package (Debian's name) on this machine.
std::string install(const std::string& package);

/// A line as it is to be run to do something as root.
std::string as_root(const std::string& line);

/// A kind of file system.
struct FileSystem {
  unsigned long magic;  ///< as statfs() gives it; linux/magic.h has most of them
  const char* name;
  bool reports_saves;  ///< whether inotify reports every save, or only those made on this machine
};

/// What a folder is on.
FileSystem file_system_of(const std::filesystem::path& folder);

/// Whether the effective user may write to a file, or in a folder.
bool is_writable(const std::filesystem::path& path);

}  // namespace attn::learn
