#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace attn::gate {

/// Everything that the course promises, in one go: configures and builds `preset`, runs its tests, and prints a table
/// of the lessons and CTest's own closing lines.
///
/// @return 0 when every promise holds, 1 when one is broken, 2 when the course could not be built at all.
int verify(const std::filesystem::path& root, const std::string& preset);

/// Reads CTest's output: prints what failed, the table, and the closing lines.
/// @return true when there was something to judge and all of it passed.
bool summarise(const std::filesystem::path& root, const std::string& ctest_output, std::ostream& out);

}  // namespace attn::gate
