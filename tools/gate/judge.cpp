#include "gate/judge.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gate/answers.hpp"
#include "gate/mutants.hpp"
#include "run/process.hpp"
#include "verdict/words.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using judge::CheckResult;
using judge::Recordings;
using judge::Report;
using lesson::Lesson;
using lesson::Mistake;
using lesson::read_file;
using nlohmann::json;

namespace {

constexpr const char* recording_command = "write it down again with `./learn verify --write`";

void append(Problems& problems, const Problems& more) { problems.insert(problems.end(), more.begin(), more.end()); }

void count(Judgement& judgement, const char* column, const Problems& problems) {
  Count& count = judgement.counts[column];
  ++count.total;
  count.passed += problems.empty() ? 1 : 0;
  append(judgement.problems, problems);
}

/// A folder of its own for the files that a program reads and writes.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) {
    std::string name = (parent / "attn-gate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make the folder " + name);
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Runs a program of checks. @throws std::runtime_error with what it printed when it comes to no result
void run_program(std::vector<std::string> command, const WorkFolder& folder) {
  const fs::path output = folder / "output.txt";
  const int exit_code = judge::run(command, folder / "", output);
  if (exit_code == 0 || exit_code == 1) return;
  throw std::runtime_error(command.at(2) + " ended with exit code " + std::to_string(exit_code) + ": " +
                           (fs::exists(output) ? read_file(output) : ""));
}

/// Names another mistake, and not this one beside it.
bool is_taken_for(const Report& report, const std::string& other, const std::string& id) {
  return std::any_of(report.checks.begin(), report.checks.end(), [&](const auto& check) {
    const auto* shown = check.shown();
    if (shown == nullptr) return false;
    const auto has = [&](const std::string& one) {
      return std::find(shown->likely.begin(), shown->likely.end(), one) != shown->likely.end();
    };
    return has(other) && !has(id);
  });
}

std::string failures_of(const Report& report, const Lesson& lesson) {
  std::string text;
  for (const auto& check : report.checks) {
    if (!check.passed()) text += judge::describe(check, lesson);
  }
  return text;
}

/// Every check of a program passes.
void judge_solution(const Lesson& lesson, const Report& report, const std::string& what, Judgement& judgement) {
  for (const auto& check : report.checks) {
    Problems problems;
    if (!check.passed()) problems.push_back(what + " fails: " + judge::describe(check, lesson));
    count(judgement, columns::solution, problems);
  }
}

}  // namespace

void to_json(json& out, const Judgement& judgement) {
  out = {{"problems", judgement.problems}, {"counts", json::object()}};
  for (const auto& [column, count] : judgement.counts) out["counts"][column] = {count.passed, count.total};
}

void from_json(const json& in, Judgement& judgement) {
  judgement.problems = in.at("problems").get<Problems>();
  for (const auto& [column, count] : in.at("counts").items()) judgement.counts[column] = {count.at(0), count.at(1)};
}

// ----------------------------------------------------------------------------------------------------- running

Report run_checks(const fs::path& program) {
  const WorkFolder folder(program.parent_path());
  const fs::path report = folder / "report.json";
  run_program({"env", "ATTN_SEED=1", program.string(), "--report=" + report.string()}, folder);
  return json::parse(read_file(report)).get<Report>();
}

std::map<std::string, Report> run_edits(const Lesson& lesson, const fs::path& programs, int seed) {
  json edits = json::array();
  for (const auto& [id, regions] : regions_of(lesson)) edits.push_back({{"id", id}, {"regions", regions}});
  const WorkFolder folder(programs);
  const fs::path list = folder / "edits.json";
  const fs::path reports = folder / "reports.json";
  std::ofstream(list) << edits;
  const fs::path program = programs / ("mutants_" + lesson.number());
  run_program({"env", "ATTN_SEED=" + std::to_string(seed), program.string(), "--edits=" + list.string(),
               "--reports=" + reports.string()},
              folder);
  std::map<std::string, Report> all;
  std::ifstream in(reports);
  for (std::string line; std::getline(in, line);) {
    const json one = json::parse(line);
    all[one.at("id")] = one.at("report").get<Report>();
  }
  return all;
}

// ----------------------------------------------------------------------------------------------------- judging

Problems judge_stub(const Lesson& lesson, const Report& report) {
  Problems problems;
  for (const auto& check : report.checks) {
    if (check.passed()) problems.push_back("the stub passes " + check.full_name() + "; it must pass no check");
    if (check.state == CheckResult::State::ended || check.state == CheckResult::State::stopped) {
      problems.push_back("the stub does not fail in good order: " + judge::describe(check, lesson));
    }
  }
  if (!problems.empty() && report.first_failing() == nullptr) {
    problems.push_back(
        "(if this is your own answer, all is well: verify judges the course with its stubs in place, and "
        "`./learn check " +
        lesson.number() + "` judges you)");
  }
  return problems;
}

bool has_other_numbers(const Recordings& recordings, const Report& report) {
  for (const auto& check : report.checks) {
    const auto places = recordings.checks().find(check.full_name());
    if (places == recordings.checks().end()) continue;
    for (const auto& failure : check.failures) {
      const auto& comparison = failure.comparison;
      if (comparison && places->second.count(comparison->number) != 0 &&
          recordings.find(check.full_name(), *comparison) == nullptr) {
        return true;
      }
    }
  }
  return false;
}

Problems judge_mistake(const Lesson& lesson, const Mistake& mistake, const Report& report,
                       const Recordings& recordings) {
  const std::string& id = mistake.id;
  if (report.first_failing() == nullptr) return {"the mistake " + id + " passes all checks: none rejects it"};
  if (!mistake.named) return {};

  Problems problems;
  const auto named = report.named();
  if (std::find(named.begin(), named.end(), id) == named.end()) {
    problems.push_back("the mistake " + id + " is rejected, but no failure names it: if what it gives has changed, " +
                       recording_command);
  }
  // With other numbers fewer comparisons can be looked up: then two mistakes may remain that give the same.
  const bool may_be_one_of_several = has_other_numbers(recordings, report);
  for (const auto& other : named) {
    const bool true_too = std::find(mistake.also.begin(), mistake.also.end(), other) != mistake.also.end();
    if (other == id || true_too) continue;
    if (!may_be_one_of_several || is_taken_for(report, other, id)) {
      problems.push_back("the mistake " + id + " is taken for " + other);
    }
  }
  if (!problems.empty()) problems.push_back("what it printed:\n" + failures_of(report, lesson));
  return problems;
}

Judgement judge_programs(const Lesson& lesson, const fs::path& programs) {
  Judgement judgement;
  judge_solution(lesson, run_checks(programs / lesson.solution_program()), "the solution", judgement);
  const Report stub = run_checks(programs / lesson.program());
  count(judgement, columns::stub, judge_stub(lesson, stub));
  const auto reports = run_edits(lesson, programs);
  const auto recordings = Recordings::read(lesson.recordings_file());
  judge_solution(lesson, reports.at(""), "the solution with its mistakes built in, but none made,", judgement);
  for (const auto& mistake : lesson.mistakes()) {
    count(judgement, columns::mistakes, judge_mistake(lesson, mistake, reports.at(mistake.id), recordings));
  }
  for (const auto& answer : lesson.answers()) {
    count(judgement, columns::answers, judge_answer(lesson, answer, reports.at(answer.id), recordings));
  }
  return judgement;
}

Judgement judge_files(const Lesson& lesson) {
  Judgement judgement;
  const auto lint = [&](const char* column, const auto& rules) {
    try {
      count(judgement, column, rules());
    } catch (const std::exception& error) {  // a file that is missing, or not JSON
      count(judgement, column, {error.what()});
    }
  };
  lint(columns::golden, [&] {
    Problems problems = lint_golden(lesson);
    append(problems, lint_recordings(lesson));
    return problems;
  });
  lint(columns::chapter, [&] { return lint_chapter(lesson); });
  return judgement;
}

// ----------------------------------------------------------------------------------------------------- recording

namespace {

/// @return whether the file is another one than before
bool write(const fs::path& file, const std::string& text) {
  if (fs::exists(file) && read_file(file) == text) return false;
  std::ofstream(file) << text;
  return true;
}

}  // namespace

std::vector<fs::path> record(const Lesson& lesson, const fs::path& programs) {
  std::vector<fs::path> written;
  Recordings recordings;
  {
    const auto reports = run_edits(lesson, programs);
    const auto others = run_edits(lesson, programs, 2);
    for (const auto& mistake : lesson.mistakes()) {
      if (mistake.named) recordings.add(mistake.id, reports.at(mistake.id), others.at(mistake.id));
    }
  }
  recordings.thin_out();
  if (write(lesson.recordings_file(), recordings.text())) written.push_back(lesson.recordings_file());

  if (lesson.answers().empty()) return written;
  const auto reports = run_edits(lesson, programs);  // again: names depend on what was recorded
  auto file = nlohmann::ordered_json::parse(read_file(lesson.answers_file()));
  const auto answers = lesson.answers();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    file["answers"][i]["outcome"] = outcome_of(answers[i], reports.at(answers[i].id));
  }
  if (write(lesson.answers_file(), file.dump(2) + "\n")) written.push_back(lesson.answers_file());
  return written;
}

}  // namespace attn::gate
