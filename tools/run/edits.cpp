#include "run/edits.hpp"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/naming.hpp"
#include "verdict/report.hpp"

bool mistake_region_reached[attn::judge::most_regions];

namespace attn::judge {

namespace {

using nlohmann::json;

/// The results of all checks: those of the ones that were run again take the place of the right ones.
std::vector<CheckResult> with_results(std::vector<CheckResult> right, const std::vector<CheckResult>& again) {
  for (const auto& result : again) {
    const auto same = [&](const CheckResult& one) { return one.full_name() == result.full_name(); };
    *std::find_if(right.begin(), right.end(), same) = result;
  }
  return right;
}

/// Appends what a run says to a file, as a line {"id": ..., "report": ...}; without the places of what was thrown: they
/// take long, and are not the learner's.
void append_report(const std::filesystem::path& file, const std::string& id, const Outcome& outcome,
                   std::vector<CheckResult> results, const lesson::Lesson& lesson, const Recordings& recordings) {
  if (!outcome.problem.empty()) throw std::runtime_error("the program " + outcome.problem + "\n" + outcome.printed);
  for (auto& result : results) {
    for (auto& failure : result.failures) failure.frames.clear();
  }
  const json line = {{"id", id}, {"report", make_report(std::move(results), lesson, &recordings)}};
  std::ofstream(file, std::ios::app) << line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
}

/// Starts a process of its own, which has to end with _exit(), and waits for it. So the first one keeps its memory small:
/// what it allocates and frees, the processes of all later edits would inherit, and be slowed down.
/// @return true in the new process
/// @throws std::runtime_error when it fails
bool branch(const std::string& what) {
  const pid_t child = fork();
  if (child == 0) return true;
  int status = 0;
  const bool ended_well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  if (!ended_well) throw std::runtime_error(what + " came to no report");
  return false;
}

}  // namespace

std::set<int> reached_regions() {
  std::set<int> reached;
  for (int region = 0; region < most_regions; ++region) {
    if (mistake_region_reached[region]) reached.insert(region);
  }
  return reached;
}

bool run_edits(const std::filesystem::path& edits, const std::filesystem::path& reports) {
  unsetenv("ATTN_MISTAKE");
  const auto right = supervise();
  if (!right) return false;
  if (right->source.empty()) throw std::runtime_error("the program " + right->problem + "\n" + right->printed);
  const auto lesson = lesson::lesson_of(right->source);
  const auto recordings = Recordings::read(lesson.recordings_file());
  std::map<std::string, std::set<int>> reached;
  for (const auto& check : right->results) {
    const auto alone = supervise(check.full_name());
    if (!alone) return false;
    reached[check.full_name()] = alone->results.at(0).reached;
  }
  std::ofstream(reports).flush();
  append_report(reports, "", *right, right->results, lesson, recordings);
  malloc_trim(0);
  for (const auto& edit : lesson::read_json(edits)) {
    const std::string id = edit.at("id");
    std::string filter;
    const auto regions = edit.at("regions").get<std::vector<int>>();
    for (const auto& check : right->results) {
      const auto& met = reached.at(check.full_name());
      const auto is_met = [&](int region) { return met.count(region) != 0; };
      if (std::any_of(regions.begin(), regions.end(), is_met)) filter += check.full_name() + ":";
    }
    if (!branch("the run with " + id)) continue;
    setenv("ATTN_MISTAKE", id.c_str(), 1);
    const auto outcome = filter.empty() ? Outcome{} : supervise(filter);
    if (!outcome) return false;
    append_report(reports, id, *outcome, with_results(right->results, outcome->results), lesson, recordings);
    _exit(0);
  }
  return true;
}

}  // namespace attn::judge
