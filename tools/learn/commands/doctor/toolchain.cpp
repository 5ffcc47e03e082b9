

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/machine.hpp"
#include "run/process.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// The course that the tool runs from, when its build folder was copied from the examined one: such a tool still works on
/// the course it was built for. Not a tool that was built where it is, and pointed at another course with --root.
fs::path copied_to(const Setup& setup) {
  std::error_code unknown;
  const fs::path tool = fs::canonical("/proc/self/exe", unknown);
  const fs::path folder = tool.parent_path();
  const bool is_tool = tool.filename() == "learn" && folder.parent_path().filename() == "build";
  if (!is_tool || folder.filename() != setup.preset) return {};
  const fs::path course = folder.parent_path().parent_path();
  const Values cache = read_cache(folder / "CMakeCache.txt");
  const auto configured_for = cache.find("CMAKE_HOME_DIRECTORY");
  const bool built_here = configured_for != cache.end() && fs::equivalent(configured_for->second, course, unknown);
  return built_here || fs::equivalent(folder, setup.build, unknown) ? fs::path() : course;
}

/// A program that reports its version, which has to be at least this one.
Finding examine_tool(const char* what, const char* program, const char* package, int major, int minor) {
  const auto path = find_program(program);
  if (path.empty()) return wrong(what, "it is not installed", install(package));
  const std::string version = version_in(judge::ask({path, "--version"}, "/").output);
  if (version.empty()) return wrong(what, path.string() + " does not report its version", install(package));
  if (!is_older(version, major, minor)) return ok(what, version);
  const std::string oldest = std::to_string(major) + "." + std::to_string(minor);
  return wrong(what, version + " at " + path.string() + " is too old: " + oldest + " is needed (Debian 12 has it)",
               install(package));
}

}  // namespace

Findings examine_compiler(const Setup& setup) {
  if (setup.compiler.empty()) return {wrong("compiler", "there is no C++ compiler", install("g++"))};
  const std::string path = find_program(setup.compiler.front()).string();
  const bool is_clang = !setup.macro("__clang__").empty();
  if (!is_clang && setup.macro("__GNUC__").empty()) {
    return {wrong("compiler", path + " does not answer as g++ or clang++ would", install("g++"))};
  }
  // g++ 9 has std::filesystem in its library; clang 11 has -fpch-instantiate-templates
  const std::string version = is_clang ? setup.version("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
                                       : setup.version("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__");
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

Findings examine_cmake(const Setup&) { return {examine_tool("CMake", "cmake", "cmake", 3, 25)}; }

Findings examine_ninja(const Setup&) { return {examine_tool("Ninja", "ninja", "ninja-build", 0, 0)}; }

Findings examine_linker(const Setup& setup) {
  for (const std::string name : {"ATTN_LLD", "ATTN_GOLD"}) {  // as cmake/Dependencies.cmake found them
    const std::string linker = setup.cached(name);
    if (linker.rfind('/', 0) == 0 && !is_there(linker)) {
      return {wrong("linker", "the build links with " + linker + ", which is no longer there",
                    configure(setup.preset) + " -U " + name)};
    }
  }
  const bool has_lld = !find_program("ld.lld").empty();
  if (has_lld && setup.cached("ATTN_LLD") == "ATTN_LLD-NOTFOUND") {
    return {remark("linker", "lld is there, but the build does not use it yet", configure(setup.preset))};
  }
  if (has_lld) return {ok("linker", "lld")};
  if (!find_program("ld.gold").empty()) return {ok("linker", "gold")};
  return {remark("linker", "the default one; a faster one saves up to 0.4 s each time", install("lld"))};
}

Findings examine_build(const Setup& setup) {
  const std::string name = "build/" + setup.preset;
  const std::string remove = "rm -r " + name;
  if (const fs::path other = copied_to(setup); !other.empty()) {
    return {wrong("build", "this tool works on " + setup.root.string() + ": its build folder was copied from there",
                  "rm -r '" + (other / name).string() + "'")};
  }
  if (!is_there(setup.build)) return {remark("build", name + " is not set up yet", configure(setup.preset))};
  if (!is_writable(setup.build)) return {wrong("build", name + " cannot be written to", make_writable(setup, name))};
  if (setup.cache.empty()) return {wrong("build", name + " is not configured", configure(setup.preset))};
  const std::string home = setup.cached("CMAKE_HOME_DIRECTORY");
  if (fs::weakly_canonical(home) != fs::weakly_canonical(setup.root)) {
    return {wrong("build", name + " was configured for " + home + ": the course was moved or copied", remove)};
  }
  const std::string compiler = setup.cached("CMAKE_CXX_COMPILER");
  if (find_program(compiler).empty()) {
    return {wrong("build", name + " was configured with " + compiler + ", which is no longer there", remove)};
  }
  if (setup.cached("CMAKE_GENERATOR") != "Ninja") {
    return {
        wrong("build", name + " was configured for " + setup.cached("CMAKE_GENERATOR") + ", not for Ninja", remove)};
  }
  if (!is_there(setup.build / "build.ninja")) {
    return {wrong("build", name + " is configured only in part", configure(setup.preset))};
  }
  return {ok("build", name + ", configured with " + compiler)};
}

}  // namespace attn::learn::checkup
