#include "learn/commands/commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "judge/process.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/history.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using nlohmann::json;

namespace {

void say(const Course& course, const std::string& text) { std::cout << course.style(text) << std::endl; }

void say(const Course& course, const std::vector<std::string>& lines) {
  for (const auto& line : lines) say(course, line);
}

void say_next_steps(const Course& course, const Lesson& lesson) {
  say(course, "  read   lessons/" + lesson.name + "/README.md");
  for (const auto& file : lesson.stub_files()) say(course, "  write  " + file);
  say(course, "  check  ./learn check " + lesson.number());
  say(course, "  hint   ./learn hint " + lesson.number());
}

/// A file's name, which may hold anything, as something that a terminal only shows.
std::string without_controls(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return name;
}

int exit_code_of(const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::passed) return exit_passed;
  return verdict.kind == Verdict::Kind::failed ? exit_failed : exit_not_judged;
}

json as_json(const Lesson& lesson, const Verdict& verdict) {
  static const std::map<Verdict::Kind, std::string> ids = {{Verdict::Kind::passed, "passed"},
                                                           {Verdict::Kind::failed, "failed"},
                                                           {Verdict::Kind::not_compiled, "not_compiled"},
                                                           {Verdict::Kind::not_judged, "not_judged"},
                                                           {Verdict::Kind::stopped, "stopped"}};
  json checks = json::array();
  for (const auto& check : verdict.checks) {
    checks.push_back({{"name", check.name}, {"state", check.state}, {"text", check.text}, {"hint", check.hint}});
  }
  return {{"lesson", lesson.name},        {"verdict", ids.at(verdict.kind)},
          {"passed", verdict.passed()},   {"total", verdict.total()},
          {"mistakes", verdict.mistakes}, {"warnings", verdict.warnings},
          {"text", verdict.text},         {"checks", checks}};
}

/// Bytes that are no UTF-8, in what a compiler or a learner's program says, are replaced: it stays JSON.
void print(const json& document) {
  std::cout << document.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
}

Verdict judge(Course& course, const Lesson& lesson, bool sanitized = false) {
  Judgement judgement(lesson, sanitized ? "learner-asan" : "dev");
  judgement.wait([&](const std::string& doing) { std::cerr << course.style(lesson.title() + ": " + doing) << "\n"; });
  if (!sanitized) record(course.store, lesson, judgement.verdict());
  return judgement.verdict();
}

void say_success(const Course& course, const Lesson& lesson) {
  SpeedTest speed(lesson);
  speed.wait({});
  if (!speed.line().empty()) say(course, "  " + speed.line());
  const Lesson next = next_to_do(course, lesson);
  if (counts_as_passed(standing(course.store.state(), next))) {
    say(course, "\nThat was the last lesson: all are passed.");
  } else {
    say(course, "\nNext: " + next.title());
    say_next_steps(course, next);
  }
}

int check_all(Course& course, bool in_json) {
  int result = exit_passed;
  json all = json::array();
  for (const auto& lesson : all_lessons(course.root)) {
    const std::string was = course.store.state().current;
    const Standing before = standing(course.store.state(), lesson);
    const Verdict verdict = judge(course, lesson);
    course.store.update([&](State& state) { state.current = was; });
    result = std::max(result, exit_code_of(verdict));
    if (in_json) {
      all.push_back(as_json(lesson, verdict));
    } else {
      say(course, summary(lesson, verdict, before));
    }
    if (verdict.kind == Verdict::Kind::stopped) break;
  }
  if (in_json) print(json{{"lessons", all}});
  if (!in_json) say(course, "\n" + progress_text(course));
  return result;
}

// ------------------------------------------------------------------------------------------------- for update

/// What a learner wrote in a file, and what the file began as; what else is to stay as it is.
struct Answer {
  std::string text;
  std::string stub;
  fs::perms permissions{};
  fs::path link;         ///< where it leads; empty when it is no link
  std::string staged;    ///< "mode,object", when git has a change of it in the index
  bool skipped = false;  ///< git is told to leave it alone (skip-worktree)
};

/// What git answers, without the end of the line; empty when it refuses.
std::string git(const fs::path& root, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "git");
  std::string answer = judge::ask(arguments, root).output;
  while (!answer.empty() && answer.back() == '\n') answer.pop_back();
  return answer;
}

std::map<std::string, Answer> written_answers(const Course& course) {
  std::map<std::string, Answer> answers;
  for (const auto& lesson : all_lessons(course.root)) {
    for (const auto& file : given_files(lesson)) {
      if (!fs::is_regular_file(course.root / file)) continue;
      Answer answer{lesson::read_file(course.root / file), lesson::read_file(lesson.stub_of(file)), {}, {}, {}};
      if (answer.text == answer.stub) continue;
      answer.permissions = fs::status(course.root / file).permissions();
      if (fs::is_symlink(course.root / file)) answer.link = fs::read_symlink(course.root / file);
      answer.skipped = git(course.root, {"ls-files", "-v", "--", file}).rfind("S ", 0) == 0;
      if (!git(course.root, {"diff", "--cached", "--name-only", "--", file}).empty()) {
        std::istringstream entry(git(course.root, {"ls-files", "--stage", "--", file}));  // "100644 1f7a7a47... 0 file"
        std::string mode, object;
        entry >> mode >> object;
        if (!object.empty()) answer.staged = mode + "," + object;
      }
      answers[file] = answer;
    }
  }
  return answers;
}

/// Puts an answer back where git has put a stub.
void put_back(const fs::path& root, const std::string& file, const Answer& answer) {
  std::error_code ignored;
  if (answer.link.empty()) {
    replace_file(root / file, answer.text);
    fs::permissions(root / file, answer.permissions, ignored);
  } else if (!fs::is_symlink(root / file)) {
    fs::remove(root / file);
    fs::create_symlink(answer.link, root / file);
  }
  if (!answer.staged.empty()) git(root, {"update-index", "--cacheinfo", answer.staged + "," + file});
  if (answer.skipped) git(root, {"update-index", "--skip-worktree", "--", file});
}

/// What git is in the middle of, which an update would disturb: "a merge"; empty when nothing.
std::string unfinished(const fs::path& root) {
  for (const auto& [head, what] : {std::pair{"MERGE_HEAD", "a merge"},
                                   {"REBASE_HEAD", "a rebase"},
                                   {"CHERRY_PICK_HEAD", "a cherry-pick"},
                                   {"REVERT_HEAD", "a revert"}}) {
    if (!git(root, {"rev-parse", "--quiet", "--verify", head}).empty()) return what;
  }
  return {};
}

/// While it lives, nothing but kill -9 ends us, or what we start.
class Undisturbed {
 public:
  Undisturbed() {
    for (std::size_t i = 0; i < std::size(signals); ++i) before_[i] = std::signal(signals[i], SIG_IGN);
  }
  ~Undisturbed() {
    for (std::size_t i = 0; i < std::size(signals); ++i) std::signal(signals[i], before_[i]);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  void (*before_[std::size(signals)])(int);
};

/// Merges what git fetched, with the stubs in place of the answers meanwhile. @return git's exit code
int merge_under(const fs::path& root, const std::map<std::string, Answer>& answers) {
  const Undisturbed until_all_is_back;
  std::vector<std::string> put_stubs = {"git", "checkout", "--quiet", "HEAD", "--"};
  for (const auto& [file, answer] : answers) {
    put_stubs.push_back(file);
    if (answer.skipped) git(root, {"update-index", "--no-skip-worktree", "--", file});
  }
  int result = answers.empty() ? 0 : judge::run(put_stubs, root);
  if (result == 0) result = judge::run({"git", "merge", "--ff-only", "@{upstream}"}, root);
  for (const auto& [file, answer] : answers) {
    fs::create_directories((root / file).parent_path());  // gone, where the lesson has another name now
    put_back(root, file, answer);
  }
  return result;
}

void say_when_it_begins_otherwise(const Course& course, const std::string& file, const std::string& stub) {
  const Lesson lesson{course.root, fs::path(file).parent_path().filename().string()};
  const fs::path now = lesson.stub_of(file);
  if (!fs::exists(now)) {
    say(course, file + " is no longer part of the course: yours is still there");
  } else if (lesson::read_file(now) != stub) {
    say(course, file + " begins otherwise now: compare yours with " + fs::relative(now, course.root).string());
  }
}

}  // namespace

// ----------------------------------------------------------------------------------------------- going through

int overview(Course& course) {
  const Lesson lesson = current_lesson(course);
  const bool done = counts_as_passed(standing(course.store.state(), lesson));
  say(course, "attention-by-hand: learn attention by writing it\n");
  say(course, curriculum_lines(course));
  say(course, "\n" + lesson.title() + (done ? ": passed; ./learn next goes on" : ""));
  say_next_steps(course, lesson);
  if (fs::exists(course.root / "build" / "dev" / ("lesson_" + lesson.number()))) return exit_passed;
  say(course, "\nbuilding lesson " + lesson.number() + " once, so that checking it is quick ...");
  const auto built = build(course.root, "dev", "lesson_" + lesson.number());
  say(course, built.ok ? "ready" : built.compiler_says);
  return exit_passed;
}

int list(const Course& course, bool in_json) {
  if (!in_json) {
    say(course, curriculum_lines(course));
    return exit_passed;
  }
  json lessons = json::array();
  const Lesson current = current_lesson(course);
  for (const auto& lesson : all_lessons(course.root)) {
    const auto known = course.store.state().lessons.find(lesson.name);
    const LessonRecord record = known == course.store.state().lessons.end() ? LessonRecord{} : known->second;
    lessons.push_back({{"lesson", lesson.name},
                       {"number", lesson.number()},
                       {"subject", lesson.subject()},
                       {"state", id_of(standing(course.store.state(), lesson))},
                       {"current", lesson.name == current.name},
                       {"first_passed", record.first_passed},
                       {"checks", record.checks},
                       {"files", lesson.stub_files()}});
  }
  print(json{{"lessons", lessons}});
  return exit_passed;
}

int check(Course& course, const std::string& name, bool in_json, bool sanitized) {
  if (name == "all" && sanitized)
    throw std::invalid_argument("--asan is for one lesson, such as ./learn check 01 --asan");
  if (name == "all") return check_all(course, in_json);
  const Lesson lesson = wanted_lesson(course, name);
  const Verdict verdict = judge(course, lesson, sanitized);
  if (in_json) {
    print(as_json(lesson, verdict));
    return exit_code_of(verdict);
  }
  if (!verdict.warnings.empty()) say(course, verdict.warnings + "\n");
  say(course, verdict.text);
  if (verdict.kind == Verdict::Kind::passed && !sanitized) say_success(course, lesson);
  return exit_code_of(verdict);
}

int hint(Course& course, const std::string& topic, std::size_t level) {
  const auto dot = topic.find('.');
  const Lesson lesson = wanted_lesson(course, topic.substr(0, dot));
  const std::string wanted = dot == std::string::npos ? "" : lesson.number() + topic.substr(dot);
  const auto tasks = tasks_for(lesson, wanted);
  if (!wanted.empty() && tasks.front().id != wanted) {
    throw std::invalid_argument("lesson " + lesson.title() + " has no task " + wanted);
  }
  say(course, "Hints for " + lesson.title() + ", level " + std::to_string(level) + " of 3");
  for (const auto& task : tasks) {
    say(course, "\n" + task.id + " " + task.title);
    const std::string& text = task.levels.at(level - 1);
    say(course, course.style.columns > 0 ? paragraphs_of(text) : lines_of(text));  // a terminal wraps them to its width
  }
  note_hint(course.store, lesson, static_cast<int>(level));
  if (level == 3) return exit_passed;
  say(course, "\nMore, for one task: ./learn hint " + tasks.front().id + " --level " + std::to_string(level + 1));
  return exit_passed;
}

int demo(const Course& course, const std::string& name, const std::vector<std::string>& arguments) {
  const Lesson lesson = wanted_lesson(course, name);
  const std::string target = "demo_" + lesson.number();
  if (!fs::exists(course.root / "demos" / (lesson.name + ".cpp"))) {
    throw std::invalid_argument("lesson " + lesson.title() + " has no demonstration; see demos/");
  }
  const auto built = build(course.root, "dev", target);
  if (!built.compiler_says.empty()) say(course, built.compiler_says);
  if (!built.ok) {
    say(course, lesson.title() + " does not compile yet: begin with the first error above");
    return exit_not_judged;
  }
  std::vector<std::string> command = {(course.root / "build" / "dev" / target).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return judge::run(command, fs::current_path());
}

int next(Course& course) {
  const auto lessons = all_lessons(course.root);
  const Lesson current = current_lesson(course);
  const auto here =
      std::find_if(lessons.begin(), lessons.end(), [&](const Lesson& l) { return l.name == current.name; });
  if (here + 1 == lessons.end()) {
    say(course, current.title() + " is the last lesson. " + progress_text(course) + ".");
    return exit_passed;
  }
  const Lesson& following = *(here + 1);
  course.store.update([&](State& state) { state.current = following.name; });
  say(course, following.title() + ": " + following.subject());
  say_next_steps(course, following);
  return exit_passed;
}

int solution(const Course& course, const std::string& name, bool beside_the_learners) {
  const Lesson lesson = wanted_lesson(course, name);
  if (beside_the_learners) {
    const int columns = course.style.table_columns();
    for (const auto& line : beside_the_reference(lesson, columns)) say(course, line);
    return exit_passed;
  }
  for (const auto& file : given_files(lesson)) {
    const fs::path reference = lesson.solution_folder() / fs::path(file).filename();
    say(course, "// " + fs::relative(reference, course.root).string() + "\n\n" + lesson::read_file(reference));
  }
  if (fs::exists(lesson.solution_folder() / "NOTES.md")) {
    say(course, "why it is so: " + fs::relative(lesson.solution_folder() / "NOTES.md", course.root).string());
  }
  return exit_passed;
}

// ---------------------------------------------------------------------------------------------- nothing is lost

int reset_lesson(const Course& course, const std::string& name) {
  const Lesson lesson = wanted_lesson(course, name);
  const bool whole = missing_files(lesson).empty();
  const std::string kept = reset(lesson);
  if (kept.empty()) {
    say(course,
        lesson.title() + " is as it was at the beginning: " + (whole ? "nothing to do" : "what was missing is back"));
    return exit_passed;
  }
  say(course, lesson.title() + " is as it was at the beginning.\nWhat you had written is kept; this brings it back:\n" +
                  "  ./learn backups restore " + kept);
  return exit_passed;
}

int list_backups(const Course& course) {
  const auto all = backups(course.root);
  if (all.empty()) say(course, "There are no backups. One is made before anything that you wrote is replaced.");
  for (const auto& backup : all) {
    say(course, backup.name + "\n  before " + backup.why + ", " + backup.when);
    for (const auto& file : backup.files) say(course, "  " + without_controls(file));
  }
  if (!all.empty()) say(course, "\nTo bring one back: ./learn backups restore " + all.front().name);
  return exit_passed;
}

int restore_backup(const Course& course, const std::string& name) {
  const auto all = backups(course.root);
  if (name.empty() && all.empty()) throw std::invalid_argument("there are no backups yet");
  const std::string wanted = name.empty() ? all.front().name : name;
  const std::string kept = restore(course.root, wanted);
  say(course, "restored " + wanted);
  if (!kept.empty()) say(course, "What it replaced is kept too: ./learn backups restore " + kept);
  return exit_passed;
}

int update(const Course& course) {
  if (!fs::exists(course.root / ".git")) {
    throw std::runtime_error(course.root.string() +
                             " is no clone of a git repository, so there is nothing to update it from; clone the "
                             "course anew, and copy what you wrote in lessons/");
  }
  const auto could_not = [&](const std::string& why) {
    say(course, "git could not bring the course up to date (" + why + "); nothing of yours was changed");
    return exit_not_judged;
  };
  if (const std::string what = unfinished(course.root); !what.empty()) {
    return could_not(what + " is not finished: git status says how to end it");
  }
  const int fetched = judge::run({"git", "fetch"}, course.root);  // what takes long, or fails, while all is as it was
  if (fetched == 127) return could_not("it is not installed");
  if (fetched != 0) return could_not("above: its reason");

  const auto answers = written_answers(course);
  std::vector<std::string> files;
  for (const auto& [file, answer] : answers) files.push_back(file);
  const std::string kept = keep_copy(course.root, files, "update", "all");
  const int result = merge_under(course.root, answers);
  if (!kept.empty()) say(course, "What you wrote stands where it stood; a copy is kept as " + kept);
  if (result != 0) return could_not("above: its reason");
  for (const auto& [file, answer] : answers) say_when_it_begins_otherwise(course, file, answer.stub);
  return exit_passed;
}

// ---------------------------------------------------------------------------------------------------- the rest

int stats(const Course& course) {
  const State& state = course.store.state();
  int checks = 0;
  struct Named {
    int times;
    std::string lesson;
    std::string says;
  };
  std::vector<Named> mistakes;
  for (const auto& lesson : all_lessons(course.root)) {
    const auto known = state.lessons.find(lesson.name);
    if (known == state.lessons.end()) continue;
    checks += known->second.checks;
    for (const auto& mistake : lesson.mistakes()) {
      const auto times = known->second.mistakes.find(mistake.id);
      if (times != known->second.mistakes.end()) mistakes.push_back({times->second, lesson.number(), mistake.says});
    }
  }
  say(course, "lessons     " + progress_text(course));
  say(course, "checks      " + counted(checks, "time") + " judged");
  say(course, "days        " + counted(days_in_a_row(state.days, today()), "day") + " in a row, " +
                  counted(static_cast<int>(state.days.size()), "day") + " in all");
  for (const auto& lesson : all_lessons(course.root)) {
    const auto tried = interviews_of(state, lesson.name);
    if (tried.attempts == 0) continue;
    std::string line = "interview   " + lesson.title() + ": " + counted(tried.attempts, "attempt") + ", " +
                       std::to_string(tried.passed) + " passed";
    if (tried.passed > 0) line += ", best " + minutes_text(tried.best_minutes);
    say(course, line);
  }
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Named& a, const Named& b) { return a.times > b.times; });
  constexpr std::size_t most = 5;
  mistakes.resize(std::min(most, mistakes.size()));
  for (const auto& [times, lesson, says] : mistakes) {
    say(course, "mistake     " + counted(times, "time") + " in " + lesson + ": " + says);
  }
  return exit_passed;
}

int version(const Course& course) {
  say(course, "attention-by-hand " ATTN_VERSION);
  return exit_passed;
}

}  // namespace attn::learn
