#include "run/edits.hpp"

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

bool reaches_one_of(const std::set<int>& reached, const std::set<int>& regions) {
  return std::any_of(regions.begin(), regions.end(), [&](int region) { return reached.count(region) != 0; });
}

/// The results of all checks: those of the ones that were run again take the place of the right ones.
std::vector<CheckResult> with_results(std::vector<CheckResult> right, const std::vector<CheckResult>& again) {
  for (const auto& result : again) {
    const auto same = [&](const CheckResult& one) { return one.full_name() == result.full_name(); };
    *std::find_if(right.begin(), right.end(), same) = result;
  }
  return right;
}

/// What a run says, without the places of what was thrown: they take long, and are not the learner's.
json report_of(const Outcome& outcome, std::vector<CheckResult> results, const lesson::Lesson& lesson,
               const Recordings& recordings) {
  if (!outcome.problem.empty()) throw std::runtime_error("the program " + outcome.problem + "\n" + outcome.printed);
  for (auto& result : results) {
    for (auto& failure : result.failures) failure.frames.clear();
  }
  return make_report(std::move(results), lesson, recordings);
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
    const auto alone = supervise({}, check.full_name());
    if (!alone) return false;
    reached[check.full_name()] = alone->results.at(0).reached;
  }
  json all;
  all[""] = report_of(*right, right->results, lesson, recordings);
  for (const auto& edit : lesson::read_json(edits)) {
    const auto id = edit.at("id").get<std::string>();
    const auto regions = edit.at("regions").get<std::set<int>>();
    std::string filter;
    for (const auto& check : right->results) {
      if (reaches_one_of(reached.at(check.full_name()), regions)) filter += check.full_name() + ":";
    }
    setenv("ATTN_MISTAKE", id.c_str(), 1);
    const auto outcome = filter.empty() ? Outcome{} : supervise({}, filter);
    if (!outcome) return false;
    all[id] = report_of(*outcome, with_results(right->results, outcome->results), lesson, recordings);
  }
  std::ofstream(reports) << all.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  return true;
}

}  // namespace attn::judge
