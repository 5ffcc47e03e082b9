#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/report.hpp"

namespace attn::judge {

/// Adds the function that the check's task names, and the line where it begins, to checks that failed and have no line
/// yet. It is not always known.
void find_places(std::vector<CheckResult>& checks, const lesson::Lesson& lesson);

/// A function that a file defines.
struct Definition {
  std::string name;  ///< "forward", or "SelfAttention" for its constructor
  int line;
  std::string of_class = {};  ///< "SelfAttention", where it is defined outside of the class

  bool is_constructor() const;
};

/// The functions that C++ code defines outside of other functions, in their order: what a simple scan finds.
std::vector<Definition> definitions_in(const std::string& code);

/// The function of a task, by the task's title ("The constructor of Dropout"), or the only function. A title that is the
/// name of a class means its only other function. Nothing when that is not clear.
/// @param judged the check's name and what it looked at, which tell the functions of one task apart
std::optional<Definition> function_of_task(const std::string& title, const std::vector<Definition>& definitions,
                                           const std::string& judged = "");

/// C++ code with comments and the contents of literals replaced by spaces: lines and columns stay.
std::string without_comments(const std::string& code);

}  // namespace attn::judge
