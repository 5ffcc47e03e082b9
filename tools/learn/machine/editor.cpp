#include "learn/machine/editor.hpp"

#include <cstdlib>

#include "learn/machine/machine.hpp"

namespace attn::learn {

std::vector<std::string> editor_command(const lesson::Lesson& lesson) {
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    const char* editor = std::getenv(variable);
    if (editor == nullptr || *editor == '\0') continue;
    std::vector<std::string> command = {"sh", "-c", std::string(editor) + " \"$@\"", "sh"};
    for (const auto& file : lesson.stub_files()) command.push_back(file);
    return command;
  }
  for (const char* editor : {"editor", "nano", "vim", "vi"}) {
    if (find_program(editor).empty()) continue;
    std::vector<std::string> command = {editor};
    for (const auto& file : lesson.stub_files()) command.push_back(file);
    return command;
  }
  return {};
}

}  // namespace attn::learn
