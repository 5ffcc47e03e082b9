#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "learn/commands/commands.hpp"
#include "learn/commands/own_parts.hpp"
#include "learn/machine/build.hpp"
#include "learn/machine/checking.hpp"
#include "learn/machine/watcher.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/history.hpp"
#include "learn/screens/programs.hpp"
#include "learn/screens/screen.hpp"
#include "learn/screens/screens.hpp"
#include "learn/screens/views.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

namespace {

/// The files that a verdict comes from: the learner's, and the course's, which may be updated meanwhile.
std::vector<fs::path> files_behind(const Lesson& lesson) {
  std::vector<fs::path> files;
  for (const auto& answers : {lesson.stub_files(), given_files(lesson)}) {  // also those that are missing
    for (const auto& file : answers) files.push_back(lesson.root / file);
  }
  const fs::path tools = lesson.root / "tools";
  for (const auto& folder : {lesson.test_folder(), tools / "lesson", tools / "verdict", tools / "checks", tools / "run",
                             lesson.root / "include" / "attn"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (entry.is_regular_file(none)) files.push_back(entry.path());
    }
  }
  return files;
}

bool has_passed_nothing(const State& state) {
  return std::all_of(state.lessons.begin(), state.lessons.end(),
                     [](const auto& lesson) { return lesson.second.first_passed.empty(); });
}

/// What runs while the learner reads and writes: the checks of one lesson and then its speed, or the checks of all.
class Checks {
 public:
  explicit Checks(Course& course) : course_(course) {}

  /// From the beginning.
  void begin(const Lesson& lesson) {
    stop();
    lesson_ = lesson;
    verdict_.reset();
    judgement_ = std::make_unique<Judgement>(lesson);
  }

  void begin_all() {
    stop();
    checked_.clear();
    not_started_.clear();
    for (const auto& lesson : all_lessons(course_.root)) {
      if (edited(lesson)) {
        to_check_.push_back(lesson);
      } else {
        const Standing where = standing(course_.store.state(), lesson);
        (where == Standing::reset ? checked_ : not_started_).push_back(summary_of_stub(course_.store.state(), lesson));
      }
    }
    if (!to_check_.empty()) judgement_ = std::make_unique<Judgement>(to_check_.front());
  }

  /// @return whether something has ended
  bool advance() {
    if (judgement_ && judgement_->advance()) {
      const Verdict verdict = judgement_->verdict();
      judgement_.reset();
      to_check_.empty() ? finish(verdict) : finish_one_of_all(verdict);
      return true;
    }
    if (!speed_ || !speed_->advance()) return false;
    speed_line_ = speed_->line();
    speed_.reset();
    return true;
  }

  void stop() {
    speed_.reset();
    judgement_.reset();
    to_check_.clear();
  }

  /// Stops what is being judged, as the verdict then says. @return whether something was
  bool interrupt() {
    if (!judgement_) return false;
    judgement_->stop();
    if (to_check_.empty()) verdict_ = judgement_->verdict();
    stop();
    return true;
  }

  std::vector<Job*> jobs() const { return {judgement_.get(), speed_.get()}; }
  bool are_of_all() const { return !to_check_.empty(); }
  bool are_judged() const { return judgement_ != nullptr; }
  const Lesson& judged() const { return to_check_.empty() ? lesson_ : to_check_.front(); }

  std::string doing(bool plain) const {
    const bool first_build = !fs::exists(build_folder(course_.root) / judged().program());
    return doing_line(judgement_->doing(), plain, first_build);
  }

  const std::optional<Verdict>& verdict() const { return verdict_; }                           ///< on the one lesson
  Line speed() const { return speed_ ? labelled("speed   ", "measuring ...") : speed_line_; }  ///< in it
  const Lines& checked() const { return checked_; }  ///< a summary of each lesson of all
  const Lines& not_started() const { return not_started_; }

 private:
  void finish(const Verdict& verdict) {
    verdict_ = verdict;
    speed_line_ = {};
    record(course_.store, lesson_, verdict);
    if (verdict.kind == Verdict::Kind::passed) speed_ = std::make_unique<SpeedTest>(lesson_);
  }

  void finish_one_of_all(const Verdict& verdict) {
    const Lesson judged = to_check_.front();
    const Standing before = standing(course_.store.state(), judged);
    record(course_.store, judged, verdict);
    course_.store.update([&](State& state) { state.current = lesson_.name; });
    checked_.push_back(summary(judged, verdict, before));
    if (judged.name == lesson_.name) verdict_ = verdict;
    to_check_.erase(to_check_.begin());
    if (!to_check_.empty()) judgement_ = std::make_unique<Judgement>(to_check_.front());
  }

  Course& course_;
  Lesson lesson_;
  std::unique_ptr<Judgement> judgement_;
  std::unique_ptr<SpeedTest> speed_;
  Line speed_line_;
  std::optional<Verdict> verdict_;
  std::vector<Lesson> to_check_;  ///< of all, the one that runs first
  Lines checked_;
  Lines not_started_;
};

class Watch : public Screen {
 public:
  explicit Watch(Course& course)
      : Screen(course), lessons_(all_lessons(course.root)), lesson_(current_lesson(course)), checks_(course) {
    go_to(lesson_);
  }

  const Lesson& lesson() const { return lesson_; }

 private:
  enum class View { verdict, hint, list, solution, all };

  // ---------------------------------------------------------------------------------------------- what happens

  void go_to(const Lesson& lesson) {
    lesson_ = lesson;
    course_.store.update([&](State& state) { state.current = lesson.name; });
    watcher_ = std::make_unique<Watcher>(files_behind(lesson));
    hint_levels_.clear();
    note_progress();
    check();
  }

  void check() {
    show(View::verdict);
    checks_.begin(lesson_);
    is_new_ = here() == 0 && !edited(lesson_) && has_passed_nothing(course_.store.state());
  }

  bool advance() override {
    if (watcher_->changed()) {
      note_.clear();  // it was about something before
      check();
      return true;
    }
    if (!checks_.advance()) return false;
    note_progress();
    return true;
  }

  void note_progress() {
    progress_ = progress_text(course_);
    const Lesson next = next_to_do(course_, lesson_);
    next_steps_ = {strip(course_)};
    next_steps_.back().spans.push_back({"  " + progress_});
    if (const std::string runs = runs_in_text(lesson_); !runs.empty()) next_steps_.emplace_back(runs);
    if (next.name == lesson_.name) {
      next_steps_.emplace_back("That was the last one: all are passed.");
    } else {
      next_steps_.emplace_back("Next: " + next.heading());
    }
  }

  std::vector<Job*> jobs() override { return checks_.jobs(); }
  int wake_fd() const override { return watcher_->wake_fd(); }

  // ------------------------------------------------------------------------------------------------------- keys

  bool press(Key key) override {
    if (view_ == View::list && move_in_list(key)) return true;
    switch (key) {
      case 'n': step(+1); break;
      case 'p': step(-1); break;
      case 'h': hint(); break;
      case 'l': open_list(); break;
      case 's': solution(); break;
      case 'r': ask_reset(); break;
      case 'c': check_all(); break;
      case 'o': read_chapter(lesson_); break;
      case 'e': edit(lesson_, checks_.verdict() ? checks_.verdict()->lines : Lines{}); break;
      case 'q': close(); break;
      case keys::enter: check(); break;
      case keys::escape: show(checks_.are_of_all() ? View::all : View::verdict); break;
      case '?':
        note_ =
            "Enter checks again; arrows, Space, Home and End scroll; Esc goes back; Ctrl-C stops a check that runs, or "
            "quits.";
        break;
      default: return false;
    }
    return true;
  }

  void interrupt() override {
    if (!checks_.interrupt()) return close();
    note_ = "stopped";
  }

  void show(View view) {
    view_ = view;
    turn_page();
  }

  void check_all() {
    checks_.begin_all();
    show(View::all);
  }

  std::size_t here() const {
    const auto found =
        std::find_if(lessons_.begin(), lessons_.end(), [this](const Lesson& l) { return l.name == lesson_.name; });
    return static_cast<std::size_t>(found - lessons_.begin());
  }

  void step(int by) {
    const auto to = static_cast<std::ptrdiff_t>(here()) + by;
    if (to < 0 || to >= static_cast<std::ptrdiff_t>(lessons_.size())) {
      note_ = by > 0 ? "This is the last lesson." : "This is the first lesson.";
      return;
    }
    go_to(lessons_[static_cast<std::size_t>(to)]);
  }

  void hint() {
    int& level = hint_levels_[topic()];
    if (view_ == View::hint && level == deepest_hint) note_ = "That was the last hint.";
    level = std::min(level + 1, deepest_hint);
    note_hint(course_.store, lesson_, level);
    show(View::hint);
    if (level > 1) {  // from the new hint on, of the first task where there are several
      Lines earlier = hint_lines({tasks_for(lesson_, topic()).front()}, level - 1);
      earlier.pop_back();
      terminal_.scroll_to(static_cast<int>(terminal_.style().rows_of(earlier).size()));
    }
  }

  void open_list() {
    selected_ = here();
    show(View::list);
    terminal_.keep_on_screen(static_cast<int>(selected_));
  }

  bool move_in_list(Key key) {
    switch (key) {
      case keys::up: selected_ -= selected_ > 0 ? 1 : 0; break;
      case keys::down: selected_ += selected_ + 1 < lessons_.size() ? 1 : 0; break;
      case keys::home: selected_ = 0; break;
      case keys::end: selected_ = lessons_.size() - 1; break;
      case keys::enter: go_to(lessons_[selected_]); return true;
      default: return false;
    }
    terminal_.keep_on_screen(static_cast<int>(selected_));
    return true;
  }

  void solution() {
    if (view_ == View::solution) return show(View::verdict);
    const LessonRecord record = course_.store.state().record_of(lesson_.name);
    if (!record.first_passed.empty()) return show(View::solution);
    if (record.hint_level < deepest_hint) {
      note_ = "The solution opens when you have passed, or have read the third hint (h).";
      return;
    }
    show(View::verdict);
    ask("You have not passed this lesson yet. Show the solution anyway?", [this] { show(View::solution); });
  }

  void ask_reset() {
    if (!edited(lesson_)) {
      note_ = "Nothing to reset: these are the stubs as they were at the beginning.";
      return;
    }
    show(View::verdict);
    ask("Put the stubs of " + lesson_.title() + " back? What you wrote is kept in a backup.", [this] {
      const std::string kept = reset(lesson_);
      watcher_->changed();  // by us
      check();
      note_ = kept.empty() ? "Reset." : "Reset. What you wrote: ./learn backups restore " + kept;
    });
  }

  // -------------------------------------------------------------------------------------------------- the screen

  /// Where hints are wanted: the task of the first failing check, or the whole lesson.
  std::string topic() const {
    const auto* failing = checks_.verdict() ? checks_.verdict()->first_failing() : nullptr;
    return failing == nullptr || failing->task.empty() ? lesson_.number() : failing->task;
  }

  bool is_moving() const override { return checks_.are_judged(); }

  Lines header() const override { return header_lines(lesson_.heading(), "attention-by-hand, " + progress_); }

  Lines body() const override {
    switch (view_) {
      case View::hint: return hint_lines(tasks_for(lesson_, topic()), hint_level());
      case View::solution: return beside_the_reference(lesson_, terminal_.columns());
      case View::list:
        return list_lines(curriculum_lines(course_), selected_, plain() ? lessons_[selected_].title() : "");
      case View::all: {
        const std::string running =
            checks_.are_judged() ? checks_.judged().title() + ": " + checks_.doing(plain()) : "";
        return all_lines(checks_.checked(), checks_.not_started(), running, progress_);
      }
      case View::verdict: break;
    }
    const std::string doing = checks_.are_judged() ? checks_.doing(plain()) : "";
    if (is_new_) return welcome_lines(first_todo(lesson_), doing);
    if (!doing.empty()) return {doing};
    return checks_.verdict() ? verdict_lines(*checks_.verdict(), lesson_.goals(), checks_.speed(), next_steps_)
                             : Lines{};
  }

  int hint_level() const {
    const auto read = hint_levels_.find(topic());
    return read == hint_levels_.end() ? 1 : read->second;
  }

  Lines status() const override {
    return watch_status(lesson_, lesson_.stub_files(), checks_.verdict(), terminal_.columns());
  }

  Keys keys() const override {
    return {{"n", "next"},     {"p", "previous"}, {"h", "hint"},      {"o", "read"}, {"e", "edit"}, {"l", "list"},
            {"s", "solution"}, {"r", "reset"},    {"c", "check all"}, {"?", "more"}, {"q", "quit"}};
  }

  std::vector<Lesson> lessons_;
  Lesson lesson_;
  Checks checks_;
  std::unique_ptr<Watcher> watcher_;
  std::map<std::string, int> hint_levels_;  ///< of the topics that hints were read on
  View view_ = View::verdict;
  std::size_t selected_ = 0;  ///< in the list
  bool is_new_ = false;       ///< the learner is: nothing was written yet in the first lesson
  std::string progress_;
  Lines next_steps_;  ///< for when the lesson passes
};

}  // namespace

int watch(Course& course) {
  std::string goodbye;
  {
    Watch session(course);
    session.run();
    goodbye = "./learn goes on with " + session.lesson().title() + ".";
  }
  course.print(goodbye);
  return exit_passed;
}

}  // namespace attn::learn
