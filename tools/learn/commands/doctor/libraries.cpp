#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "run/process.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

namespace {

/// A library of which the course includes a header.
struct Library {
  const char* name;
  const char* package;
  const char* header;
  std::string (*version)(const Setup&);  ///< null: learn_probe reports it
};

/// The macro that library_macros() defines when the header was found.
std::string mark_of(const Library& library) {
  std::string mark = std::string("attn_has_") + library.package;
  std::replace(mark.begin(), mark.end(), '-', '_');
  return mark;
}

std::string gtest_version(const Setup& setup) {
  std::ifstream in(fs::path(setup.cached("GTest_DIR")) / "GTestConfigVersion.cmake");
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
     [](const Setup& setup) { return version_in(setup.macro("CLI11_VERSION")); }},
    {"nlohmann/json", "nlohmann-json3-dev", "nlohmann/json.hpp",
     [](const Setup& setup) {
       return setup.version("NLOHMANN_JSON_VERSION_MAJOR", "NLOHMANN_JSON_VERSION_MINOR",
                            "NLOHMANN_JSON_VERSION_PATCH");
     }},
    {"PCRE2", "libpcre2-dev", "pcre2.h",
     [](const Setup& setup) { return setup.macro("PCRE2_MAJOR") + "." + setup.macro("PCRE2_MINOR"); }},
    {"utf8proc", "libutf8proc-dev", "utf8proc.h", [](const Setup& setup) {
       return setup.version("UTF8PROC_VERSION_MAJOR", "UTF8PROC_VERSION_MINOR", "UTF8PROC_VERSION_PATCH");
     }}};

/// The first line of a compiler's or linker's output with the word error.
std::string first_error(const std::string& output) {
  std::istringstream in(output);
  std::string first;
  for (std::string row; std::getline(in, row);) {
    if (first.empty()) first = row;
    if (row.find("error") != std::string::npos) return row;
  }
  return first;
}

/// The variable that keeps OpenBLAS from using all processors, if there is one.
std::string thread_limit() {
  for (const std::string name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (!environment(name).empty()) return name;
  }
  return {};
}

}  // namespace

Values library_macros(const Setup& setup) {
  std::string source = "#define PCRE2_CODE_UNIT_WIDTH 8\n";  // without it pcre2.h is an error
  for (const auto& library : libraries) {
    const std::string header = std::string("<") + library.header + ">";
    source += "#if __has_include(" + header + ")\n#define " + mark_of(library) + "\n";
    const bool version_is_a_macro = library.version != nullptr && library.version != gtest_version;
    if (version_is_a_macro) source += "#include " + header + "\n";
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
    if (setup.macros.count(mark_of(library)) == 0) {
      findings.push_back(
          wrong(library.name, std::string("<") + library.header + "> is not found", install(library.package)));
    } else if (library.version != nullptr) {
      findings.push_back(ok(library.name, library.version(setup)));
    }
  }
  return findings;
}

Findings examine_blas(const Setup& setup) {
  const std::string by_hand = "ninja -C build/" + setup.preset + " learn_probe";
  const auto built = build(setup.root, setup.preset, "learn_probe");
  if (!built.ok) {
    return {wrong("OpenBLAS", "a program with Armadillo and OpenBLAS cannot be built: " + first_error(built.output),
                  by_hand)};
  }
  const fs::path program = setup.build / "learn_probe";
  const auto answer = judge::ask({program}, setup.root);
  if (answer.exit_code != 0) {
    return {wrong("OpenBLAS",
                  "a program with Armadillo and OpenBLAS ends with exit code " + std::to_string(answer.exit_code),
                  program.lexically_relative(setup.root).string())};
  }
  return judge_probe(answer.output, setup.preset);
}

}  // namespace attn::learn::checkup

namespace attn::learn {

using namespace checkup;

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

}  // namespace attn::learn
