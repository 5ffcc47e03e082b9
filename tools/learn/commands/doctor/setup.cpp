#include <fstream>
#include <iomanip>
#include <iterator>
#include <regex>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"

namespace attn::learn::checkup {

namespace fs = std::filesystem;

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

namespace {

/// The compiler of the build folder, or else the one that CMake would take.
std::vector<std::string> find_compiler(const Setup& setup) {
  for (const auto& command : {words(setup.cached("CMAKE_CXX_COMPILER")), words(environment("CXX")), {"c++"}, {"g++"}}) {
    if (!command.empty() && !find_program(command.front()).empty()) return command;
  }
  return {};
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

Setup inspect(const fs::path& root, const std::string& preset) {
  Setup setup{root, preset, build_folder(root, preset), {}, {}, {}};
  setup.cache = read_cache(setup.build / "CMakeCache.txt");
  setup.compiler = find_compiler(setup);
  if (!setup.compiler.empty()) setup.macros = library_macros(setup);
  return setup;
}

}  // namespace attn::learn::checkup
