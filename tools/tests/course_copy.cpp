#include "course_copy.hpp"

#include <stdexcept>

#include "run/process.hpp"

namespace attn::tests {

std::filesystem::path fresh_course_copy() {
  if (judge::run({ATTN_ROOT "/tools/tests/restore_copy.sh", ATTN_ROOT, ATTN_COPY}, ATTN_ROOT) != 0) {
    throw std::runtime_error("the copy of the course could not be put back: " ATTN_COPY
                             " (ctest -R course.copy makes it)");
  }
  return ATTN_COPY;
}

std::vector<std::string> tool_on_copy(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {ATTN_TOOL, "--root", ATTN_COPY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::string with_mistake(const lesson::Lesson& lesson, const std::string& id) {
  for (const auto& mistake : lesson.mistakes()) {
    if (mistake.id == id) return lesson::apply(mistake, lesson::read_file(lesson.solution_folder() / mistake.file));
  }
  throw std::invalid_argument("no mistake " + id);
}

}  // namespace attn::tests
