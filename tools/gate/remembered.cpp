#include "gate/remembered.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::read_file;
using nlohmann::json;

namespace {

std::size_t sum_of(const std::string& bytes) { return std::hash<std::string>()(bytes); }

/// Libraries are large, and the same for all programs: each is read once.
std::size_t sum_of_library(const fs::path& library) {
  static std::mutex mutex;
  static std::map<fs::path, std::size_t> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [sum, is_new] = known.try_emplace(library);
  if (is_new) sum->second = sum_of(read_file(library));
  return sum->second;
}

/// The name of the processor, which OpenBLAS's kernels depend on.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  std::string row;
  while (std::getline(in, row) && !begins_with(row, "model name")) {
  }
  return row;
}

std::set<fs::path> files_in(const fs::path& folder, const std::set<std::string>& left_out = {}) {
  std::set<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (left_out.count(entry->path().filename()) != 0) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.insert(entry->path());
    }
  }
  return files;
}

fs::path file_of(const fs::path& build, const std::string& name) { return build / "remembered" / (name + ".json"); }

}  // namespace

Inputs::Inputs() {
  add_text(processor());
  add_variables({"OPENBLAS_", "OMP_", "GOTO_"});
}

void Inputs::add_variables(const std::vector<std::string>& prefixes) {
  std::set<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    for (const auto& prefix : prefixes) {
      if (begins_with(*variable, prefix)) variables.insert(*variable);
    }
  }
  for (const auto& variable : variables) add_text(variable);
}

void Inputs::add_text(const std::string& text) { sum_ = sum_of(digest() + ' ' + text); }

void Inputs::add(const fs::path& file) {
  if (fs::is_directory(file)) {
    for (const auto& one : files_in(file)) add(one);
  } else {
    add_text(file);
    add_text(fs::exists(file) ? read_file(file) : "not there");
  }
}

void Inputs::add_program(const fs::path& program) {
  add(program);
  std::istringstream libraries(judge::ask({"ldd", program}, program.parent_path()).output);
  for (std::string word; libraries >> word;) {
    if (word.front() == '/' && fs::exists(word)) add_text(word + std::to_string(sum_of_library(word)));
  }
}

std::string Inputs::digest() const { return std::to_string(sum_); }

std::string digest_of_repository(const fs::path& root, const fs::path& build) {
  Inputs inputs;
  inputs.add_variables(
      {"PATH=", "HOME=", "CXX", "LANG=", "LC_", "TERM", "TZ=", "NO_COLOR", "EDITOR=", "VISUAL=", "PAGER="});
  const std::string paths =
      judge::ask({"sh", "-c", "command -v \"${CXX:-c++}\"; command -v cmake; command -v ninja"}, root).output;
  for (const auto& path : lines_of(paths)) inputs.add_program(path);
  for (const auto& file : files_in(root, {"build", ".git", ".learn", ".cache", "node_modules", "__pycache__"})) {
    inputs.add(file);
  }
  for (const auto& entry : fs::directory_iterator(build)) {
    const bool runs = (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
    if (entry.is_regular_file() && runs) inputs.add(entry);
  }
  return inputs.digest();
}

std::optional<json> recall(const fs::path& build, const std::string& name, const std::string& digest) {
  const fs::path file = file_of(build, name);
  if (!fs::exists(file) || std::getenv("ATTN_JUDGE_AGAIN") != nullptr) return {};
  const json kept = json::parse(read_file(file), nullptr, false);  // what is damaged is forgotten
  if (!kept.is_object() || kept.value("digest", "") != digest || !kept.contains("verdict")) return {};
  return kept.at("verdict");
}

void remember(const fs::path& build, const std::string& name, const std::string& digest, const json& verdict) {
  const fs::path file = file_of(build, name);
  fs::create_directories(file.parent_path());
  std::ofstream(file) << json{{"digest", digest}, {"verdict", verdict}} << "\n";
}

}  // namespace attn::gate
