#pragma once

#include <string>
#include <vector>

#include "lesson/line.hpp"

/// What helps with a command line that was not understood.
namespace attn::learn {

/// The command line that was probably meant: its command spelled as it should be, and in front: "check 01" for "01
/// chek". Where the command is right, its options. Empty when nothing comes near, or all is right.
std::string meant(const std::vector<std::string>& words, const std::vector<std::string>& commands,
                  const std::vector<std::string>& options = {});

/// CLI11's help, with the names of commands standing out.
Lines help_lines(const std::string& help);

}  // namespace attn::learn
