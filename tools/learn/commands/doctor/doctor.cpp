#include "learn/commands/doctor/doctor.hpp"

#include <algorithm>
#include <ostream>

#include "learn/commands/doctor/examinations.hpp"
#include "learn/machine/build.hpp"
#include "lesson/text.hpp"
#include "system/text_style.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using namespace checkup;

namespace {

bool is_wrong(const Finding& finding) { return finding.kind == Finding::Kind::wrong; }

Findings as_list(const Finding& finding) { return {finding}; }
Findings as_list(const Findings& findings) { return findings; }

}  // namespace

std::vector<Finding> examine(const fs::path& root, const std::string& preset) {
  const Setup setup(root, preset);
  Findings all;
  const auto add = [&](const char* what, auto examination) {
    Findings found;
    try {
      found = as_list(examination(setup));
    } catch (const std::exception& error) {
      found = {wrong(std::string("cannot be examined: ") + error.what(), "./learn doctor")};
    }
    for (Finding& finding : found) {
      if (finding.what.empty()) finding.what = what;
      all.push_back(finding);
    }
  };
  add("course", examine_version);
  add("folder", examine_folder);
  add("compiler", examine_compiler);
  add("libraries", examine_libraries);
  add("CMake", examine_cmake);
  add("Ninja", examine_ninja);
  add("linker", examine_linker);
  add("build", examine_build);
  if (std::none_of(all.begin(), all.end(), is_wrong) && is_there(setup.build)) {
    add("OpenBLAS", examine_blas);
  } else {
    add("OpenBLAS", [](const Setup&) { return remark("not tried until the above is fixed", "./learn doctor"); });
  }
  add("editor", examine_editor);
  add("clangd", examine_clangd);
  add("EDITOR", examine_chosen_editor);
  add("locale", examine_locale);
  add("terminal", examine_terminal);
  add("state", examine_state);
  add("disk", examine_disk);
  add("memory", examine_memory);
  add("clock", examine_clock);
  add("PyTorch", examine_pytorch);
  return all;
}

void print(const std::vector<Finding>& findings, int columns, std::ostream& out) {
  constexpr int kind_width = 9;
  constexpr int what_width = 15;
  constexpr int margin = kind_width + what_width;
  constexpr const char* kinds[] = {"ok", "remark", "wrong"};
  const std::string indent(margin, ' ');
  for (const auto& finding : findings) {
    std::string before = padded(kinds[static_cast<int>(finding.kind)], kind_width) + padded(finding.what, what_width);
    for (const auto& row : wrapped(finding.is, std::max(columns - margin, 20))) {
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
  print(findings, columns == 0 ? widest : std::min(columns, widest), out);
  return std::any_of(findings.begin(), findings.end(), is_wrong) ? 1 : 0;
}

}  // namespace attn::learn
