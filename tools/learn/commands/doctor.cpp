#include "learn/commands/doctor.hpp"

#include <langinfo.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>

#include "judge/process.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/lesson.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;

namespace {

using Findings = std::vector<Finding>;
using Values = std::map<std::string, std::string>;

Finding ok(const std::string& what, const std::string& is) { return {Finding::Kind::ok, what, is, ""}; }
Finding remark(const std::string& what, const std::string& is, const std::string& mend) {
  return {Finding::Kind::remark, what, is, mend};
}
Finding wrong(const std::string& what, const std::string& is, const std::string& mend) {
  return {Finding::Kind::wrong, what, is, mend};
}

bool is_wrong(const Finding& finding) { return finding.kind == Finding::Kind::wrong; }

// -------------------------------------------------------------------------------------------------- small questions

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

/// The first version number in a text, such as "3.25.1"; empty without one.
std::string version_in(const std::string& text) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("[0-9]+(\\.[0-9]+)+")) ? match.str() : "";
}

bool is_older(const std::string& version, int major, int minor) {
  int its_major = 0;
  int its_minor = 0;
  char dot = '.';
  std::istringstream(version) >> its_major >> dot >> its_minor;
  return std::pair(its_major, its_minor) < std::pair(major, minor);
}

std::string with_one_digit(double number) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(number < 10 ? 1 : 0) << number;
  return text.str();
}

std::string configure(const std::string& preset) { return "cmake --preset " + preset; }

// ------------------------------------------------------------------------------------------------------ the course

/// What is examined.
struct Course {
  fs::path root;
  std::string preset;
  fs::path build;  ///< the preset's build folder
  Values cache;    ///< CMakeCache.txt there; empty when it is not configured
  std::vector<std::string> compiler;
  Values macros;  ///< what the compiler defines and the libraries' headers; empty when it does not answer

  std::string cached(const std::string& name) const {
    const auto found = cache.find(name);
    return found == cache.end() ? "" : found->second;
  }
  std::string macro(const std::string& name) const {
    const auto found = macros.find(name);
    return found == macros.end() ? "" : found->second;
  }
  std::string version(const std::string& major, const std::string& minor, const std::string& patch) const {
    return macro(major) + "." + macro(minor) + "." + macro(patch);
  }
};

/// The lines NAME:TYPE=VALUE of a CMakeCache.txt.
Values read_cache(const fs::path& file) {
  Values values;
  std::ifstream in(file);
  for (std::string row; std::getline(in, row);) {
    const auto colon = row.find(':');
    const auto equals = row.find('=', colon);
    if (equals != std::string::npos && row[0] != '#') values[row.substr(0, colon)] = row.substr(equals + 1);
  }
  return values;
}

/// A library of which the course includes a header.
struct Library {
  const char* name;
  const char* package;
  const char* header;
  std::string (*version)(const Course&);  ///< null: learn_probe tells it
};

/// The macro by which ask_for_macros() says that the header was found.
std::string mark_of(const Library& library) {
  std::string mark = std::string("attn_has_") + library.package;
  std::replace(mark.begin(), mark.end(), '-', '_');
  return mark;
}

std::string gtest_version(const Course& course) {
  std::ifstream in(fs::path(course.cached("GTest_DIR")) / "GTestConfigVersion.cmake");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string version = version_in(text.str());
  return version.empty() ? "is there" : version;
}

const std::vector<Library> libraries = {
    {"Armadillo", "libarmadillo-dev", "armadillo", nullptr},
    {"OpenBLAS", "libopenblas-dev", "openblas_config.h", nullptr},
    {"GoogleTest", "libgtest-dev", "gtest/gtest.h", gtest_version},
    {"GoogleMock", "libgmock-dev", "gmock/gmock.h", gtest_version},
    {"CLI11", "libcli11-dev", "CLI/CLI.hpp",
     [](const Course& course) { return version_in(course.macro("CLI11_VERSION")); }},
    {"nlohmann/json", "nlohmann-json3-dev", "nlohmann/json.hpp", [](const Course& course) {
       return course.version("NLOHMANN_JSON_VERSION_MAJOR", "NLOHMANN_JSON_VERSION_MINOR",
                             "NLOHMANN_JSON_VERSION_PATCH");
     }}};

/// The compiler of the build folder, or else the one that CMake would take.
std::vector<std::string> find_compiler(const Course& course) {
  for (const auto& command :
       {words(course.cached("CMAKE_CXX_COMPILER")), words(environment("CXX")), {"c++"}, {"g++"}}) {
    if (!command.empty() && !find_program(command.front()).empty()) return command;
  }
  return {};
}

/// All macros that are defined after the headers whose versions are told by macros.
Values ask_for_macros(const Course& course) {
  std::string source;
  for (const auto& library : libraries) {
    const std::string header = std::string("<") + library.header + ">";
    source += "#if __has_include(" + header + ")\n#define " + mark_of(library) + "\n";
    const bool tells_version = library.version != nullptr && library.version != gtest_version;
    if (tells_version) source += "#include " + header + "\n";
    source += "#endif\n";
  }
  std::vector<std::string> command = course.compiler;
  command.insert(command.end(), {"-std=c++17", "-E", "-dM", "-x", "c++", "-"});
  std::istringstream in(judge::ask(command, "/", source).output);
  Values macros;
  std::string define;
  std::string name;
  for (std::string value; in >> define >> name && std::getline(in, value);) {
    macros[name] = value.empty() ? "" : value.substr(1);
  }
  return macros;
}

Course know(const fs::path& root, const std::string& preset) {
  Course course{root, preset, root / "build" / preset, {}, {}, {}};
  course.cache = read_cache(course.build / "CMakeCache.txt");
  course.compiler = find_compiler(course);
  if (!course.compiler.empty()) course.macros = ask_for_macros(course);
  return course;
}

// ---------------------------------------------------------------------------------------------- folders and storage

/// The line that copies the course to a better place.
std::string copy_elsewhere(const fs::path& root) {
  const fs::path home = environment("HOME");
  const bool home_will_do = is_writable(home) && file_system_of(home).tells_saves;
  return "cp -a '" + root.string() + "' " + (home_will_do ? "\"$HOME\"" : "/var/tmp");
}

/// The line that makes something readable and writable that was found not to be.
std::string make_ours(const Course& course, const std::string& name) {
  struct statvfs storage {};
  if (statvfs(course.root.c_str(), &storage) == 0 && (storage.f_flag & ST_RDONLY) != 0) {
    return copy_elsewhere(course.root);
  }
  struct stat status {};
  if (stat((course.root / name).c_str(), &status) == 0 && status.st_uid == geteuid()) return "chmod -R u+rw " + name;
  return as_root("chown -R " + std::to_string(geteuid()) + " " + name);
}

Findings examine_version(const Course& course) {
  const std::string mend = install("git");
  if (find_program("git").empty()) {
    return {remark("course", "its version is not known: git is not installed, which only ./learn update needs", mend)};
  }
  if (!is_there(course.root / ".git")) return {ok("course", "a copy without git's history: ./learn update needs that")};
  const auto commit = judge::ask({"git", "log", "-1", "--format=%h of %cs"}, course.root);
  if (commit.exit_code != 0) {
    return {remark("course", "git cannot read its history", "git -C '" + course.root.string() + "' log -1")};
  }
  return {ok("course", "version " + commit.output.substr(0, commit.output.find('\n')))};
}

Findings examine_folder(const Course& course) {
  const std::string folder = course.root.string();
  const FileSystem file_system = file_system_of(course.root);
  for (const std::string name : {".", "lessons", "build"}) {
    if (is_there(course.root / name) && !is_writable(course.root / name)) {
      return {wrong("folder", fs::weakly_canonical(course.root / name).string() + " cannot be written to",
                    make_ours(course, name))};
    }
  }
  if (!file_system.tells_saves) {
    return {remark("folder",
                   folder + " is on " + file_system.name +
                       ": a save made outside this machine is not told, one has to look for it",
                   copy_elsewhere(course.root))};
  }
  return {ok("folder", folder + " on " + file_system.name)};
}

Findings examine_state(const Course& course) {
  const fs::path folder = course.root / ".learn";
  const fs::path file = folder / "state.json";
  if (!is_there(folder)) return {ok("state", "nothing is saved in .learn/ yet")};
  if (!fs::is_directory(folder)) {
    return {wrong("state", ".learn is not a folder: nothing can be saved", "mv .learn .learn.old")};
  }
  if (!is_writable(folder)) {
    return {wrong("state", ".learn/ cannot be written to: nothing can be saved", make_ours(course, ".learn"))};
  }
  if (!is_there(file)) return {ok("state", "nothing is saved in .learn/state.json yet")};
  std::ifstream in(file);
  if (!in) {
    return {wrong("state", ".learn/state.json cannot be read", make_ours(course, ".learn/state.json"))};
  }
  if (!is_writable(file)) {
    return {wrong("state", ".learn/state.json cannot be written to", make_ours(course, ".learn/state.json"))};
  }
  if (!nlohmann::json::accept(in)) {
    return {
        wrong("state", ".learn/state.json is damaged: it is not JSON", "mv .learn/state.json .learn/state.json.kept")};
  }
  return {ok("state", ".learn/state.json can be read")};
}

/// The line that makes room: the course's other build folders first.
std::string make_room(const Course& course) {
  std::string others;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(course.root / "build", none)) {
    if (entry.path() != course.build) others += " build/" + entry.path().filename().string();
  }
  if (!others.empty()) return "rm -r" + others;
  return as_root("apt-get clean");
}

Findings examine_disk(const Course& course) {
  struct statvfs storage {};
  if (statvfs(course.root.c_str(), &storage) != 0) return {remark("disk", "its free space is not known", "df -h .")};
  const double free_gigabytes = static_cast<double>(storage.f_bavail) * static_cast<double>(storage.f_frsize) / 1e9;
  const std::string is = with_one_digit(free_gigabytes) + " GB free";
  if (free_gigabytes < 0.05) return {wrong("disk", is + ": nothing can be built or saved", make_room(course))};
  if (free_gigabytes < 1) return {remark("disk", is + ": the builds need most of one", make_room(course))};
  return {ok("disk", is)};
}

Findings examine_memory(const Course& course) {
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
                 "ninja -C build/" + course.preset + " -j 1 lessons")};
}

Findings examine_clock(const Course& course) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::ostringstream is;
  is << "it is " << std::put_time(&local, "%Y-%m-%d %H:%M %Z");
  const std::string set_clock = as_root("timedatectl set-ntp true");
  if (local.tm_year + 1900 < 2024) return {wrong("clock", is.str() + ": that is years ago", set_clock)};
  const auto soon = fs::file_time_type::clock::now() + std::chrono::minutes(1);
  std::vector<std::string> files = {"CMakeLists.txt", "CMakePresets.json"};
  for (const auto& lesson : lesson::find_lessons(course.root)) {
    for (const auto& file : lesson.stub_files()) files.push_back(file);
  }
  for (const auto& file : files) {
    std::error_code missing;
    const auto time = fs::last_write_time(course.root / file, missing);
    if (missing || time <= soon) continue;
    return {wrong("clock", is.str() + ", but " + file + " was saved later than that: it would be built again and again",
                  "find . -newermt 'now + 1 minute' -exec touch {} +")};
  }
  return {ok("clock", is.str())};
}

// --------------------------------------------------------------------------------------------- what builds the course

Findings examine_compiler(const Course& course) {
  if (course.compiler.empty()) return {wrong("compiler", "there is no C++ compiler", install("g++"))};
  const std::string path = find_program(course.compiler.front()).string();
  const bool is_clang = !course.macro("__clang__").empty();
  if (!is_clang && course.macro("__GNUC__").empty()) {
    return {wrong("compiler", path + " does not answer as g++ or clang++ would", install("g++"))};
  }
  // g++ 9 has std::filesystem in its library; clang 11 has -fpch-instantiate-templates
  const std::string version = is_clang ? course.version("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
                                       : course.version("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__");
  const std::string is = (is_clang ? "clang++ " : "g++ ") + version;
  if (is_older(version, is_clang ? 11 : 9, 0)) {
    return {wrong("compiler", is + " at " + path + " is too old: g++ 9 or clang++ 11 is needed", install("g++"))};
  }
  if (is_older(version, is_clang ? 14 : 12, 0)) {
    return {remark("compiler", is + " at " + path + ": the course was only tried with g++ 12 and clang++ 14 or newer",
                   install("g++"))};
  }
  return {ok("compiler", is + " at " + path)};
}

Findings examine_libraries(const Course& course) {
  Findings findings;
  if (course.macros.empty()) return findings;  // nobody to ask; that is said of the compiler
  for (const auto& library : libraries) {
    if (course.macros.count(mark_of(library)) == 0) {
      findings.push_back(
          wrong(library.name, std::string("<") + library.header + "> is not found", install(library.package)));
    } else if (library.version != nullptr) {
      findings.push_back(ok(library.name, library.version(course)));
    }
  }
  return findings;
}

Findings examine_cmake(const Course&) {
  const auto path = find_program("cmake");
  if (path.empty()) return {wrong("CMake", "it is not installed", install("cmake"))};
  const std::string version = version_in(judge::ask({path, "--version"}, "/").output);
  if (version.empty()) return {wrong("CMake", path.string() + " does not tell its version", install("cmake"))};
  if (!is_older(version, 3, 25)) return {ok("CMake", version)};
  return {wrong("CMake", version + " at " + path.string() + " is too old: 3.25 is needed (Debian 12 has it)",
                install("cmake"))};
}

Findings examine_ninja(const Course&) {
  const auto path = find_program("ninja");
  if (path.empty()) return {wrong("Ninja", "it is not installed", install("ninja-build"))};
  const std::string version = version_in(judge::ask({path, "--version"}, "/").output);
  if (version.empty()) return {wrong("Ninja", path.string() + " does not tell its version", install("ninja-build"))};
  return {ok("Ninja", version)};
}

Findings examine_linker(const Course& course) {
  for (const std::string name : {"ATTN_LLD", "ATTN_GOLD"}) {  // as cmake/Dependencies.cmake found them
    const std::string linker = course.cached(name);
    if (linker.rfind('/', 0) == 0 && !is_there(linker)) {
      return {wrong("linker", "the build links with " + linker + ", which is not there any more",
                    configure(course.preset) + " -U " + name)};
    }
  }
  const bool has_lld = !find_program("ld.lld").empty();
  if (has_lld && course.cached("ATTN_LLD") == "ATTN_LLD-NOTFOUND") {
    return {remark("linker", "lld is there, but the build does not use it yet", configure(course.preset))};
  }
  if (has_lld) return {ok("linker", "lld")};
  if (!find_program("ld.gold").empty()) return {ok("linker", "gold")};
  return {remark("linker", "the default one; a quicker one saves up to 0.4 s each time", install("lld"))};
}

/// The folder of the course whose tool this is, when that is not the folder it runs from: a copied course whose build
/// folder was copied with it goes on working on the first one.
fs::path run_from(const Course& course) {
  std::error_code unknown;
  const fs::path tool = fs::canonical("/proc/self/exe", unknown);
  const fs::path folder = tool.parent_path();
  const bool is_tool = tool.filename() == "learn" && folder.parent_path().filename() == "build";
  if (!is_tool || folder.filename() != course.preset) return {};
  return fs::equivalent(folder, course.build, unknown) ? fs::path() : folder.parent_path().parent_path();
}

Findings examine_build(const Course& course) {
  const std::string name = "build/" + course.preset;
  const std::string remove = "rm -r " + name;
  if (const fs::path other = run_from(course); !other.empty()) {
    return {wrong("build", "this tool works on " + course.root.string() + ": its build folder was copied from there",
                  "rm -r '" + (other / name).string() + "'")};
  }
  if (!is_there(course.build)) return {remark("build", name + " is not set up yet", configure(course.preset))};
  if (!is_writable(course.build)) return {wrong("build", name + " cannot be written to", make_ours(course, name))};
  if (course.cache.empty()) return {wrong("build", name + " is not configured", configure(course.preset))};
  const std::string home = course.cached("CMAKE_HOME_DIRECTORY");
  if (fs::weakly_canonical(home) != fs::weakly_canonical(course.root)) {
    return {wrong("build", name + " was configured for " + home + ": the course was moved or copied", remove)};
  }
  const std::string compiler = course.cached("CMAKE_CXX_COMPILER");
  if (find_program(compiler).empty()) {
    return {wrong("build", name + " was configured with " + compiler + ", which is not there any more", remove)};
  }
  if (course.cached("CMAKE_GENERATOR") != "Ninja") {
    return {
        wrong("build", name + " was configured for " + course.cached("CMAKE_GENERATOR") + ", not for Ninja", remove)};
  }
  if (!is_there(course.build / "build.ninja")) {
    return {wrong("build", name + " is configured only in part", configure(course.preset))};
  }
  return {ok("build", name + ", configured with " + compiler)};
}

// ------------------------------------------------------------------------------------------- Armadillo and OpenBLAS

/// The first line of a compiler's or linker's output that says error.
std::string first_error(const std::string& output) {
  std::istringstream in(output);
  std::string first;
  for (std::string row; std::getline(in, row);) {
    if (first.empty()) first = row;
    if (row.find("error") != std::string::npos) return row;
  }
  return first;
}

Findings examine_blas(const Course& course) {
  const std::string by_hand = "ninja -C build/" + course.preset + " learn_probe";
  const auto built = build(course.root, course.preset, "learn_probe");
  if (!built.ok) {
    return {wrong("OpenBLAS",
                  "a program with Armadillo and OpenBLAS cannot be built: " + first_error(built.compiler_says),
                  by_hand)};
  }
  const fs::path program = course.build / "learn_probe";
  const auto answer = judge::ask({program}, course.root);
  if (answer.exit_code != 0) {
    return {wrong("OpenBLAS",
                  "a program with Armadillo and OpenBLAS ends with exit code " + std::to_string(answer.exit_code),
                  program.lexically_relative(course.root).string())};
  }
  return judge_probe(answer.output, course.preset);
}

/// The variable that keeps OpenBLAS from using all processors, if there is one.
std::string thread_limit() {
  for (const std::string name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (!environment(name).empty()) return name;
  }
  return {};
}

// ------------------------------------------------------------------------------------- the editor and the terminal

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

Findings examine_editor(const Course& course) {
  const fs::path file = course.root / "compile_commands.json";
  const std::string consequence = ": the editor will not find Armadillo";
  const std::string mend = configure("dev");
  std::error_code none;
  if (!is_there(file)) {
    const fs::path target = fs::read_symlink(file, none);
    const std::string where = none ? " is not there" : " leads to " + target.string() + ", which is not there";
    return {wrong("editor", "compile_commands.json" + where + consequence, mend)};
  }
  std::vector<std::string> missing;
  try {
    missing = files_not_in(lesson::read_json(file), course.root);
  } catch (const std::exception&) {
    return {wrong("editor", "compile_commands.json is damaged" + consequence, mend)};
  }
  if (!missing.empty()) {
    const std::string others = missing.size() == 1 ? "" : " and " + std::to_string(missing.size() - 1) + " more";
    return {wrong("editor", "compile_commands.json does not know " + missing.front() + others + consequence, mend)};
  }
  if (!fs::equivalent(file, course.root / "build" / "dev" / "compile_commands.json", none)) {
    return {remark("editor", "compile_commands.json is not that of build/dev, which ./learn builds", mend)};
  }
  return {ok("editor", "compile_commands.json knows every lesson's files")};
}

Findings examine_clangd(const Course&) {
  if (find_program("clangd").empty()) {
    return {remark("clangd", "it is not installed: many editors show errors while you type with its help",
                   install("clangd"))};
  }
  return {ok("clangd", version_in(judge::ask({"clangd", "--version"}, "/").output))};
}

/// The line that chooses an editor that is there, or installs one.
std::string choose_editor(const std::string& variable) {
  for (const std::string editor : {"nano", "vim", "vi", "emacs", "code"}) {
    if (!find_program(editor).empty()) return "export " + variable + "=" + editor;
  }
  return install("nano");
}

Findings examine_chosen_editor(const Course&) {
  const std::string variable = environment("VISUAL").empty() ? "EDITOR" : "VISUAL";
  const auto command = words(environment(variable));
  if (command.empty()) return {remark("EDITOR", "neither VISUAL nor EDITOR is set", choose_editor(variable))};
  if (find_program(command.front()).empty()) {
    return {remark("EDITOR", variable + " is " + command.front() + ", which is not there", choose_editor(variable))};
  }
  return {ok("EDITOR", variable + " is " + environment(variable))};
}

Findings examine_locale(const Course&) {
  std::string name;
  for (const auto& variable : {"LANG", "LC_CTYPE", "LC_ALL"}) {
    if (!environment(variable).empty()) name = environment(variable);
  }
  if (name.empty()) return {ok("locale", "none is set: taken as UTF-8")};
  const std::string mend = "export LC_ALL=C.UTF-8";
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr)
    return {remark("locale", name + " is not installed: other programs may write symbols in ASCII", mend)};
  const std::string encoding = nl_langinfo_l(CODESET, locale);
  freelocale(locale);
  if (encoding != "UTF-8") {
    return {remark("locale", name + " is " + encoding + ", not UTF-8: symbols are written in ASCII", mend)};
  }
  return {ok("locale", name)};
}

Findings examine_terminal(const Course&) {
  const std::size_t columns = terminal_columns();
  if (columns == 0) return {ok("terminal", "none")};
  const std::string is = std::to_string(columns) + " columns";
  if (columns >= 60) return {ok("terminal", is)};
  return {remark("terminal", is + ": lines are broken or cut", "make the window at least 60 columns wide")};
}

/// Only authors need PyTorch, so that nothing is said when it is not there.
Findings examine_pytorch(const Course&) {
  std::ifstream in("/usr/lib/python3/dist-packages/torch/version.py");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string version = version_in(text.str());
  if (version.empty()) return {};
  return {ok("PyTorch", version + ", for authors: it makes the golden values")};
}

// ------------------------------------------------------------------------------------------------------------ all

struct Examination {
  const char* what;
  Findings (*look)(const Course&);
};

const std::vector<Examination> basics = {{"folder", examine_folder},       {"compiler", examine_compiler},
                                         {"libraries", examine_libraries}, {"CMake", examine_cmake},
                                         {"Ninja", examine_ninja},         {"linker", examine_linker},
                                         {"build", examine_build}};

const std::vector<Examination> surroundings = {
    {"editor", examine_editor},  {"clangd", examine_clangd},     {"EDITOR", examine_chosen_editor},
    {"locale", examine_locale},  {"terminal", examine_terminal}, {"state", examine_state},
    {"disk", examine_disk},      {"memory", examine_memory},     {"clock", examine_clock},
    {"PyTorch", examine_pytorch}};

void add(Findings& findings, const Examination& examination, const Course& course) {
  try {
    for (auto& finding : examination.look(course)) findings.push_back(std::move(finding));
  } catch (const std::exception& error) {
    findings.push_back(wrong(examination.what, std::string("cannot be looked at: ") + error.what(), "./learn doctor"));
  }
}

}  // namespace

std::vector<Finding> examine(const fs::path& root, const std::string& preset) {
  const Course course = know(root, preset);
  Findings findings;
  add(findings, {"course", examine_version}, course);
  for (const auto& examination : basics) add(findings, examination, course);
  if (std::none_of(findings.begin(), findings.end(), is_wrong) && is_there(course.build)) {
    add(findings, {"OpenBLAS", examine_blas}, course);
  } else {
    findings.push_back(remark("OpenBLAS", "not tried before the above is mended", "./learn doctor"));
  }
  for (const auto& examination : surroundings) add(findings, examination, course);
  return findings;
}

std::vector<Finding> judge_probe(const std::string& answer, const std::string& preset) {
  const auto probe = nlohmann::json::parse(answer, nullptr, false);
  if (!probe.is_object()) {
    return {wrong("OpenBLAS", "learn_probe does not answer as it should",
                  "ninja -C build/" + preset + " -t clean learn_probe")};
  }
  const std::string file = probe.value("blas", "");
  const double in_double = probe.value("dgemm", 0.0);
  Findings findings = {ok("Armadillo", version_in(probe.value("armadillo", "")))};
  if (!probe.value("is_openblas", false)) {
    const bool other_folders = !environment("LD_PRELOAD").empty() || !environment("LD_LIBRARY_PATH").empty();
    findings.push_back(
        wrong("OpenBLAS", file + " is loaded, which is not OpenBLAS",
              other_folders ? "unset LD_PRELOAD LD_LIBRARY_PATH" : configure(preset) + " -U ATTN_OPENBLAS"));
    return findings;
  }
  const int threads = probe.value("threads", 1);
  const std::string is = version_in(probe.value("config", "")) + " for " + probe.value("core", "") + ", " +
                         std::to_string(threads) + (threads == 1 ? " thread" : " threads") + ", " +
                         with_one_digit(in_double) + " GFLOP/s in double and " +
                         with_one_digit(probe.value("sgemm", 0.0)) + " in float: " + file;
  const std::string limit = thread_limit();
  if (in_double < 2) {
    const bool wrong_core = !environment("OPENBLAS_CORETYPE").empty();
    findings.push_back(remark(
        "OpenBLAS",
        is + "; that is slow: " + (wrong_core ? "OPENBLAS_CORETYPE is set" : "was the machine busy? Look again later"),
        wrong_core ? "unset OPENBLAS_CORETYPE" : "./learn doctor"));
  } else if (!limit.empty()) {
    findings.push_back(remark("OpenBLAS", is + "; " + limit + " is " + environment(limit), "unset " + limit));
  } else {
    findings.push_back(ok("OpenBLAS", is));
  }
  return findings;
}

void print(const std::vector<Finding>& findings, std::size_t columns, std::ostream& out) {
  constexpr std::size_t kind_width = 9;
  constexpr std::size_t what_width = 15;
  const std::size_t margin = kind_width + what_width;
  const std::string indent(margin, ' ');
  const std::map<Finding::Kind, const char*> kinds = {
      {Finding::Kind::ok, "ok"}, {Finding::Kind::remark, "remark"}, {Finding::Kind::wrong, "wrong"}};
  for (const auto& finding : findings) {
    std::ostringstream first;
    first << std::left << std::setw(kind_width) << kinds.at(finding.kind) << std::setw(what_width) << finding.what;
    std::string before = first.str();
    for (const auto& row : wrapped(finding.is, static_cast<int>(std::max(columns, margin + 20) - margin))) {
      out << before << row << "\n";
      before = indent;
    }
    if (!finding.mend.empty()) out << indent << "mend: " << finding.mend << "\n";  // in one piece, to be copied
  }
  const auto count = std::count_if(findings.begin(), findings.end(), is_wrong);
  out << "\n"
      << (count == 0   ? "Nothing is wrong."
          : count == 1 ? "1 thing is wrong: see \"mend\" above."
                       : std::to_string(count) + " things are wrong: see \"mend\" above.")
      << "\n";
}

int doctor(const fs::path& root, std::ostream& out) {
  const bool is_first = !is_there(root / "build" / "dev" / "learn_probe");
  if (is_first) out << "Looking at this machine (some seconds, once) ...\n" << std::flush;
  const auto findings = examine(root);
  const std::size_t columns = terminal_columns();
  print(findings, columns == 0 ? 100 : std::min<std::size_t>(columns, 100), out);
  return std::any_of(findings.begin(), findings.end(), is_wrong) ? 1 : 0;
}

}  // namespace attn::learn
