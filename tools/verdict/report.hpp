#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "verdict/check_result.hpp"

namespace attn::judge {

class Recordings;

/// A part of the lesson that still calls todo().
struct OpenTask {
  std::string task;  ///< "01.2"
  Place place;
};

/// What came of a run of a lesson's checks: what the report file holds, and what tool and gate go by.
struct Report {
  std::string lesson;  ///< "01_self_attention_v1"
  std::vector<CheckResult> checks;
  std::vector<OpenTask> open_tasks;  ///< where a check ran into one
  std::vector<std::string> remarks;  ///< what should be changed though every check passed
  std::string problem;               ///< why there is no result at all

  int passed() const;
  const CheckResult* first_failing() const;

  /// The ids of the mistakes that were named by what each check shows.
  std::vector<std::string> named() const;
};

/// Finds out which task and file each check is about, and which catalogued mistakes its failures show (naming.hpp).
Report make_report(std::vector<CheckResult> checks, const lesson::Lesson& lesson);
Report make_report(std::vector<CheckResult> checks, const lesson::Lesson& lesson, const Recordings& recordings);

/// "passed", "failed", "not_written", ...
std::string text_of(CheckResult::State state);

void to_json(nlohmann::json& json, const Report& report);

/// @throws nlohmann::json::exception, std::invalid_argument when it is not such a report
void from_json(const nlohmann::json& json, Report& report);

}  // namespace attn::judge
