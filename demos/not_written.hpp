#pragma once

#include <iostream>

#include "attn/todo.hpp"

namespace attn {

/// Reports that the demonstration needs a task that is not written yet, and how to see it with the reference.
/// @return the exit code of the demonstration
inline int report_not_written(const NotWritten& error) {
  std::cerr << error.what()
            << "\nThe demonstration runs what you write. Until then, this shows it with the reference:\n"
            << "  ./learn demo " << error.task.substr(0, 2) << " --reference\n";
  return 1;
}

}  // namespace attn
