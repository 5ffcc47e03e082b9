#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace attn::learn {

/// What one thing on this machine is, and what fixes it when it is wrong.
struct Finding {
  enum class Kind {
    ok,      ///< as it should be
    remark,  ///< the course works, but something could be better
    wrong    ///< some of the course does not work
  };
  Kind kind;
  std::string what;  ///< "compiler"
  std::string is;    ///< "g++ 12.2.0"
  std::string fix;   ///< a line to run in the course's folder; empty when nothing is to be done
};

/// Looks at everything that the course needs. What is missing or broken is a finding, never an exception.
///
/// @param preset whose build folder is looked at, and in which learn_probe is built if all that this needs is there;
///               nothing is configured or installed
std::vector<Finding> examine(const std::filesystem::path& root, const std::string& preset = "dev");

/// Writes findings in columns; long ones are wrapped, except the lines to run.
///
/// @param columns the width of the terminal
void print(const std::vector<Finding>& findings, int columns, std::ostream& out);

/// `./learn doctor`: examines and prints.
/// @return the exit code: 0 nothing is wrong, 1 something is
int doctor(const std::filesystem::path& root, std::ostream& out);

}  // namespace attn::learn
