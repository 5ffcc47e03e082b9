#include <langinfo.h>
#include <locale.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/lesson.hpp"
#include "run/process.hpp"
#include "system/text_style.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// The learner's source files that the compile commands leave out. (Headers have no commands of their own.)
std::vector<std::string> files_not_in(const nlohmann::json& commands, const fs::path& root) {
  std::set<fs::path> known;
  for (const auto& command : commands) known.insert(fs::weakly_canonical(command.at("file").get<std::string>()));
  std::vector<std::string> missing;
  for (const auto& lesson : lesson::find_lessons(root)) {
    for (const auto& file : lesson.stub_files()) {
      if (fs::path(file).extension() == ".cpp" && known.count(fs::weakly_canonical(root / file)) == 0) {
        missing.push_back(file);
      }
    }
  }
  return missing;
}

/// The line that chooses an editor that is there, or installs one.
std::string choose_editor(const std::string& variable) {
  for (const std::string editor : {"nano", "vim", "vi", "emacs", "code"}) {
    if (!find_program(editor).empty()) return "export " + variable + "=" + editor;
  }
  return install("nano");
}

}  // namespace

Findings examine_memory(const Setup& setup) {
  double gigabytes = 0;
  std::ifstream machine("/proc/meminfo");  // begins "MemTotal:  16384 kB"
  std::string name;
  if (machine >> name >> gigabytes) gigabytes *= 1024 / 1e9;
  std::ifstream container("/sys/fs/cgroup/memory.max");  // a number of bytes, or "max"
  double limit = 0;
  if (container >> limit) gigabytes = std::min(gigabytes, limit / 1e9);
  if (gigabytes == 0) return {remark("memory", "its size is not known", "free -h")};
  const std::string is = with_one_digit(gigabytes) + " GB";
  if (gigabytes >= 2) return {ok("memory", is)};
  return {remark("memory", is + ": a compiler needs about 1 GB; this line runs one at a time",
                 "ninja -C build/" + setup.preset + " -j 1 lessons")};
}

Findings examine_editor(const Setup& setup) {
  const fs::path file = setup.root / "compile_commands.json";
  const std::string consequence = ": the editor will not find Armadillo";
  const std::string fix = configure("dev");
  std::error_code none;
  if (!is_there(file)) {
    const fs::path target = fs::read_symlink(file, none);
    const std::string where = none ? " is not there" : " leads to " + target.string() + ", which is not there";
    return {wrong("editor", "compile_commands.json" + where + consequence, fix)};
  }
  std::vector<std::string> missing;
  try {
    missing = files_not_in(lesson::read_json(file), setup.root);
  } catch (const std::exception&) {
    return {wrong("editor", "compile_commands.json is damaged" + consequence, fix)};
  }
  if (!missing.empty()) {
    const std::string others = missing.size() == 1 ? "" : " and " + std::to_string(missing.size() - 1) + " more";
    return {wrong("editor", "compile_commands.json does not know " + missing.front() + others + consequence, fix)};
  }
  if (!fs::equivalent(file, build_folder(setup.root) / "compile_commands.json", none)) {
    return {remark("editor", "compile_commands.json is not that of build/dev, which ./learn builds", fix)};
  }
  return {ok("editor", "compile_commands.json knows every lesson's files")};
}

Findings examine_clangd(const Setup&) {
  if (find_program("clangd").empty()) {
    return {remark("clangd", "it is not installed: many editors show errors while you type with its help",
                   install("clangd"))};
  }
  return {ok("clangd", version_in(judge::ask({"clangd", "--version"}, "/").output))};
}

Findings examine_chosen_editor(const Setup&) {
  const std::string variable = environment("VISUAL").empty() ? "EDITOR" : "VISUAL";
  const auto command = words(environment(variable));
  if (command.empty()) return {remark("EDITOR", "neither VISUAL nor EDITOR is set", choose_editor(variable))};
  if (find_program(command.front()).empty()) {
    return {remark("EDITOR", variable + " is " + command.front() + ", which is not there", choose_editor(variable))};
  }
  return {ok("EDITOR", variable + " is " + environment(variable))};
}

Findings examine_locale(const Setup&) {
  std::string name;
  for (const auto& variable : {"LANG", "LC_CTYPE", "LC_ALL"}) {
    if (!environment(variable).empty()) name = environment(variable);
  }
  if (name.empty()) return {ok("locale", "none is set: taken as UTF-8")};
  const std::string fix = "export LC_ALL=C.UTF-8";
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr)
    return {remark("locale", name + " is not installed: other programs may write symbols in ASCII", fix)};
  const std::string encoding = nl_langinfo_l(CODESET, locale);
  freelocale(locale);
  if (encoding != "UTF-8") {
    return {remark("locale", name + " is " + encoding + ", not UTF-8: symbols are written in ASCII", fix)};
  }
  return {ok("locale", name)};
}

Findings examine_terminal(const Setup&) {
  const int columns = terminal_size().columns;
  if (columns == 0) return {ok("terminal", "none")};
  const std::string is = std::to_string(columns) + " columns";
  if (columns >= 60) return {ok("terminal", is)};
  return {remark("terminal", is + ": lines are broken or cut", "make the window at least 60 columns wide")};
}

/// Only authors need PyTorch, so that nothing is said when it is not there.
Findings examine_pytorch(const Setup&) {
  std::ifstream in("/usr/lib/python3/dist-packages/torch/version.py");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string version = version_in(text.str());
  if (version.empty()) return {};
  return {ok("PyTorch", version + ", for authors: it makes the golden values")};
}

}  // namespace attn::learn::checkup
