#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/lesson.hpp"
#include "run/process.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// The line that copies the course to a better place.
std::string copy_elsewhere(const fs::path& root) {
  const fs::path home = environment("HOME");
  const bool home_will_do = is_writable(home) && file_system_of(home).reports_saves;
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

Findings examine_version(const Setup& setup) {
  const std::string fix = install("git");
  if (find_program("git").empty()) {
    return {remark("course", "its version is not known: git is not installed, which only ./learn update needs", fix)};
  }
  if (!is_there(setup.root / ".git")) return {ok("course", "a copy without git's history: ./learn update needs that")};
  const auto commit = judge::ask({"git", "log", "-1", "--format=%h of %cs"}, setup.root);
  if (commit.exit_code != 0) {
    return {remark("course", "git cannot read its history", "git -C '" + setup.root.string() + "' log -1")};
  }
  return {ok("course", "version " + commit.output.substr(0, commit.output.find('\n')))};
}

Findings examine_folder(const Setup& setup) {
  const std::string folder = setup.root.string();
  const FileSystem file_system = file_system_of(setup.root);
  for (const std::string name : {".", "lessons", "build"}) {
    if (is_there(setup.root / name) && !is_writable(setup.root / name)) {
      return {wrong("folder", fs::weakly_canonical(setup.root / name).string() + " cannot be written to",
                    make_writable(setup, name))};
    }
  }
  if (!file_system.reports_saves) {
    return {remark("folder",
                   folder + " is on " + file_system.name +
                       ": saves made outside this machine go unnoticed by it, so files are compared instead",
                   copy_elsewhere(setup.root))};
  }
  return {ok("folder", folder + " on " + file_system.name)};
}

Findings examine_state(const Setup& setup) {
  const fs::path folder = setup.root / ".learn";
  const fs::path file = folder / "state.json";
  if (!is_there(folder)) return {ok("state", "nothing is saved in .learn/ yet")};
  if (!fs::is_directory(folder)) {
    return {wrong("state", ".learn is not a folder: nothing can be saved", "mv .learn .learn.old")};
  }
  if (!is_writable(folder)) {
    return {wrong("state", ".learn/ cannot be written to: nothing can be saved", make_writable(setup, ".learn"))};
  }
  if (!is_there(file)) return {ok("state", "nothing is saved in .learn/state.json yet")};
  std::ifstream in(file);
  if (!in) {
    return {wrong("state", ".learn/state.json cannot be read", make_writable(setup, ".learn/state.json"))};
  }
  if (!is_writable(file)) {
    return {wrong("state", ".learn/state.json cannot be written to", make_writable(setup, ".learn/state.json"))};
  }
  if (!nlohmann::json::accept(in)) {
    return {
        wrong("state", ".learn/state.json is damaged: it is not JSON", "mv .learn/state.json .learn/state.json.kept")};
  }
  return {ok("state", ".learn/state.json can be read")};
}

Findings examine_disk(const Setup& setup) {
  struct statvfs storage {};
  if (statvfs(setup.root.c_str(), &storage) != 0) return {remark("disk", "its free space is not known", "df -h .")};
  const double free_gigabytes = static_cast<double>(storage.f_bavail) * static_cast<double>(storage.f_frsize) / 1e9;
  const std::string is = with_one_digit(free_gigabytes) + " GB free";
  if (free_gigabytes < 0.05) return {wrong("disk", is + ": nothing can be built or saved", make_room(setup))};
  if (free_gigabytes < 1) return {remark("disk", is + ": the builds need most of one", make_room(setup))};
  return {ok("disk", is)};
}

Findings examine_clock(const Setup& setup) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::ostringstream is;
  is << "it is " << std::put_time(&local, "%Y-%m-%d %H:%M %Z");
  const std::string set_clock = as_root("timedatectl set-ntp true");
  if (local.tm_year + 1900 < 2024) return {wrong("clock", is.str() + ": that is years ago", set_clock)};
  const auto soon = fs::file_time_type::clock::now() + std::chrono::minutes(1);
  std::vector<std::string> files = {"CMakeLists.txt", "CMakePresets.json"};
  for (const auto& lesson : lesson::find_lessons(setup.root)) {
    for (const auto& file : lesson.stub_files()) files.push_back(file);
  }
  for (const auto& file : files) {
    std::error_code missing;
    const auto time = fs::last_write_time(setup.root / file, missing);
    if (missing || time <= soon) continue;
    return {wrong("clock", is.str() + ", but " + file + " was saved later than that: it would be built again and again",
                  "find . -newermt 'now + 1 minute' -exec touch {} +")};
  }
  return {ok("clock", is.str())};
}

}  // namespace attn::learn::checkup
