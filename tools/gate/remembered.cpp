#include "gate/remembered.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"
#include "run/process.hpp"

extern char** environ;

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::read_file;
using nlohmann::json;

namespace {

/// FNV-1a, eight bytes at a time.
std::uint64_t sum_of(const std::string& bytes, std::uint64_t sum = 0xcbf29ce484222325ULL) {
  const auto add = [&](std::uint64_t word) { sum = (sum ^ word) * 0x100000001b3ULL, sum ^= sum >> 32; };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::copy_n(bytes.data() + at, 8, reinterpret_cast<char*>(&word));
    add(word);
  }
  for (; at < bytes.size(); ++at) add(static_cast<unsigned char>(bytes[at]));
  add(bytes.size());
  return sum;
}

/// Libraries are large, and the same for all programs: each is read once.
std::uint64_t sum_of_library(const fs::path& library) {
  static std::mutex mutex;
  static std::map<fs::path, std::uint64_t> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(library);
  if (found != known.end()) return found->second;
  return known[library] = sum_of(read_file(library));
}

/// The name of the processor, which OpenBLAS's kernels depend on.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string row; std::getline(in, row);) {
    if (row.rfind("model name", 0) == 0) return row;
  }
  return "";
}

std::vector<fs::path> files_in(const fs::path& folder, const std::set<std::string>& left_out = {}) {
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (left_out.count(entry->path().filename()) != 0) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Inputs::Inputs() : sum_(sum_of(processor())) { add_variables({"OPENBLAS_", "OMP_", "GOTO_"}); }

void Inputs::add_variables(const std::vector<std::string>& prefixes) {
  std::set<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    for (const auto& prefix : prefixes) {
      if (text.rfind(prefix, 0) == 0) variables.insert(text);
    }
  }
  for (const auto& variable : variables) add_text(variable);
}

void Inputs::add_text(const std::string& text) { sum_ = sum_of(text, sum_); }

void Inputs::add(const fs::path& file) {
  if (fs::is_directory(file)) {
    for (const auto& one : files_in(file)) add(one);
  } else {
    add_text(file.string());
    add_text(fs::exists(file) ? read_file(file) : "not there");
  }
}

void Inputs::add_program(const fs::path& program) {
  add(program);
  std::istringstream libraries(judge::ask({"ldd", program.string()}, program.parent_path()).output);
  for (std::string word; libraries >> word;) {
    if (word.front() == '/' && fs::exists(word)) sum_ = sum_of(word, sum_) ^ sum_of_library(word);
  }
}

std::string Inputs::digest() const {
  std::ostringstream text;
  text << std::hex << sum_;
  return text.str();
}

std::string digest_of_repository(const fs::path& root, const fs::path& build) {
  Inputs inputs;
  inputs.add_variables(
      {"PATH=", "HOME=", "CXX", "LANG=", "LC_", "TERM", "TZ=", "NO_COLOR", "EDITOR=", "VISUAL=", "PAGER="});
  const char* compiler = std::getenv("CXX");
  for (const std::string tool : {compiler == nullptr ? "c++" : compiler, "cmake", "ninja"}) {
    const std::string file = judge::ask({"sh", "-c", "command -v \"$0\"", tool}, root).output;
    if (!file.empty()) inputs.add_program(file.substr(0, file.find('\n')));
  }
  for (const auto& file : files_in(root, {"build", ".git", ".learn", ".cache", "node_modules", "__pycache__"}))
    inputs.add(file);
  for (const auto& entry : fs::directory_iterator(build)) {
    const bool runs = (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
    if (entry.is_regular_file() && runs)
      inputs.add_text(entry.path().filename().string() + std::to_string(sum_of(read_file(entry.path()))));
  }
  return inputs.digest();
}

std::optional<json> recall(const fs::path& file, const std::string& digest) {
  if (!fs::exists(file)) return {};
  const json kept = json::parse(read_file(file), nullptr, false);  // what is damaged is forgotten
  if (!kept.is_object() || kept.value("digest", "") != digest || !kept.contains("verdict")) return {};
  return kept.at("verdict");
}

void remember(const fs::path& file, const std::string& digest, const json& verdict) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << json{{"digest", digest}, {"verdict", verdict}} << "\n";
}

}  // namespace attn::gate
