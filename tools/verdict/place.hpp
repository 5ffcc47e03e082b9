#pragma once

#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/report.hpp"

namespace attn::judge {

/// Adds the line where the function begins that the check's task names, to checks that failed and have no line yet. It
/// is not always known.
void find_places(std::vector<CheckResult>& checks, const lesson::Lesson& lesson);

/// A function that a file defines.
struct Definition {
  std::string name;  ///< "forward", or "SelfAttention" for its constructor
  int line;
  std::string of_class = {};  ///< "SelfAttention", where it is defined outside of the class
};

/// The functions that C++ code defines outside of other functions, in their order: what a simple scan finds.
std::vector<Definition> definitions_in(const std::string& code);

/// The line where the function of a task is defined, by the task's title ("The constructor of Dropout"), or where the
/// only function is. A title that is the name of a class means its only other function. 0 when that is not clear.
/// @param judged the check's name and what it looked at, which tell the functions of one task apart
int line_of_task(const std::string& title, const std::vector<Definition>& definitions, const std::string& judged = "");

/// C++ code with comments and the contents of literals replaced by spaces: lines and columns stay.
std::string without_comments(const std::string& code);

}  // namespace attn::judge
