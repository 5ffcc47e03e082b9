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

/// Becomes a program, so that Ctrl-C and Ctrl-Z reach it as they would reach us.
[[noreturn]] void become(std::vector<std::string> command);

/// Whether the effective user may write to a file, or in a folder.
bool is_writable(const std::filesystem::path& path);

}  // namespace attn::learn
