#include <algorithm>
#include <csignal>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "learn/commands/commands.hpp"
#include "learn/memory/answers.hpp"
#include "run/process.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

namespace {

/// What a learner wrote in a file, and what the file began as; what else is to stay as it is.
struct Answer {
  std::string text;
  std::string stub;
  fs::perms permissions{};
  fs::path link;         ///< where it leads; empty when it is not a link
  std::string staged;    ///< "mode,object", when git has a change of it in the index
  bool skipped = false;  ///< git leaves it alone (skip-worktree)
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
      std::error_code none;
      if (!fs::is_regular_file(course.root / file, none)) continue;
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

/// Whether a file has a text that is neither the stub nor the answer: an editor may save while git works.
bool was_saved_meanwhile(const Lesson& lesson, const std::string& file, const Answer& answer) {
  if (!fs::is_regular_file(lesson.root / file)) return false;
  const std::string text = lesson::read_file(lesson.root / file);
  const fs::path new_stub = lesson.stub_of(file);
  return text != answer.stub && text != answer.text && !(fs::exists(new_stub) && text == lesson::read_file(new_stub));
}

/// Puts an answer back where git has put a stub.
void restore_answer(const fs::path& root, const std::string& file, const Answer& answer) {
  std::error_code ignored;
  const Lesson lesson{root, fs::path(file).parent_path().filename().string()};
  if (was_saved_meanwhile(lesson, file, answer)) keep_copy(root, {file}, "update", lesson.number());
  if (answer.link.empty()) {
    replace_file(root / file, answer.text);
    fs::permissions(root / file, answer.permissions, ignored);
  } else if (!fs::is_symlink(root / file)) {
    const fs::path beside = name_while_written(root / file);
    fs::create_symlink(answer.link, beside);
    fs::rename(beside, root / file);  // never without either
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

/// A folder of answers that is a link, in whose place git would put a folder of its own; empty when there is none.
std::string linked_folder(const fs::path& root) {
  std::vector<fs::path> folders = {"lessons"};
  for (const auto& lesson : all_lessons(root)) folders.push_back(folders.front() / lesson.name);
  for (const fs::path& folder : folders) {
    if (fs::is_symlink(root / folder)) return folder.string();
  }
  return {};
}

/// While it lives, nothing but kill -9 ends us, or what we start.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    for (std::size_t i = 0; i < std::size(signals); ++i) before_[i] = std::signal(signals[i], SIG_IGN);
  }
  ~SignalsBlocked() {
    for (std::size_t i = 0; i < std::size(signals); ++i) std::signal(signals[i], before_[i]);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  void (*before_[std::size(signals)])(int);
};

/// Merges what git fetched, with the stubs instead of the answers meanwhile. @return git's exit code
int merge_under(const fs::path& root, const std::map<std::string, Answer>& answers) {
  const SignalsBlocked until_the_answers_are_back;
  std::vector<std::string> put_stubs = {"git", "checkout", "--quiet", "HEAD", "--"};
  for (const auto& [file, answer] : answers) {
    put_stubs.push_back(file);
    if (answer.skipped) git(root, {"update-index", "--no-skip-worktree", "--", file});
  }
  int result = answers.empty() ? 0 : judge::run(put_stubs, root);
  if (result == 0) result = judge::run({"git", "merge", "--ff-only", "@{upstream}"}, root);
  for (const auto& [file, answer] : answers) {
    fs::create_directories((root / file).parent_path());  // gone, where the lesson has another name now
    restore_answer(root, file, answer);
  }
  return result;
}

void report_new_stub(const Course& course, const std::string& file, const std::string& stub) {
  const Lesson lesson{course.root, fs::path(file).parent_path().filename().string()};
  const fs::path now = lesson.stub_of(file);
  if (!fs::exists(now)) {
    course.print(file + " is no longer part of the course: yours is still there");
  } else if (lesson::read_file(now) != stub) {
    course.print(file + " has a new starting point: compare yours with " + fs::relative(now, course.root).string());
  }
}

}  // namespace

int update(const Course& course) {
  if (!fs::exists(course.root / ".git")) {
    throw std::runtime_error(course.root.string() +
                             " is not a clone of a git repository, so there is nothing to update it from; clone the "
                             "course again, and copy what you wrote in lessons/");
  }
  const auto could_not = [&](const std::string& why) {
    course.print("git could not bring the course up to date (" + why + "); nothing of yours was changed");
    return exit_not_judged;
  };
  if (const std::string what = unfinished(course.root); !what.empty()) {
    return could_not(what + " is not finished: git status says how to end it");
  }
  const int fetched = judge::run({"git", "fetch"}, course.root);  // what takes long, or fails, while all is as it was
  if (fetched == 127) return could_not("it is not installed");
  if (fetched != 0) return could_not("its reason is above");
  if (const std::string folder = linked_folder(course.root); !folder.empty()) {
    return could_not(folder + " is a symbolic link, which git would replace: move the folder itself to its place");
  }

  const auto answers = written_answers(course);
  std::vector<std::string> files;
  for (const auto& [file, answer] : answers) files.push_back(file);
  const std::string kept = keep_copy(course.root, files, "update", "all");
  const int result = merge_under(course.root, answers);
  if (!kept.empty()) course.print("What you wrote is untouched; a copy is kept as " + kept);
  if (result != 0) return could_not("its reason is above");
  for (const auto& [file, answer] : answers) report_new_stub(course, file, answer.stub);
  return exit_passed;
}

}  // namespace attn::learn
