#include "learn/screens/programs.hpp"

#include <algorithm>
#include <sstream>

#include "learn/machine/machine.hpp"
#include "learn/screens/chapter.hpp"
#include "lesson/formula.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

/// Shows the text of a chapter, $1. Ctrl-C is the pager's alone.
constexpr const char* read_script = R"(
trap : INT
pager=${PAGER:-}
if [ -z "$pager" ]; then pager=more; command -v less >/dev/null && pager=less; fi
export LESS="-R ${LESS:-}"
printf '%s' "$1" | $pager)";

/// VS Code's own command, where this is a terminal within it.
bool in_vs_code() { return environment("TERM_PROGRAM") == "vscode" && !find_program("code").empty(); }

/// A chapter as text, formatted by lowdown where that is installed.
std::string chapter_as_text(const lesson::Lesson& lesson, int columns) {
  const std::string chapter = unfolded(with_plain_formulas(lesson::read_file(lesson.chapter_file())));
  const std::string terminal = environment("TERM");
  if (terminal.empty() || terminal == "dumb" || find_program("lowdown").empty()) return chapter_text(chapter, columns);
  constexpr int code_indent = 8;
  constexpr int indent = 4;  // of what lowdown wraps to its width
  std::vector<std::string> command = {"lowdown", "-tterm", "--parse-no-intraemph",
                                      "--term-columns=" + std::to_string(columns),
                                      "--term-width=" + std::to_string(columns - indent)};
  if (!environment("NO_COLOR").empty()) command.emplace_back("--term-no-colour");
  const auto formatted = judge::ask(command, lesson.root, with_narrow_tables(chapter, columns - code_indent));
  return formatted.exit_code == 0 ? with_narrow_rows(formatted.output, columns) : chapter_text(chapter, columns);
}

/// "vim" of "/usr/bin/vim.basic -n"; what `editor` stands for on Debian.
std::string program_name(const std::string& command) {
  std::string program;
  std::istringstream(command) >> program;
  std::error_code none;
  const fs::path file = fs::canonical(find_program(program), none);
  const std::string found =
      none || program != "editor" ? fs::path(program).filename().string() : file.filename().string();
  return found.substr(0, found.find('.'));
}

}  // namespace

std::optional<Place> first_place(const Lines& verdict, const std::vector<std::string>& files) {
  for (const auto& [spans, place] : verdict) {
    const bool known = place && place->line > 0;
    if (known && std::find(files.begin(), files.end(), place->file) != files.end()) return place;
  }
  return {};
}

Place first_todo(const lesson::Lesson& lesson) {
  const auto files = lesson.stub_files();
  for (const auto& file : files) {
    std::error_code none;
    if (!fs::is_regular_file(lesson.root / file, none)) continue;
    int number = 0;
    for (const auto& line : lines_of(lesson::read_file(lesson.root / file))) {
      ++number;
      if (line.find("TODO(") != std::string::npos) return {file, number};
    }
  }
  return {files.empty() ? "" : files.front(), 1};
}

std::vector<std::string> editor_arguments(const std::string& editor, const std::vector<std::string>& files,
                                          const Place& at) {
  const std::string name = program_name(editor);
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string line = std::to_string(at.line);
  std::vector<std::string> arguments;
  if (is_one_of({"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg"})) {
    arguments = {"+" + line, at.file};
  } else if (is_one_of({"code", "code-insiders", "codium", "cursor"})) {
    arguments = {"-g", at.text()};
  } else if (is_one_of({"hx", "helix", "subl", "zed"})) {
    arguments = {at.text()};
  } else {
    return files;
  }
  std::copy_if(files.begin(), files.end(), std::back_inserter(arguments),
               [&](const auto& file) { return file != at.file; });
  return arguments;
}

std::vector<std::string> editor_command(const lesson::Lesson& lesson, const Lines& verdict) {
  std::string editor;
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    if (editor.empty()) editor = environment(variable);
  }
  if (editor.empty() && in_vs_code()) editor = "code";
  for (const char* usual : {"editor", "nano", "vim", "vi"}) {
    if (editor.empty() && !find_program(usual).empty()) editor = usual;
  }
  if (editor.empty()) return {};
  const auto files = lesson.stub_files();
  const auto named = first_place(verdict, files);
  std::vector<std::string> command = {"sh", "-c", editor + " \"$@\"", "sh"};
  const auto arguments = editor_arguments(editor, files, named ? *named : first_todo(lesson));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<std::string> reader_command(const lesson::Lesson& lesson, int columns) {
  if (in_vs_code()) return {"code", lesson.chapter_file().string()};
  return {"sh", "-c", read_script, "sh", chapter_as_text(lesson, std::clamp(columns, 20, 100))};
}

}  // namespace attn::learn
