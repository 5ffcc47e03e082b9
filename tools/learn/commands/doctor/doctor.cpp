#include "learn/commands/doctor/doctor.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/machine.hpp"
#include "lesson/text.hpp"
#include "system/text_style.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using namespace checkup;

namespace {

bool is_wrong(const Finding& finding) { return finding.kind == Finding::Kind::wrong; }

struct Examination {
  const char* what;
  Findings (*run)(const Setup&);
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

void add(Findings& findings, const Examination& examination, const Setup& setup) {
  try {
    for (auto& finding : examination.run(setup)) findings.push_back(std::move(finding));
  } catch (const std::exception& error) {
    findings.push_back(wrong(examination.what, std::string("cannot be examined: ") + error.what(), "./learn doctor"));
  }
}

}  // namespace

std::vector<Finding> examine(const fs::path& root, const std::string& preset) {
  const Setup setup = inspect(root, preset);
  Findings findings;
  add(findings, {"course", examine_version}, setup);
  for (const auto& examination : basics) add(findings, examination, setup);
  if (std::none_of(findings.begin(), findings.end(), is_wrong) && is_there(setup.build)) {
    add(findings, {"OpenBLAS", examine_blas}, setup);
  } else {
    findings.push_back(remark("OpenBLAS", "not tried until the above is fixed", "./learn doctor"));
  }
  for (const auto& examination : surroundings) add(findings, examination, setup);
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
    if (!finding.fix.empty()) out << indent << "fix: " << finding.fix << "\n";  // in one piece, to be copied
  }
  const auto count = std::count_if(findings.begin(), findings.end(), is_wrong);
  out << "\n"
      << (count == 0   ? "Nothing is wrong."
          : count == 1 ? "1 thing is wrong: see \"fix\" above."
                       : std::to_string(count) + " things are wrong: see \"fix\" above.")
      << "\n";
}

int doctor(const fs::path& root, std::ostream& out) {
  const bool is_first = !is_there(build_folder(root) / "learn_probe");
  if (is_first) out << "Looking at this machine (a few seconds, once) ...\n" << std::flush;
  const auto findings = examine(root);
  constexpr int widest = 100;
  const int columns = terminal_size().columns;
  print(findings, static_cast<std::size_t>(columns == 0 ? widest : std::min(columns, widest)), out);
  return std::any_of(findings.begin(), findings.end(), is_wrong) ? 1 : 0;
}

}  // namespace attn::learn
