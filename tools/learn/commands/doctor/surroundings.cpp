#include <langinfo.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "learn/memory/calendar.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"
#include "system/text_style.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// What a folder is on, as findmnt calls it; empty where that is not known.
std::string file_system_of(const fs::path& folder) {
  const auto rows = lines_of(judge::ask({"findmnt", "-n", "-o", "FSTYPE", "-T", folder}, "/").output);
  return rows.empty() ? "" : rows.front();
}

/// Whether inotify reports every save on it, or only those made on this machine.
bool reports_saves(const std::string& file_system) {
  for (const char* shared : {"nfs", "cifs", "smb", "9p", "fuse", "vboxsf", "vmhgfs", "ceph", "afs", "lustre"}) {
    if (begins_with(file_system, shared)) return false;
  }
  return true;
}

/// The line that copies the course to a better place.
std::string copy_elsewhere(const fs::path& root) {
  const fs::path home = environment("HOME");
  const bool home_will_do = is_writable(home) && reports_saves(file_system_of(home));
  return "cp -a '" + root.string() + "' " + (home_will_do ? "\"$HOME\"" : "/var/tmp");
}

/// The line that makes room: the course's other build folders first.
std::string make_room(const Setup& setup) {
  std::string others;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(setup.root / "build", none)) {
    if (entry.path() != setup.build) others += " build/" + entry.path().filename().string();
  }
  if (!others.empty()) return "rm -r" + others;
  return as_root("apt-get clean");
}

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

std::string make_writable(const Setup& setup, const std::string& name) {
  struct statvfs storage {};
  if (statvfs(setup.root.c_str(), &storage) == 0 && (storage.f_flag & ST_RDONLY) != 0) {
    return copy_elsewhere(setup.root);
  }
  struct stat status {};
  if (stat((setup.root / name).c_str(), &status) == 0 && status.st_uid == geteuid()) return "chmod -R u+rw " + name;
  return as_root("chown -R " + std::to_string(geteuid()) + " " + name);
}

Finding examine_version(const Setup& setup) {
  if (find_program("git").empty()) {
    return remark("its version is not known: git is not installed, which only ./learn update needs", install("git"));
  }
  if (!is_there(setup.root / ".git")) return ok("a copy without git's history: ./learn update needs that");
  const auto commit = judge::ask({"git", "log", "-1", "--format=%h of %cs"}, setup.root);
  if (commit.exit_code != 0) {
    return remark("git cannot read its history", "git -C '" + setup.root.string() + "' log -1");
  }
  return ok("version " + commit.output.substr(0, commit.output.find('\n')));
}

Finding examine_folder(const Setup& setup) {
  for (const std::string name : {".", "lessons", "build"}) {
    if (is_there(setup.root / name) && !is_writable(setup.root / name)) {
      return wrong(fs::weakly_canonical(setup.root / name).string() + " cannot be written to",
                   make_writable(setup, name));
    }
  }
  const std::string type = file_system_of(setup.root);
  const std::string folder = setup.root.string();
  if (reports_saves(type)) return ok(folder + " on " + (type.empty() ? "an unknown file system" : type));
  return remark(
      folder + " is on " + type + ": saves made outside this machine go unnoticed by it, so files are compared instead",
      copy_elsewhere(setup.root));
}

Finding examine_state(const Setup& setup) {
  const std::string file = ".learn/state.json";
  const fs::path folder = setup.root / ".learn";
  if (!is_there(folder)) return ok("nothing is saved in .learn/ yet");
  if (!fs::is_directory(folder)) return wrong(".learn is not a folder: nothing can be saved", "mv .learn .learn.old");
  if (!is_writable(folder)) {
    return wrong(".learn/ cannot be written to: nothing can be saved", make_writable(setup, ".learn"));
  }
  if (!is_there(setup.root / file)) return ok("nothing is saved in " + file + " yet");
  std::ifstream in(setup.root / file);
  if (!in) return wrong(file + " cannot be read", make_writable(setup, file));
  if (!is_writable(setup.root / file)) return wrong(file + " cannot be written to", make_writable(setup, file));
  if (nlohmann::json::accept(in)) return ok(file + " can be read");
  return wrong(file + " is damaged: it is not JSON", "mv " + file + " " + file + ".kept");
}

Finding examine_disk(const Setup& setup) {
  struct statvfs storage {};
  if (statvfs(setup.root.c_str(), &storage) != 0) return remark("its free space is not known", "df -h .");
  const double free_gigabytes = static_cast<double>(storage.f_bavail) * static_cast<double>(storage.f_frsize) / 1e9;
  const std::string is = with_one_digit(free_gigabytes) + " GB free";
  if (free_gigabytes < 0.05) return wrong(is + ": nothing can be built or saved", make_room(setup));
  if (free_gigabytes < 1) return remark(is + ": the builds need most of one", make_room(setup));
  return ok(is);
}

Finding examine_clock(const Setup& setup) {
  const std::string is = "it is " + local_time(std::time(nullptr), "%Y-%m-%d %H:%M %Z");
  if (today() < parse_day("2024-01-01")) {
    return wrong(is + ": that is years ago", as_root("timedatectl set-ntp true"));
  }
  const auto soon = fs::file_time_type::clock::now() + std::chrono::minutes(1);
  std::vector<std::string> files = {"CMakeLists.txt", "CMakePresets.json"};
  for (const auto& lesson : lesson::find_lessons(setup.root)) {
    for (const auto& file : lesson.stub_files()) files.push_back(file);
  }
  for (const auto& file : files) {
    std::error_code missing;
    const auto time = fs::last_write_time(setup.root / file, missing);
    if (missing || time <= soon) continue;
    return wrong(is + ", but " + file + " was saved later than that: it would be built again and again",
                 "find . -newermt 'now + 1 minute' -exec touch {} +");
  }
  return ok(is);
}

Finding examine_memory(const Setup& setup) {
  double gigabytes = 0;
  std::ifstream machine("/proc/meminfo");  // begins "MemTotal:  16384 kB"
  std::string name;
  if (machine >> name >> gigabytes) gigabytes *= 1024 / 1e9;
  std::ifstream container("/sys/fs/cgroup/memory.max");  // a number of bytes, or "max"
  double limit = 0;
  if (container >> limit) gigabytes = std::min(gigabytes, limit / 1e9);
  if (gigabytes == 0) return remark("its size is not known", "free -h");
  const std::string is = with_one_digit(gigabytes) + " GB";
  if (gigabytes >= 2) return ok(is);
  return remark(is + ": a compiler needs about 1 GB; this line runs one at a time",
                "ninja -C build/" + setup.preset + " -j 1 lessons");
}

Finding examine_editor(const Setup& setup) {
  const fs::path file = setup.root / "compile_commands.json";
  const std::string consequence = ": the editor will not find Armadillo";
  const std::string fix = configure("dev");
  std::error_code none;
  if (!is_there(file)) {
    const fs::path target = fs::read_symlink(file, none);
    const std::string where = none ? " is not there" : " leads to " + target.string() + ", which is not there";
    return wrong("compile_commands.json" + where + consequence, fix);
  }
  std::vector<std::string> missing;
  try {
    missing = files_not_in(lesson::read_json(file), setup.root);
  } catch (const std::exception&) {
    return wrong("compile_commands.json is damaged" + consequence, fix);
  }
  if (!missing.empty()) {
    const std::string others = missing.size() == 1 ? "" : " and " + std::to_string(missing.size() - 1) + " more";
    return wrong("compile_commands.json does not know " + missing.front() + others + consequence, fix);
  }
  if (!fs::equivalent(file, build_folder(setup.root) / "compile_commands.json", none)) {
    return remark("compile_commands.json is not that of build/dev, which ./learn builds", fix);
  }
  return ok("compile_commands.json knows every lesson's files");
}

Finding examine_clangd(const Setup&) {
  if (find_program("clangd").empty()) {
    return remark("it is not installed: many editors show errors while you type with its help", install("clangd"));
  }
  return ok(version_in(judge::ask({"clangd", "--version"}, "/").output));
}

Finding examine_chosen_editor(const Setup&) {
  const std::string variable = environment("VISUAL").empty() ? "EDITOR" : "VISUAL";
  const auto command = words(environment(variable));
  if (command.empty()) return remark("neither VISUAL nor EDITOR is set", choose_editor(variable));
  if (find_program(command.front()).empty()) {
    return remark(variable + " is " + command.front() + ", which is not there", choose_editor(variable));
  }
  return ok(variable + " is " + environment(variable));
}

Finding examine_locale(const Setup&) {
  std::string name;
  for (const auto& variable : {"LANG", "LC_CTYPE", "LC_ALL"}) {
    if (!environment(variable).empty()) name = environment(variable);
  }
  if (name.empty()) return ok("none is set: taken as UTF-8");
  const std::string fix = "export LC_ALL=C.UTF-8";
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return remark(name + " is not installed: other programs may write symbols in ASCII", fix);
  const std::string encoding = nl_langinfo_l(CODESET, locale);
  freelocale(locale);
  if (encoding != "UTF-8") {
    return remark(name + " is " + encoding + ", not UTF-8: symbols are written in ASCII", fix);
  }
  return ok(name);
}

Finding examine_terminal(const Setup&) {
  const int columns = terminal_size().columns;
  if (columns == 0) return ok("none");
  const std::string is = std::to_string(columns) + " columns";
  if (columns >= 60) return ok(is);
  return remark(is + ": lines are broken or cut", "make the window at least 60 columns wide");
}

/// Only authors need PyTorch, so that nothing is said when it is not there.
Findings examine_pytorch(const Setup&) {
  const std::string version = version_in(text_in("/usr/lib/python3/dist-packages/torch/version.py"));
  if (version.empty()) return {};
  return {ok(version + ", for authors: it makes the golden values")};
}

}  // namespace attn::learn::checkup
