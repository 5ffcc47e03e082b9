#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// A library of which the course includes a header.
struct Library {
  const char* name;
  const char* package;
  const char* header;
  std::vector<std::string> version;  ///< the macros that make it up
  const char* config = nullptr;      ///< the variable of CMake's with the folder that has it, where no macro does
};

const std::vector<Library> libraries = {
    {"Armadillo", "libarmadillo-dev", "armadillo", {}},  // learn_probe reports the versions of these two
    {"OpenBLAS", "libopenblas-dev", "openblas_config.h", {}},
    {"GoogleTest", "libgtest-dev", "gtest/gtest.h", {}, "GTest_DIR"},
    {"GoogleMock", "libgmock-dev", "gmock/gmock.h", {}, "GTest_DIR"},
    {"CLI11", "libcli11-dev", "CLI/CLI.hpp", {"CLI11_VERSION"}},
    {"nlohmann/json",
     "nlohmann-json3-dev",
     "nlohmann/json.hpp",
     {"NLOHMANN_JSON_VERSION_MAJOR", "NLOHMANN_JSON_VERSION_MINOR", "NLOHMANN_JSON_VERSION_PATCH"}},
    {"PCRE2", "libpcre2-dev", "pcre2.h", {"PCRE2_MAJOR", "PCRE2_MINOR"}},
    {"utf8proc",
     "libutf8proc-dev",
     "utf8proc.h",
     {"UTF8PROC_VERSION_MAJOR", "UTF8PROC_VERSION_MINOR", "UTF8PROC_VERSION_PATCH"}}};

/// The macro that library_macros() defines when the header was found.
std::string mark_of(const Library& library) { return "attn_has_" + replaced(library.package, "-", "_"); }

std::string version_of(const Library& library, const Setup& setup) {
  if (library.config == nullptr) return version_in(setup.version(library.version));
  const std::string version = version_in(text_in(setup.cached(library.config) + "/GTestConfigVersion.cmake"));
  return version.empty() ? "is there" : version;
}

/// The lines NAME:TYPE=VALUE of a CMakeCache.txt; none where there is no such file.
Values read_cache(const fs::path& file) {
  Values values;
  for (const auto& row : lines_of(text_in(file))) {
    const auto colon = row.find(':');
    const auto equals = row.find('=', colon);
    if (equals != std::string::npos && row[0] != '#') values[row.substr(0, colon)] = row.substr(equals + 1);
  }
  return values;
}

std::string value_in(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

/// The compiler of the build folder, or else the one that CMake would take.
std::vector<std::string> find_compiler(const Setup& setup) {
  for (const auto& command : {words(setup.cached("CMAKE_CXX_COMPILER")), words(environment("CXX")), {"c++"}, {"g++"}}) {
    if (!command.empty() && !find_program(command.front()).empty()) return command;
  }
  return {};
}

/// All macros that are defined after the headers whose versions are in macros, as the compiler reports them.
Values library_macros(const Setup& setup) {
  std::string source = "#define PCRE2_CODE_UNIT_WIDTH 8\n";  // without it pcre2.h is an error
  for (const auto& library : libraries) {
    const std::string header = std::string("<") + library.header + ">";
    source += "#if __has_include(" + header + ")\n#define " + mark_of(library) + "\n";
    if (!library.version.empty()) source += "#include " + header + "\n";
    source += "#endif\n";
  }
  std::vector<std::string> command = setup.compiler;
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

/// The course that the tool runs from, when its build folder was copied from the examined one: such a tool still works on
/// the course it was built for. Not a tool that was built where it is, and pointed at another course with --root.
fs::path copied_to(const Setup& setup) {
  std::error_code unknown;
  const fs::path tool = fs::canonical("/proc/self/exe", unknown);
  const fs::path folder = tool.parent_path();
  const bool is_tool = tool.filename() == "learn" && folder.parent_path().filename() == "build";
  if (!is_tool || folder.filename() != setup.preset) return {};
  const fs::path course = folder.parent_path().parent_path();
  const std::string configured_for = value_in(read_cache(folder / "CMakeCache.txt"), "CMAKE_HOME_DIRECTORY");
  const bool built_here = fs::equivalent(configured_for, course, unknown);
  return built_here || fs::equivalent(folder, setup.build, unknown) ? fs::path() : course;
}

bool is_older(const std::string& version, int major, int minor) {
  int its_major = 0;
  int its_minor = 0;
  char dot = '.';
  std::istringstream(version) >> its_major >> dot >> its_minor;
  return std::pair(its_major, its_minor) < std::pair(major, minor);
}

/// A program that reports its version, which has to be at least this one.
Finding examine_tool(const char* program, const char* package, int major, int minor) {
  const auto path = find_program(program);
  if (path.empty()) return wrong("it is not installed", install(package));
  const std::string version = version_in(judge::ask({path, "--version"}, "/").output);
  if (version.empty()) return wrong(path.string() + " does not report its version", install(package));
  if (!is_older(version, major, minor)) return ok(version);
  const std::string oldest = std::to_string(major) + "." + std::to_string(minor);
  return wrong(version + " at " + path.string() + " is too old: " + oldest + " is needed (Debian 12 has it)",
               install(package));
}

/// The first line of a compiler's or linker's output with the word error, or else the first.
std::string first_error(const std::string& output) {
  const auto rows = lines_of(output);
  for (const auto& row : rows) {
    if (row.find("error") != std::string::npos) return row;
  }
  return rows.empty() ? "" : rows.front();
}

/// The variable that keeps OpenBLAS from using all processors, if there is one.
std::string thread_limit() {
  for (const std::string name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (!environment(name).empty()) return name;
  }
  return {};
}

/// What the answer of learn_probe says about OpenBLAS.
Finding judge_blas(const nlohmann::json& probe, const std::string& preset) {
  const std::string file = probe.value("blas", "");
  if (!probe.value("is_openblas", false)) {
    const bool other_folders = !environment("LD_PRELOAD").empty() || !environment("LD_LIBRARY_PATH").empty();
    return wrong(file + " is loaded, which is not OpenBLAS",
                 other_folders ? "unset LD_PRELOAD LD_LIBRARY_PATH" : configure(preset) + " -U ATTN_OPENBLAS");
  }
  const double in_double = probe.value("dgemm", 0.0);
  const std::string is = version_in(probe.value("config", "")) + " for " + probe.value("core", "") + ", " +
                         counted(probe.value("threads", 1), "thread") + ", " + with_one_digit(in_double) +
                         " GFLOP/s in double and " + with_one_digit(probe.value("sgemm", 0.0)) + " in float: " + file;
  if (in_double < 2) {
    const bool wrong_core = !environment("OPENBLAS_CORETYPE").empty();
    return wrong_core ? remark(is + "; that is slow: OPENBLAS_CORETYPE is set", "unset OPENBLAS_CORETYPE")
                      : remark(is + "; that is slow: was the machine busy? Look again later", "./learn doctor");
  }
  const std::string limit = thread_limit();
  return limit.empty() ? ok(is) : remark(is + "; " + limit + " is " + environment(limit), "unset " + limit);
}

}  // namespace

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;
  return fs::exists(path, unreadable);
}

std::string version_in(const std::string& text) {
  std::smatch match;
  return std::regex_search(text, match, std::regex("[0-9]+(\\.[0-9]+)+")) ? match.str() : "";
}

std::string text_in(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string with_one_digit(double number) { return with_decimals(number, number < 10 ? 1 : 0); }

Setup::Setup(const fs::path& course, const std::string& its_preset)
    : root(course),
      preset(its_preset),
      build(build_folder(root, preset)),
      cache(read_cache(build / "CMakeCache.txt")),
      compiler(find_compiler(*this)) {
  if (!compiler.empty()) macros = library_macros(*this);
}

std::string Setup::cached(const std::string& name) const { return value_in(cache, name); }

std::string Setup::macro(const std::string& name) const { return value_in(macros, name); }

std::string Setup::version(const std::vector<std::string>& names) const {
  std::vector<std::string> numbers;
  for (const auto& name : names) numbers.push_back(macro(name));
  return joined(numbers, ".");
}

Finding examine_compiler(const Setup& setup) {
  if (setup.compiler.empty()) return wrong("there is no C++ compiler", install("g++"));
  const std::string path = find_program(setup.compiler.front()).string();
  const bool is_clang = !setup.macro("__clang__").empty();
  if (!is_clang && setup.macro("__GNUC__").empty()) {
    return wrong(path + " does not answer as g++ or clang++ would", install("g++"));
  }
  // g++ 9 has std::filesystem in its library; clang 11 has -fpch-instantiate-templates
  const std::string version = is_clang ? setup.version({"__clang_major__", "__clang_minor__", "__clang_patchlevel__"})
                                       : setup.version({"__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"});
  const std::string is = (is_clang ? "clang++ " : "g++ ") + version + " at " + path;
  if (is_older(version, is_clang ? 11 : 9, 0)) {
    return wrong(is + " is too old: g++ 9 or clang++ 11 is needed", install("g++"));
  }
  if (is_older(version, is_clang ? 14 : 12, 0)) {
    return remark(is + ": the course was only tried with g++ 12 and clang++ 14 or newer", install("g++"));
  }
  return ok(is);
}

Findings examine_libraries(const Setup& setup) {
  Findings findings;
  if (setup.macros.empty()) return findings;  // examine_compiler() reports why
  for (const auto& library : libraries) {
    const bool found = setup.macros.count(mark_of(library)) != 0;
    if (found && library.version.empty() && library.config == nullptr) continue;
    findings.push_back(found ? ok(version_of(library, setup))
                             : wrong(std::string("<") + library.header + "> is not found", install(library.package)));
    findings.back().what = library.name;
  }
  return findings;
}

Findings examine_blas(const Setup& setup) {
  const auto built = build(setup.root, setup.preset, "learn_probe");
  if (!built.ok) {
    return {wrong("a program with Armadillo and OpenBLAS cannot be built: " + first_error(built.output),
                  "ninja -C build/" + setup.preset + " learn_probe")};
  }
  const fs::path program = setup.build / "learn_probe";
  const auto answer = judge::ask({program}, setup.root);
  if (answer.exit_code != 0) {
    return {wrong("a program with Armadillo and OpenBLAS ends with exit code " + std::to_string(answer.exit_code),
                  program.lexically_relative(setup.root).string())};
  }
  return judge_probe(answer.output, setup.preset);
}

Findings judge_probe(const std::string& answer, const std::string& preset) {
  const auto probe = nlohmann::json::parse(answer, nullptr, false);
  if (!probe.is_object()) {
    return {wrong("learn_probe does not answer as it should", "ninja -C build/" + preset + " -t clean learn_probe")};
  }
  Finding armadillo = ok(version_in(probe.value("armadillo", "")));
  armadillo.what = "Armadillo";
  return {armadillo, judge_blas(probe, preset)};
}

Finding examine_cmake(const Setup&) { return examine_tool("cmake", "cmake", 3, 25); }

Finding examine_ninja(const Setup&) { return examine_tool("ninja", "ninja-build", 0, 0); }

Finding examine_linker(const Setup& setup) {
  for (const std::string name : {"ATTN_LLD", "ATTN_GOLD"}) {  // as cmake/Dependencies.cmake found them
    const std::string linker = setup.cached(name);
    if (begins_with(linker, "/") && !is_there(linker)) {
      return wrong("the build links with " + linker + ", which is no longer there",
                   configure(setup.preset) + " -U " + name);
    }
  }
  const bool has_lld = !find_program("ld.lld").empty();
  if (has_lld && setup.cached("ATTN_LLD") == "ATTN_LLD-NOTFOUND") {
    return remark("lld is there, but the build does not use it yet", configure(setup.preset));
  }
  if (has_lld) return ok("lld");
  if (!find_program("ld.gold").empty()) return ok("gold");
  return remark("the default one; a faster one saves up to 0.4 s each time", install("lld"));
}

Finding examine_build(const Setup& setup) {
  const std::string name = "build/" + setup.preset;
  const std::string remove = "rm -r " + name;
  if (const fs::path other = copied_to(setup); !other.empty()) {
    return wrong("this tool works on " + setup.root.string() + ": its build folder was copied from there",
                 "rm -r '" + (other / name).string() + "'");
  }
  if (!is_there(setup.build)) return remark(name + " is not set up yet", configure(setup.preset));
  if (!is_writable(setup.build)) return wrong(name + " cannot be written to", make_writable(setup, name));
  if (setup.cache.empty()) return wrong(name + " is not configured", configure(setup.preset));
  const std::string home = setup.cached("CMAKE_HOME_DIRECTORY");
  if (fs::weakly_canonical(home) != fs::weakly_canonical(setup.root)) {
    return wrong(name + " was configured for " + home + ": the course was moved or copied", remove);
  }
  const std::string compiler = setup.cached("CMAKE_CXX_COMPILER");
  if (find_program(compiler).empty()) {
    return wrong(name + " was configured with " + compiler + ", which is no longer there", remove);
  }
  if (const std::string generator = setup.cached("CMAKE_GENERATOR"); generator != "Ninja") {
    return wrong(name + " was configured for " + generator + ", not for Ninja", remove);
  }
  if (!is_there(setup.build / "build.ninja"))
    return wrong(name + " is configured only in part", configure(setup.preset));
  return ok(name + ", configured with " + compiler);
}

}  // namespace attn::learn::checkup
