#include "gate/judge.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gate/answers.hpp"
#include "gate/derived.hpp"
#include "gate/mutants.hpp"
#include "lesson/text.hpp"
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

void count(Judgement& judgement, const char* column, const Problems& problems) {
  Count& count = judgement.counts[column];
  ++count.total;
  count.passed += problems.empty() ? 1 : 0;
  judgement.problems.insert(judgement.problems.end(), problems.begin(), problems.end());
}

/// Runs a program of checks, in a folder of its own.
/// @param edits for run_edits(), as JSON; or nothing
/// @return what it reports
/// @throws std::runtime_error with what it printed when it comes to no result
std::string run_program(const fs::path& program, int seed, const std::string& edits = "") {
  std::string folder = program.parent_path() / "attn-gate-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make the folder " + folder);
  const auto text_in = [](const fs::path& file) { return fs::exists(file) ? read_file(file) : ""; };
  const fs::path output = folder + "/output.txt";
  const fs::path report = folder + "/report.json";
  // OpenBLAS with one thread: several would wait for each other, with as many programs as processors beside them.
  std::vector<std::string> command = {"env", "ATTN_SEED=" + std::to_string(seed), "OPENBLAS_NUM_THREADS=1", program};
  if (edits.empty()) {
    command.push_back("--report=" + report.string());
  } else {
    write_if_changed(folder + "/edits.json", edits);
    command.insert(command.end(), {"--edits=" + folder + "/edits.json", "--reports=" + report.string()});
  }
  const int exit_code = judge::run(command, folder, output);
  const std::string reported = text_in(report);
  const std::string printed = text_in(output);
  fs::remove_all(folder);
  if ((exit_code == 0 || exit_code == 1) && !reported.empty()) return reported;
  throw std::runtime_error(program.string() + " ended with exit code " + std::to_string(exit_code) + ": " + printed);
}

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// Names another mistake, and not this one beside it.
bool is_taken_for(const Report& report, const std::string& other, const std::string& id) {
  return std::any_of(report.checks.begin(), report.checks.end(), [&](const auto& check) {
    const auto* shown = check.shown();
    return shown != nullptr && has(shown->likely, other) && !has(shown->likely, id);
  });
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

Report run_checks(const fs::path& program) { return json::parse(run_program(program, 1)).get<Report>(); }

std::map<std::string, Report> run_edits(const Lesson& lesson, const fs::path& programs, int seed,
                                        const std::set<std::string>& only) {
  json edits = json::array();
  for (const auto& [id, regions] : regions_of(lesson)) {
    if (only.empty() || only.count(id) != 0) edits.push_back({{"id", id}, {"regions", regions}});
  }
  std::map<std::string, Report> reports;
  for (const auto& line : lines_of(run_program(programs / ("mutants_" + lesson.number()), seed, edits.dump()))) {
    const json one = json::parse(line);
    reports[one.at("id")] = one.at("report").get<Report>();
  }
  return reports;
}

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
  if (!has(named, id)) {
    problems.push_back("the mistake " + id + " is rejected, but no failure names it: if what it gives has changed, " +
                       "write it down again with `./learn verify --write`");
  }
  // With other numbers fewer comparisons can be looked up: then two mistakes may remain that give the same.
  const bool may_be_one_of_several = has_other_numbers(recordings, report);
  for (const auto& other : named) {
    if (other == id || has(mistake.also, other)) continue;
    if (!may_be_one_of_several || is_taken_for(report, other, id)) {
      problems.push_back("the mistake " + id + " is taken for " + other);
    }
  }
  if (problems.empty()) return {};
  problems.push_back("what it printed:\n");
  for (const auto& check : report.checks) {
    if (!check.passed()) problems.back() += judge::describe(check, lesson);
  }
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
  count(judgement, columns::golden, lint_values(lesson));
  count(judgement, columns::chapter, lint_chapter(lesson));
  return judgement;
}

std::vector<fs::path> record(const Lesson& lesson, const fs::path& programs) {
  std::vector<fs::path> written;
  const auto write = [&](const fs::path& file, const std::string& text) {
    if (write_if_changed(file, text)) written.push_back(file);
  };
  Recordings recordings;
  {
    const auto reports = run_edits(lesson, programs);
    const auto others = run_edits(lesson, programs, 2);
    for (const auto& mistake : lesson.mistakes()) {
      if (mistake.named) recordings.add(mistake.id, reports.at(mistake.id), others.at(mistake.id));
    }
  }
  recordings.thin_out();
  write(lesson.recordings_file(), recordings.text());

  const auto answers = lesson.answers();
  if (answers.empty()) return written;
  const auto reports = run_edits(lesson, programs);  // again: names depend on what was recorded
  auto file = nlohmann::ordered_json::parse(read_file(lesson.answers_file()));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    file["answers"][i]["outcome"] = outcome_of(answers[i], reports.at(answers[i].id));
  }
  write(lesson.answers_file(), file.dump(2) + "\n");
  return written;
}

}  // namespace attn::gate
