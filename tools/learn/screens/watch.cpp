#include "learn/screens/watch.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "learn/commands/commands.hpp"
#include "learn/machine/checking.hpp"
#include "learn/machine/editor.hpp"
#include "learn/machine/watcher.hpp"
#include "learn/memory/answers.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;

namespace {

constexpr std::chrono::milliseconds look_again{200};
constexpr int deepest_hint = 3;

using Lines = std::vector<std::string>;

void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

/// The keys and what they do, in as many lines as it takes; none is broken between a key and its word.
Lines key_lines(int columns) {
  Lines lines = {"n next"};
  for (const char* key :
       {"p previous", "h hint", "l list", "s solution", "r reset", "c check all", "e edit", "q quit"}) {
    const std::string longer = lines.back() + "  " + key;
    if (columns_of(longer) <= columns) {
      lines.back() = longer;
    } else {
      lines.emplace_back(key);
    }
  }
  return lines;
}

/// The files that a verdict comes from: the learner's, and the course's, which may be updated meanwhile.
std::vector<fs::path> files_behind(const Lesson& lesson) {
  std::vector<fs::path> files;
  std::set<std::string> answers;
  for (const auto& file : lesson.stub_files()) answers.insert(file);
  for (const auto& file : given_files(lesson)) answers.insert(file);  // also those that are missing
  for (const auto& file : answers) files.push_back(lesson.root / file);
  for (const auto& folder : {lesson.test_folder(), lesson.root / "tools" / "judge", lesson.root / "include" / "attn"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (entry.is_regular_file(none)) files.push_back(entry.path());
    }
  }
  return files;
}

class Watch {
 public:
  Watch(Course& course, bool plain)
      : course_(course), terminal_(plain), lessons_(all_lessons(course.root)), lesson_(current_lesson(course)) {
    go_to(lesson_);
  }

  void run() {
    bool news = true;
    while (!quit_) {
      if (news || judgement_) draw();
      const Key pressed = terminal_.wait(look_again, {watcher_->wake_fd(), job_fd()});
      news = pressed != keys::none;
      try {
        if (pressed == keys::suspend) {
          suspend();
        } else if (news && pressed != keys::redraw) {
          press(pressed);
        }
        news = look() || news;
      } catch (const std::exception& error) {
        note_ = error.what();
        news = true;
      }
    }
  }

  /// What is left on the terminal afterwards.
  std::string goodbye() const { return "./learn goes on with " + lesson_.title() + "."; }

 private:
  enum class View { verdict, hint, list, solution, all };

  // ---------------------------------------------------------------------------------------------- what happens

  void go_to(const Lesson& lesson) {
    lesson_ = lesson;
    course_.store.update([&](State& state) { state.current = lesson.name; });
    watcher_ = std::make_unique<Watcher>(files_behind(lesson));
    hint_levels_.clear();
    progress_ = progress_text(course_);
    begin();
  }

  /// Builds and checks the lesson from the beginning.
  void begin() {
    stop();
    show(View::verdict);
    verdict_.reset();
    judgement_ = std::make_unique<Judgement>(lesson_);
  }

  void suspend() {
    if (judgement_) judgement_->pause();
    if (speed_) speed_->pause();
    terminal_.suspend();
    if (judgement_) judgement_->resume();
    if (speed_) speed_->resume();
  }

  /// Stops what runs.
  void stop() {
    speed_.reset();
    judgement_.reset();
    all_.clear();
  }

  /// Saves and finished jobs. @return whether there was one
  bool look() {
    if (watcher_->changed()) {
      note_.clear();  // it was about something before
      begin();
      return true;
    }
    if (judgement_ && judgement_->advance()) {
      const Verdict verdict = judgement_->verdict();
      judgement_.reset();
      all_.empty() ? finish(verdict) : finish_one_of_all(verdict);
      progress_ = progress_text(course_);
      return true;
    }
    if (!speed_ || !speed_->advance()) return false;
    speed_line_ = speed_->line();
    speed_.reset();
    return true;
  }

  void finish(const Verdict& verdict) {
    verdict_ = verdict;
    speed_line_.clear();
    record(course_.store, lesson_, verdict);
    if (verdict.kind == Verdict::Kind::passed) speed_ = std::make_unique<SpeedTest>(lesson_);
  }

  void check_all() {
    stop();
    all_ = lessons_;
    all_lines_.clear();
    judgement_ = std::make_unique<Judgement>(all_.front());
    show(View::all);
  }

  void finish_one_of_all(const Verdict& verdict) {
    const Lesson judged = all_.front();
    const Standing before = standing(course_.store.state(), judged);
    record(course_.store, judged, verdict);
    course_.store.update([&](State& state) { state.current = lesson_.name; });
    all_lines_.push_back(summary(judged, verdict, before));
    if (judged.name == lesson_.name) verdict_ = verdict;
    all_.erase(all_.begin());
    if (!all_.empty()) judgement_ = std::make_unique<Judgement>(all_.front());
  }

  // ------------------------------------------------------------------------------------------------------- keys

  void press(Key pressed) {
    note_.clear();
    if (pressed == keys::closed) quit_ = true;
    if (pressed == keys::ctrl_c) return interrupt();
    if (on_yes_) return answer(pressed);
    if (view_ == View::list && move_in_list(pressed)) return;
    if (const auto line = terminal_.scrolled(pressed, first_line_)) {
      first_line_ = *line;
      return;
    }
    switch (pressed) {
      case 'n': return step(+1);
      case 'p': return step(-1);
      case 'h': return hint();
      case 'l': return open_list();
      case 's': return solution();
      case 'r': return ask_reset();
      case 'c': return check_all();
      case 'e': return edit();
      case 'q': quit_ = true; return;
      case keys::enter: return begin();
      case '?':
        note_ =
            "Enter checks once more; arrows, Space, Home and End scroll; Esc goes back; Ctrl-C stops what runs, or "
            "quits.";
        return;
      case keys::escape: return show(all_.empty() ? View::verdict : View::all);
      default: return;
    }
  }

  void show(View view) {
    view_ = view;
    first_line_ = 0;
    on_yes_ = nullptr;
  }

  void interrupt() {
    if (judgement_ || speed_) {
      const bool one = judgement_ && all_.empty();
      if (judgement_) judgement_->stop();
      if (one) verdict_ = judgement_->verdict();
      stop();
      note_ = "stopped";
      return;
    }
    quit_ = true;
  }

  void answer(Key pressed) {
    const auto yes = on_yes_;
    on_yes_ = nullptr;
    if (pressed == 'y') return yes();
    note_ = "Nothing was changed.";
  }

  void ask(const std::string& question, std::function<void()> yes) {
    show(View::verdict);
    question_ = question;
    on_yes_ = std::move(yes);
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
    level = std::min(level + 1, deepest_hint);
    note_hint(course_.store, lesson_, level);
    show(View::hint);
  }

  void open_list() {
    selected_ = here();
    show(View::list);
    keep_selected_on_screen();
  }

  bool move_in_list(Key pressed) {
    switch (pressed) {
      case keys::up: selected_ -= selected_ > 0 ? 1 : 0; break;
      case keys::down: selected_ += selected_ + 1 < lessons_.size() ? 1 : 0; break;
      case keys::home: selected_ = 0; break;
      case keys::end: selected_ = lessons_.size() - 1; break;
      case keys::enter: go_to(lessons_[selected_]); return true;
      default: return false;
    }
    keep_selected_on_screen();
    return true;
  }

  void keep_selected_on_screen() {
    const int selected = static_cast<int>(selected_);
    first_line_ = std::clamp(first_line_, std::max(0, selected - terminal_.page() + 1), selected);
  }

  void solution() {
    if (view_ == View::solution) return show(View::verdict);
    const auto known = course_.store.state().lessons.find(lesson_.name);
    const LessonRecord record = known == course_.store.state().lessons.end() ? LessonRecord{} : known->second;
    if (!record.first_passed.empty()) return show(View::solution);
    if (record.hint_level >= deepest_hint) {
      return ask("You have not passed this lesson yet. Show the solution all the same?",
                 [this] { show(View::solution); });
    }
    note_ = "The solution opens when you have passed, or have read the third hint (h).";
  }

  void ask_reset() {
    if (!edited(lesson_)) {
      note_ = "Nothing to reset: these are the stubs as they were at the beginning.";
      return;
    }
    ask("Put the stubs of " + lesson_.title() + " back? What you wrote is kept in a backup.", [this] {
      const std::string kept = reset(lesson_);
      watcher_->changed();  // by us
      begin();
      note_ = kept.empty() ? "Reset." : "Reset. What you wrote: ./learn backups restore " + kept;
    });
  }

  void edit() {
    const auto command = editor_command(lesson_);
    if (command.empty()) {
      note_ = "No editor is set. For example: export EDITOR=nano";
      return;
    }
    if (terminal_.lend(command, course_.root.string()) == 127) note_ = "The editor in $EDITOR could not be started.";
  }

  // -------------------------------------------------------------------------------------------------- the screen

  int job_fd() const { return judgement_ ? judgement_->wake_fd() : speed_ ? speed_->wake_fd() : -1; }

  /// Where hints are wanted: the task of the first failing check, or the whole lesson.
  std::string topic() const {
    const auto* failing = verdict_ ? verdict_->first_failing() : nullptr;
    return failing == nullptr || failing->hint.empty() ? lesson_.number() : failing->hint;
  }

  void draw() {
    course_.style = terminal_.style();  // its width may be another one now
    Lines shown;
    try {
      shown = body();
    } catch (const std::exception& error) {  // a file that an editor is just replacing
      shown = {error.what()};
    }
    first_line_ = terminal_.show(header(), shown, footer(), first_line_);
  }

  Lines header() const { return {lesson_.title() + ": " + lesson_.subject(), "attention-by-hand, " + progress_, ""}; }

  Lines body() const {
    if (on_yes_) return {question_, "", "y yes   any other key no"};
    switch (view_) {
      case View::hint: return hint_lines();
      case View::list: return list_lines();
      case View::solution: return beside_the_reference(lesson_, terminal_.columns());
      case View::all: return all_lines();
      case View::verdict: break;
    }
    if (judgement_) return {doing()};
    return verdict_ ? verdict_lines() : Lines{};
  }

  std::string doing() const {
    const std::string doing = judgement_->doing();
    if (terminal_.style().plain) return doing.substr(0, doing.find(',')) + " ...";
    const Lesson& judged = all_.empty() ? lesson_ : all_.front();
    const bool first = !fs::exists(course_.root / "build" / "dev" / ("lesson_" + judged.number()));
    return doing + " ..." + (first ? "   (the first time takes a minute or two)" : "");
  }

  Lines verdict_lines() const {
    Lines lines;
    if (!verdict_->warnings.empty()) {
      append(lines, lines_of(verdict_->warnings));
      lines.emplace_back();
    }
    append(lines, lines_of(verdict_->text));
    if (verdict_->kind != Verdict::Kind::passed) return lines;
    lines.insert(lines.end(), {"", "Well done. You can now:"});
    for (const auto& goal : lesson_.goals()) lines.push_back("- " + goal);
    lines.emplace_back();
    lines.push_back(speed_ ? "speed   measuring ..." : speed_line_);
    lines.insert(lines.end(), {"", "s shows the reference beside yours, n goes on."});
    return lines;
  }

  Lines hint_lines() const {
    const int level = hint_levels_.count(topic()) != 0 ? hint_levels_.at(topic()) : 1;
    Lines lines;
    for (const auto& task : tasks_for(lesson_, topic())) {
      lines.push_back(task.id + " " + task.title);
      for (int shown = 1; shown <= level; ++shown) {
        lines.insert(lines.end(), {"", "hint " + std::to_string(shown) + " of " + std::to_string(deepest_hint)});
        append(lines, paragraphs_of(task.levels.at(static_cast<std::size_t>(shown) - 1)));
      }
      lines.emplace_back();
    }
    lines.push_back(level < deepest_hint ? "h says more, Esc goes back." : "Esc goes back; s shows the solution.");
    return lines;
  }

  Lines list_lines() const {
    Lines lines = curriculum_lines(course_);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i].replace(0, 1, i == selected_ ? ">" : " ");
    lines.insert(lines.end(), {"", "arrows move, Enter goes there, Esc goes back."});
    if (terminal_.style().plain) lines.push_back("at: " + lessons_[selected_].title());
    return lines;
  }

  Lines all_lines() const {
    Lines lines = all_lines_;
    if (judgement_) {
      lines.push_back(all_.front().title() + ": " + doing());
      lines.insert(lines.end(), {"", "Ctrl-C stops."});
    } else {
      lines.insert(lines.end(), {"", progress_text(course_), "Esc goes back."});
    }
    return lines;
  }

  Lines footer() const {
    Lines lines = {""};
    if (verdict_ && verdict_->total() > 0) {
      const int width = std::min(40, terminal_.columns() - 25);
      lines.push_back(bar(verdict_->passed(), verdict_->total(), width) + " " + std::to_string(verdict_->passed()) +
                      " of " + counted(verdict_->total(), "check"));
    }
    lines.push_back("read   lessons/" + lesson_.name + "/README.md");
    for (const auto& file : lesson_.stub_files()) lines.push_back("write  " + file);
    if (!note_.empty()) lines.push_back(note_);
    append(lines, key_lines(terminal_.columns()));
    return lines;
  }

  Course& course_;
  Terminal terminal_;
  std::vector<Lesson> lessons_;
  Lesson lesson_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Judgement> judgement_;
  std::unique_ptr<SpeedTest> speed_;
  std::string speed_line_;
  std::optional<Verdict> verdict_;
  std::map<std::string, int> hint_levels_;  ///< of the topics that hints were read on
  std::vector<Lesson> all_;                 ///< what "check all" still has to do, the one that runs first
  Lines all_lines_;
  View view_ = View::verdict;
  int first_line_ = 0;
  std::size_t selected_ = 0;
  std::string progress_;
  std::string note_;
  std::string question_;
  std::function<void()> on_yes_;
  bool quit_ = false;
};

}  // namespace

int watch(Course& course, bool plain) {
  std::string goodbye;
  {
    Watch session(course, plain);
    session.run();
    goodbye = session.goodbye();
  }
  std::cout << course.style(goodbye) << std::endl;
  return exit_passed;
}

}  // namespace attn::learn
