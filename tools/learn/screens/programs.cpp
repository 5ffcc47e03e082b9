#include "learn/screens/programs.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

#include "learn/machine/machine.hpp"
#include "lesson/formula.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

/// Shows $1: Markdown that lowdown formats for a terminal of $2 columns, or, without $2, text. Ctrl-C is the pager's alone.
constexpr const char* read_script = R"(
trap : INT
pager=${PAGER:-}
if [ -z "$pager" ]; then pager=more; command -v less >/dev/null && pager=less; fi
export LESS="-R ${LESS:-}"
format() {
  if [ -z "$2" ]; then cat; return; fi
  # lowdown indents what it wraps to the width.
  lowdown -tterm --parse-no-intraemph --term-columns="$2" --term-width=$(($2 - 4)) ${NO_COLOR:+--term-no-colour}
}
printf '%s' "$1" | format "$@" | $pager)";

/// A chapter with folded answers as ordinary text, without what only GitHub and the site show.
std::string readable(const std::string& markdown) {
  static const std::pair<std::regex, const char*> rules[] = {
      {std::regex("^<details><summary>(.*)</summary>$"), "**$1**"},
      {std::regex(R"(^!\[(.*)\]\(.*\)$)"), "Picture: $1"},
  };
  std::string text;
  for (const auto& line : lines_of(with_plain_formulas(markdown))) {
    if (begins_with(line, "<!-- ") || line == "</details>") continue;
    std::string shown = line;
    for (const auto& [form, words] : rules) shown = std::regex_replace(shown, form, words);
    text += shown + "\n";
  }
  return text;
}

/// VS Code's own command, where this is a terminal within it.
bool in_vs_code() { return environment("TERM_PROGRAM") == "vscode" && !find_program("code").empty(); }

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
  const std::string text = readable(lesson::read_file(lesson.chapter_file()));
  const int width = std::clamp(columns, 20, 100);
  const std::string terminal = environment("TERM");
  if (!terminal.empty() && terminal != "dumb" && !find_program("lowdown").empty()) {
    return {"sh", "-c", read_script, "sh", text, std::to_string(width)};
  }
  return {"sh", "-c", read_script, "sh", joined(wrapped(joined(paragraphs_of(text), "\n"), width), "\n") + "\n", ""};
}

}  // namespace attn::learn
