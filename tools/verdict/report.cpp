#include "verdict/report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "lesson/text.hpp"
#include "verdict/naming.hpp"
#include "verdict/place.hpp"
#include "verdict/unfinished.hpp"

namespace attn {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Place, file, line)
}

namespace attn::judge {

namespace {

using lesson::Lesson;
using nlohmann::json;
using State = CheckResult::State;

/// Whether a text mentions one of the functions or classes in a task's title: calls it, or has a suite of its name.
bool mentions(const std::string& text, const std::string& title) {
  const auto words = words_in(title);
  const auto contains = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  return std::any_of(words.begin(), words.end(), [&](const std::string& name) {
    const bool of_code = name.find('_') != std::string::npos || title.find("`" + name + "`") != std::string::npos ||
                         title == name || name == "forward";
    return of_code && (contains(name + "(") || contains(lesson::camel_case(name)));
  });
}

/// The task that a check is about: the one that it ran into, or that its section names, or the only one in its file, or
/// the only one there whose title has a name that the check or the expression it looked at has too. Else the lesson's
/// number.
std::string task_of(const CheckResult& result, const Lesson& lesson, const std::map<std::string, std::string>& known) {
  for (const auto& failure : result.failures) {
    if (!failure.task.empty()) return failure.task;
  }
  if (const auto found = known.find(result.full_name()); found != known.end()) return found->second;
  const auto tasks = lesson.tasks_in(lesson.judged_file(result.suite));
  if (tasks.empty()) return lesson.number();
  if (tasks.size() == 1) return tasks.front();
  std::string judged = result.full_name();
  for (const auto& failure : result.failures) judged += "\n" + failure.expression;
  std::vector<std::string> mentioned;
  for (const auto& task : lesson.tasks()) {
    const bool in_file = std::find(tasks.begin(), tasks.end(), task.id) != tasks.end();
    if (in_file && mentions(judged, task.title)) mentioned.push_back(task.id);
  }
  return mentioned.size() == 1 ? mentioned.front() : lesson.number();
}

/// The calls of todo() that are left in the learner's files. Not only those that a check ran into: one may hide behind
/// another.
std::vector<OpenTask> open_tasks(const Lesson& lesson) {
  std::vector<OpenTask> open;
  const std::string call = "todo(\"";
  for (const auto& file : lesson.stub_files()) {
    int number = 0;
    for (const auto& row : lines_of(lesson::read_file(lesson.root / file))) {
      ++number;
      const auto begin = row.find_first_not_of(' ');
      const auto at = row.find(call);
      if (at == std::string::npos || row.compare(begin, 2, "//") == 0) continue;
      const auto id_begin = at + call.size();
      open.push_back({row.substr(id_begin, row.find('"', id_begin) - id_begin), {file, number}});
    }
  }
  std::sort(open.begin(), open.end(), [](const OpenTask& a, const OpenTask& b) { return a.task < b.task; });
  return open;
}

/// A check that ran into a TODO is about the line that calls todo().
void locate_todo(CheckResult& check, const std::vector<OpenTask>& open) {
  if (check.state != State::not_written) return;
  const auto task = std::find_if(open.begin(), open.end(), [&](const OpenTask& one) { return one.task == check.task; });
  if (task != open.end()) check.place = task->place;
}

/// Where the learner writes is another folder in an interview; the adapter of a blank class knows the usual one.
void use_work_folder(Failure& failure, const Lesson& lesson) {
  if (failure.kind != Failure::Kind::not_written) return;
  const std::string below = "/" + lesson.name + "/";
  for (auto& [label, text] : failure.statements) text = replaced(text, "lessons" + below, lesson.work_folder + below);
}

/// The declarations that a file's #include "attn/..." lines bring, one level deep.
std::string declarations_for(const std::string& code, const Lesson& lesson) {
  const std::string include = "#include \"attn/";
  std::string text;
  for (auto at = code.find(include); at != std::string::npos; at = code.find(include, at + 1)) {
    const auto begin = at + include.size();
    const auto file = lesson.root / "include" / "attn" / code.substr(begin, code.find('"', begin) - begin);
    if (std::filesystem::is_regular_file(file)) text += lesson::read_file(file);
  }
  return text;
}

/// Where `auto` keeps an expression of Armadillo, in one of the learner's files; those whose parts are gone first.
std::vector<Unfinished> unfinished_in(const std::string& file, const Lesson& lesson) {
  if (!std::filesystem::is_regular_file(lesson.root / file)) return {};
  const std::string code = lesson::read_file(lesson.root / file);
  if (code.find("auto") == std::string::npos) return {};
  auto found = unfinished_expressions(code, declarations_for(code, lesson));
  std::stable_partition(found.begin(), found.end(), [](const Unfinished& one) { return one.dangles; });
  return found;
}

/// A note in all that failed in the same file: the first where parts are gone, because then nothing else that is said of
/// a value may be the cause. A remark where all passed.
void note_unfinished_expressions(Report& report, const Lesson& lesson) {
  const bool all_passed = report.passed() == static_cast<int>(report.checks.size());
  for (const auto& file : lesson.stub_files()) {
    const auto found = unfinished_in(file, lesson);
    if (found.empty()) continue;
    const auto& first = found.front();
    if (all_passed && first.dangles) {
      report.remarks.push_back(file + ", " + advice(first) + " (that all checks passed is luck)");
    }
    for (auto& check : report.checks) {
      Failure* shown = check.shown();
      const bool in_file = check.place.file == file || lesson.judged_file(check.suite) == file;
      if (shown == nullptr || !in_file || shown->kind == Failure::Kind::not_written) continue;
      shown->notes.insert(first.dangles ? shown->notes.begin() : shown->notes.end(), advice(first));
    }
  }
}

}  // namespace

const Failure* CheckResult::shown() const {
  if (failures.empty()) return nullptr;
  const auto unwritten = std::find_if(failures.begin(), failures.end(), [](const Failure& failure) {
    return failure.kind == Failure::Kind::not_written;
  });
  return unwritten == failures.end() ? &failures.front() : &*unwritten;
}

int Report::passed() const {
  return static_cast<int>(
      std::count_if(checks.begin(), checks.end(), [](const auto& check) { return check.passed(); }));
}

const CheckResult* Report::first_failing() const {
  const auto found = std::find_if(checks.begin(), checks.end(), [](const auto& check) { return !check.passed(); });
  return found == checks.end() ? nullptr : &*found;
}

std::vector<std::string> Report::named() const {
  std::vector<std::string> ids;
  for (const auto& check : checks) {
    const Failure* shown = check.shown();
    if (shown != nullptr) ids.insert(ids.end(), shown->likely.begin(), shown->likely.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Report make_report(std::vector<CheckResult> checks, const Lesson& lesson, const Recordings* recordings) {
  Report report;
  report.lesson = lesson.name;
  bool all_passed = true;
  bool met_task = false;
  const auto tasks = lesson.tasks_of_checks();
  std::map<std::string, std::string> files;  // by suite: finding one reads the stubs
  for (auto& check : checks) {
    check.task = task_of(check, lesson, tasks);
    if (files.count(check.suite) == 0) files[check.suite] = lesson.judged_file(check.suite);
    if (check.place.line == 0) check.place.file = files.at(check.suite);
    for (auto& failure : check.failures) use_work_folder(failure, lesson);
    all_passed = all_passed && check.passed();
    met_task = met_task || check.state == State::not_written;
  }
  if (!all_passed) {
    name_mistakes(checks, recordings == nullptr ? Recordings::read(lesson.recordings_file()) : *recordings);
    name_operations(checks, Recordings::read(lesson.operations_file()));
    find_places(checks, lesson);
  }
  if (met_task) {
    const auto open = open_tasks(lesson);
    for (auto& check : checks) locate_todo(check, open);
    if (checks.size() > 1) report.open_tasks = open;
  }
  report.checks = std::move(checks);
  note_unfinished_expressions(report, lesson);
  return report;
}

// ---------------------------------------------------------------------------------------------------- as JSON

NLOHMANN_JSON_SERIALIZE_ENUM(State, {{State::failed, "failed"},  // and what is not known
                                     {State::passed, "passed"},
                                     {State::not_written, "not_written"},
                                     {State::ended, "ended"},
                                     {State::stopped, "stopped"},
                                     {State::not_run, "not_run"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CheckResult, suite, name, state, task, place, function, failures,
                                                borrowed, printed, printed_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenTask, task, place)

/// The macro makes inline functions: those of a type of this file, since other files call those of Report.
struct ReportAsJson : Report {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ReportAsJson, lesson, checks, open_tasks, remarks, problem)

void to_json(json& out, const Report& report) { out = ReportAsJson{report}; }

void from_json(const json& in, Report& report) { report = in.get<ReportAsJson>(); }

std::string text_of(State state) { return json(state).get<std::string>(); }

}  // namespace attn::judge
