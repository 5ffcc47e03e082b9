#include "learn/screens/interview.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "learn/commands/commands.hpp"
#include "learn/machine/checking.hpp"
#include "learn/machine/editor.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/history.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using std::chrono::steady_clock;
using Lines = std::vector<std::string>;

namespace {

constexpr std::chrono::milliseconds tick{200};
constexpr std::size_t follow_ups = 3;

/// A stub without the comments that tell what to do: the interviewer said it.
std::string blank(const std::string& stub) {
  std::string kept;
  bool in_todo = false;
  for (const auto& line : lines_of(stub)) {
    const auto text = line.find_first_not_of(' ');
    const bool comment = text != std::string::npos && line.compare(text, 2, "//") == 0;
    in_todo = comment && (in_todo || line.compare(text, 8, "// TODO(") == 0);
    if (!in_todo) kept += line + "\n";
  }
  return kept;
}

/// The blank page: the stubs, in the scratch folder. What stood there and was no stub is kept.
Lesson blank_page(const Lesson& lesson) {
  Lesson scratch = lesson;
  scratch.work_folder = ".learn/interview";
  std::vector<std::string> written;
  for (const auto& page : given_files(scratch)) {
    const fs::path file = lesson.root / page;
    if (!fs::exists(file) || lesson::read_file(file) != blank(lesson::read_file(lesson.stub_of(page))))
      written.push_back(page);
  }
  keep_copy(lesson.root, written, "interview", lesson.number());
  for (const auto& page : written) {
    fs::create_directories((lesson.root / page).parent_path());
    replace_file(lesson.root / page, blank(lesson::read_file(lesson.stub_of(page))));
  }
  return scratch;
}

class Interview {
 public:
  Interview(Course& course, const Lesson& lesson, double minutes, bool plain)
      : course_(course), terminal_(plain), lesson_(blank_page(lesson)), brief_(lesson.interview()), limit_(minutes) {
    course_.style = terminal_.style();
    before_ = interviews_of(course_.store.state(), lesson_.name);
    choose_follow_ups();
    ahead_ = std::make_unique<Judgement>(lesson_);
    begin_ = steady_clock::now();
  }

  /// @return whether it was passed
  bool run() {
    bool news = true;
    while (stage_ != Stage::over) {
      if (news || (judgement_ && !terminal_.style().plain)) draw();
      if (stage_ == Stage::working) terminal_.show_in_corner(clock());
      const Key pressed = terminal_.wait(tick, {judgement_ ? judgement_->wake_fd() : -1});
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
    return record_.passed;
  }

 private:
  enum class Stage { working, giving_up, result, over };

  // ---------------------------------------------------------------------------------------------- what happens

  double minutes() const { return std::chrono::duration<double, std::ratio<60>>(steady_clock::now() - begin_).count(); }

  std::string clock() const {
    const double left = limit_ - minutes();
    const int seconds = static_cast<int>(std::abs(left) * 60);
    char text[32];
    std::snprintf(text, sizeof text, "%d:%02d", seconds / 60, seconds % 60);
    return std::string(text) + (left < 0 ? " over" : " left");
  }

  void choose_follow_ups() {
    questions_ = lesson_.questions();
    if (questions_.empty()) return;
    const auto first = static_cast<std::size_t>(before_.attempts) * follow_ups % questions_.size();  // others each time
    std::rotate(questions_.begin(), questions_.begin() + static_cast<std::ptrdiff_t>(first), questions_.end());
    questions_.resize(std::min(follow_ups, questions_.size()));
  }

  bool look() {
    if (stage_ == Stage::working && !told_over_ && minutes() > limit_) {
      told_over_ = true;
      note_ = "The time is over. Go on if you like: it counts as late.";
      return true;
    }
    if (ahead_ && ahead_->advance()) ahead_.reset();
    if (!judgement_ || !judgement_->advance()) return false;
    verdict_ = judgement_->verdict();
    judgement_.reset();
    if (verdict_->kind == Verdict::Kind::stopped) return true;
    mistakes_.insert(verdict_->mistakes.begin(), verdict_->mistakes.end());
    if (verdict_->kind == Verdict::Kind::passed) finish();
    return true;
  }

  void suspend() {
    if (judgement_) judgement_->pause();
    if (ahead_) ahead_->pause();
    terminal_.suspend();
    if (judgement_) judgement_->resume();
    if (ahead_) ahead_->resume();
  }

  void check() {
    ++checks_;
    handed_in_ = minutes();
    ahead_.reset();
    first_line_ = 0;
    showing_task_ = false;
    judgement_ = std::make_unique<Judgement>(lesson_);
  }

  /// Ends it, as passed or not, and notes it down.
  void finish() {
    stage_ = Stage::result;
    first_line_ = 0;
    record_.when = now_text();
    record_.lesson = lesson_.name;
    record_.passed = verdict_ && verdict_->kind == Verdict::Kind::passed;
    record_.minutes = record_.passed ? handed_in_ : minutes();
    record_.limit = limit_;
    record_.checks = checks_;
    record_.mistakes.assign(mistakes_.begin(), mistakes_.end());
    const double share = verdict_ && verdict_->total() > 0 ? 1.0 * verdict_->passed() / verdict_->total() : 0;
    const int grade = grade_of(record_, share);
    course_.store.update(
        [&](State& state) {
          state.interviews.push_back(record_);
          for (const auto& id : record_.mistakes) ++state.lessons[lesson_.name].mistakes[id];
          Card& card = state.cards[lesson_.name];
          if (card.due <= today() || grade < known_from) card = reviewed(card, grade, today());  // early is no news
          Card fresh;
          fresh.due = today() + 1;
          for (const auto& question : lesson_.questions()) {
            state.cards.try_emplace(lesson_.name + ": " + question.text, fresh);
          }
        },
        true);
  }

  // ------------------------------------------------------------------------------------------------------- keys

  void press(Key pressed) {
    note_.clear();
    if (pressed == keys::closed) stage_ = Stage::over;
    if (pressed == keys::ctrl_c) return interrupt();
    if (const auto line = terminal_.scrolled(pressed, first_line_)) {
      first_line_ = *line;
      return;
    }
    if (stage_ == Stage::giving_up) return decide(pressed);
    if (stage_ == Stage::result) return press_after(pressed);
    switch (pressed) {
      case 'c': return judgement_ ? void() : check();
      case 't': return turn_over();
      case 'e': return edit();
      case 'q': stage_ = Stage::giving_up; return;
      default: return;
    }
  }

  /// From the verdict to the task, and back.
  void turn_over() {
    showing_task_ = verdict_ && !showing_task_;
    first_line_ = 0;
  }

  void interrupt() {
    if (!judgement_) {
      note_ = stage_ == Stage::result ? "Nothing is running. q quits." : "Nothing is running. q hands in.";
      return;
    }
    judgement_->stop();
    judgement_.reset();
    note_ = "The check was stopped.";
  }

  void decide(Key pressed) {
    stage_ = Stage::working;
    if (pressed != 'y') return;
    judgement_.reset();
    finish();
  }

  void press_after(Key pressed) {
    if (pressed == 'q') stage_ = Stage::over;
    if (pressed == 'a') answered_ = true;
    if (pressed == 'd') comparing_ = !comparing_;
    if (pressed == 'd') first_line_ = 0;
    if (pressed == 'n' && asked_ + 1 < questions_.size()) {
      ++asked_;
      answered_ = false;
    }
  }

  void edit() {
    const auto command = editor_command(lesson_);
    if (command.empty()) {
      note_ = "No editor is set. For example: export EDITOR=nano";
    } else if (terminal_.lend(command, course_.root.string()) == 127) {
      note_ = "The editor in $EDITOR could not be started.";
    }
  }

  // -------------------------------------------------------------------------------------------------- the screen

  void draw() { first_line_ = terminal_.show(header(), body(), footer(), first_line_); }

  Lines header() const {
    const std::string checks = counted(checks_, "check") + " used";
    const bool told = terminal_.style().plain && stage_ == Stage::working;  // otherwise it is in the corner
    return {"Interview: " + lesson_.title(), checks + (told ? ", " + clock() : ""), ""};
  }

  Lines body() const {
    if (stage_ == Stage::giving_up)
      return {"Hand it in as it is? It counts as not passed.", "", "y yes   any other key no"};
    if (stage_ == Stage::result) {
      return comparing_ ? beside_the_reference(lesson_, terminal_.columns()) : result_lines();
    }
    if (judgement_) return {terminal_.style().plain ? "checking ..." : judgement_->doing() + " ..."};
    return verdict_ && !showing_task_ ? lines_of(verdict_->text) : paragraphs_of(brief_.text);
  }

  Lines result_lines() const {
    Lines lines = {result_sentence(), best_sentence()};
    for (const auto& mistake : lesson_.mistakes()) {
      if (mistakes_.count(mistake.id) != 0) lines.push_back("mistake  " + mistake.says);
    }
    if (questions_.empty()) return lines;
    lines.insert(lines.end(), {"",
                               "Follow-up question " + std::to_string(asked_ + 1) + " of " +
                                   std::to_string(questions_.size()) + ". Say your answer aloud.",
                               "", questions_[asked_].text});
    if (!answered_) return lines;
    lines.emplace_back();
    for (const auto& line : paragraphs_of(questions_[asked_].answer)) lines.push_back(line);
    return lines;
  }

  std::string result_sentence() const {
    std::ostringstream time;
    time << minutes_text(record_.minutes) << " of " << limit_;
    const std::string checks = counted(record_.checks, "check") + " used";
    if (!record_.passed) return "Not passed: " + time.str() + ", " + checks;
    return (record_.minutes > limit_ ? "Passed, late: " : "Passed: ") + time.str() + ", " + checks;
  }

  std::string best_sentence() const {
    const std::string tried = counted(before_.attempts + 1, "attempt") + " so far";
    const bool better = before_.passed == 0 || record_.minutes < before_.best_minutes;
    if (record_.passed && better) return "A personal best. " + tried + ".";
    if (before_.passed == 0) return tried + "; none passed yet.";
    return "Your best: " + minutes_text(before_.best_minutes) + ", on " + before_.best_on + ". " + tried + ".";
  }

  Lines footer() const {
    Lines lines = {""};
    for (const auto& file : lesson_.stub_files()) lines.push_back("write  " + file);
    if (!note_.empty()) lines.push_back(note_);
    if (stage_ == Stage::result) {
      lines.emplace_back("a answer  n next question  d the reference beside yours  q quit");
    } else {
      const std::string turn = showing_task_ ? "t the last check" : verdict_ ? "t the task again" : "";
      lines.push_back("c check (it counts)  " + turn + (turn.empty() ? "" : "  ") + "e edit  q hand in");
    }
    return lines;
  }

  Course& course_;
  Terminal terminal_;
  Lesson lesson_;
  lesson::InterviewBrief brief_;
  double limit_;
  steady_clock::time_point begin_;
  Stage stage_ = Stage::working;
  std::unique_ptr<Judgement> ahead_;  ///< builds while the task is being read, so that the first check is quick
  std::unique_ptr<Judgement> judgement_;
  std::optional<Verdict> verdict_;
  int checks_ = 0;
  double handed_in_ = 0;  ///< minutes, when the last check was asked for: building and checking take nobody's time
  std::set<std::string> mistakes_;
  Tries before_;
  InterviewRecord record_;
  std::vector<lesson::Question> questions_;
  std::size_t asked_ = 0;
  bool answered_ = false;
  bool comparing_ = false;
  bool showing_task_ = false;
  bool told_over_ = false;
  int first_line_ = 0;
  std::string note_;
};

/// Which lesson to be asked about, when none was named.
Lesson lesson_to_ask(const Course& course) {
  const auto lessons = all_lessons(course.root);
  const State& state = course.store.state();
  for (const auto& lesson : lessons) {
    const bool blank_class = fs::exists(lesson.adapter_file());
    if (blank_class && interviews_of(state, lesson.name).passed == 0) return lesson;
  }
  std::map<std::string, std::size_t> last;  // the place of each lesson's last interview; they are oldest first
  for (std::size_t i = 0; i < state.interviews.size(); ++i) last[state.interviews[i].lesson] = i;
  const Lesson* longest_ago = nullptr;
  for (const auto& lesson : lessons) {
    if (last.count(lesson.name) == 0) continue;
    if (longest_ago == nullptr || last[lesson.name] < last[longest_ago->name]) longest_ago = &lesson;
  }
  return longest_ago == nullptr ? lessons.front() : *longest_ago;
}

}  // namespace

int interview(Course& course, const std::string& name, std::optional<double> minutes, bool plain) {
  const Lesson lesson = name.empty() ? lesson_to_ask(course) : lesson::find_lesson(course.root, name);
  if (!Terminal::available()) {
    std::cerr << "an interview needs a terminal: its clock and its keys. The task of " << lesson.title()
              << " is in lessons/" << lesson.name << "/interview.md\n";
    return exit_not_judged;
  }
  Interview session(course, lesson, minutes.value_or(lesson.interview().minutes), plain);
  return session.run() ? exit_passed : exit_failed;
}

}  // namespace attn::learn
