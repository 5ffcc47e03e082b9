#include "learn/machine/machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

/// What another system calls one of Debian's packages: a column of tools/packages.txt; Debian's name if it has no row.
std::string name_elsewhere(const std::string& package, std::size_t column) {
  std::ifstream in(ATTN_PACKAGES);
  for (std::string row; std::getline(in, row);) {
    std::istringstream columns(row);
    const std::vector<std::string> names{std::istream_iterator<std::string>(columns), {}};
    if (names.size() > column && names.front() == package) return names[column];
  }
  return package;
}

}  // namespace

fs::path find_program(const std::string& name) {
  const auto runs = [](const fs::path& file) {
    std::error_code unreadable;
    return fs::is_regular_file(file, unreadable) && faccessat(AT_FDCWD, file.c_str(), X_OK, AT_EACCESS) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : "";
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (runs(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  return {};
}

std::string install(const std::string& package) {
  if (!find_program("apt-get").empty()) return as_root("apt-get install " + package);
  if (!find_program("dnf").empty()) return as_root("dnf install " + name_elsewhere(package, 1));
  if (!find_program("pacman").empty()) return as_root("pacman -S --needed " + name_elsewhere(package, 2));
  return "with this system's package manager, install what Debian calls " + package;
}

std::string as_root(const std::string& line) {
  if (geteuid() == 0) return line;
  return find_program("sudo").empty() ? "su -c '" + line + "'" : "sudo " + line;
}

void become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  throw std::runtime_error("cannot start " + command.front());
}

bool is_writable(const fs::path& path) { return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0; }

}  // namespace attn::learn
