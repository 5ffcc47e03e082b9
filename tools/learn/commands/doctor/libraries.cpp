#include <algorithm>
#include <nlohmann/json.hpp>
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

}  // namespace attn::learn::checkup

namespace attn::learn {

std::vector<Finding> judge_probe(const std::string& answer, const std::string& preset) {
  const auto probe = nlohmann::json::parse(answer, nullptr, false);
  if (!probe.is_object()) {
    return {checkup::wrong("learn_probe does not answer as it should",
                           "ninja -C build/" + preset + " -t clean learn_probe")};
  }
  Finding armadillo = checkup::ok(version_in(probe.value("armadillo", "")));
  armadillo.what = "Armadillo";
  return {armadillo, checkup::judge_blas(probe, preset)};
}

}  // namespace attn::learn
