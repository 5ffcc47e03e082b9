#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <set>

#include "learn/commands/commands.hpp"
#include "learn/machine/checking.hpp"
#include "learn/memory/answers.hpp"
#include "learn/memory/history.hpp"
#include "learn/screens/screen.hpp"
#include "learn/screens/screens.hpp"
#include "learn/screens/views.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

namespace fs = std::filesystem;
using lesson::Lesson;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t follow_ups = 3;

class Interview : public Screen {
 public:
  Interview(Course& course, const Lesson& lesson, double minutes)
      : Screen(course), lesson_(blank_page(lesson)), brief_(lesson.interview()) {
    before_ = interviews_of(course.store.state(), lesson_.name);
    record_.lesson = lesson_.name;
    record_.limit = minutes;
    choose_follow_ups();
    prebuild_ = std::make_unique<Judgement>(lesson_);
    begin_ = steady_clock::now();
  }

  bool passed() const { return record_.passed; }

 private:
  // ---------------------------------------------------------------------------------------------- what happens

  double minutes() const { return std::chrono::duration<double, std::ratio<60>>(steady_clock::now() - begin_).count(); }

  void choose_follow_ups() {
    questions_ = lesson_.questions();
    if (questions_.empty()) return;
    const auto first = static_cast<std::size_t>(before_.attempts) * follow_ups % questions_.size();  // others each time
    std::rotate(questions_.begin(), questions_.begin() + static_cast<std::ptrdiff_t>(first), questions_.end());
    questions_.resize(std::min(follow_ups, questions_.size()));
  }

  bool advance() override {
    if (!is_over_ && !noted_late_ && minutes() > record_.limit) {
      noted_late_ = true;
      note_ = "Time is up. Go on if you like: it counts as late.";
      return true;
    }
    if (prebuild_ && prebuild_->advance()) prebuild_.reset();
    if (!judgement_ || !judgement_->advance()) return false;
    verdict_ = judgement_->verdict();
    judgement_.reset();
    const auto kind = verdict_->kind;
    const bool judged = kind == Verdict::Kind::passed || kind == Verdict::Kind::failed;
    if (judged) ++record_.checks;  // compiling is free, as with an interviewer
    if (kind == Verdict::Kind::not_compiled) note_ = "It does not compile yet. That does not count as a check.";
    for (const auto& id : verdict_->report.named()) mistakes_.insert(id);
    if (kind == Verdict::Kind::passed) finish();
    return true;
  }

  std::vector<Job*> jobs() override { return {judgement_.get(), prebuild_.get()}; }

  void check() {
    if (judgement_) return;
    handed_in_ = minutes();
    prebuild_.reset();
    turn_page();
    showing_task_ = false;
    judgement_ = std::make_unique<Judgement>(lesson_);
  }

  /// Ends it, as passed or not, and records it.
  void finish() {
    is_over_ = true;
    judgement_.reset();
    turn_page();
    record_.when = now_text();
    record_.passed = verdict_ && verdict_->kind == Verdict::Kind::passed;
    record_.minutes = record_.passed ? handed_in_ : minutes();
    record_.mistakes.assign(mistakes_.begin(), mistakes_.end());
    const double share = verdict_ && verdict_->total() > 0 ? 1.0 * verdict_->passed() / verdict_->total() : 0;
    record(course_.store, lesson_, record_, share);
  }

  // ------------------------------------------------------------------------------------------------------- keys

  bool press(Key key) override {
    if (is_over_) return press_when_over(key);
    switch (key) {
      case 'c': check(); return true;
      case 't': toggle(showing_task_); return true;
      case 'e': edit(lesson_, verdict_ ? verdict_->lines : Lines{}); return true;
      case 'q': ask("Hand it in as it is? It counts as not passed.", [this] { finish(); }); return true;
      default: return false;
    }
  }

  bool press_when_over(Key key) {
    switch (key) {
      case keys::enter:
      case 'a': answered_ = true; return true;
      case 's':
      case 'd': toggle(comparing_); return true;
      case 'n': ask_next(); return true;
      case 'q': close(); return true;
      default: return false;
    }
  }

  /// From one page to another, and back.
  void toggle(bool& other_page) {
    other_page = !other_page;
    turn_page();
  }

  void ask_next() {
    if (asked_ + 1 >= questions_.size()) return;
    ++asked_;
    answered_ = false;
  }

  void interrupt() override {
    note_ = judgement_ ? "The check was stopped."
            : is_over_ ? "Nothing is running. q quits."
                       : "Nothing is running. q hands in.";
    judgement_.reset();
  }

  // -------------------------------------------------------------------------------------------------- the screen

  bool is_moving() const override { return !is_over_ && !plain(); }  // the clock is

  Lines header() const override {
    const std::string clock = is_over_ ? "" : ", " + clock_text(record_.limit - minutes());
    return header_lines("Interview: " + lesson_.title(), counted(record_.checks, "check") + " used", clock);
  }

  Lines body() const override {
    if (is_over_) return comparing_ ? beside_the_reference(lesson_, terminal_.columns()) : result();
    if (judgement_) return {plain() ? "checking ..." : judgement_->doing() + " ..."};
    return verdict_ && !showing_task_ ? verdict_->lines : paragraphs_of(brief_.text);
  }

  Lines result() const {
    std::vector<std::string> mistakes;
    for (const auto& mistake : lesson_.mistakes()) {
      if (mistakes_.count(mistake.id) != 0) mistakes.push_back(mistake.says);
    }
    Lines lines = result_lines(record_, before_, mistakes);
    append(lines, follow_up_lines(questions_, asked_, answered_));
    return lines;
  }

  Lines status() const override {
    Lines lines;
    for (const auto& file : lesson_.stub_files()) lines.push_back(labelled("write  ", file));
    return lines;
  }

  Keys keys() const override {
    if (is_over_) return {{"a", "answer"}, {"n", "next question"}, {"s", "reference beside yours"}, {"q", "quit"}};
    Keys keys = {{"c", "check (it counts)"}, {"e", "edit"}, {"q", "hand in"}};
    if (verdict_) keys.insert(keys.begin() + 1, {"t", showing_task_ ? "the last check" : "the task again"});
    return keys;
  }

  Lesson lesson_;
  lesson::InterviewBrief brief_;
  steady_clock::time_point begin_;
  std::unique_ptr<Judgement> prebuild_;  ///< builds while the task is being read, so that the first check is quick
  std::unique_ptr<Judgement> judgement_;
  std::optional<Verdict> verdict_;
  double handed_in_ = 0;  ///< minutes, when the last check was asked for: building and checking are not counted
  std::set<std::string> mistakes_;
  Tries before_;
  InterviewRecord record_;
  std::vector<lesson::Question> questions_;
  std::size_t asked_ = 0;
  bool answered_ = false;
  bool comparing_ = false;
  bool showing_task_ = false;
  bool noted_late_ = false;
  bool is_over_ = false;
};

/// Which lesson to be asked about, when none was named.
Lesson lesson_to_ask(const Course& course) {
  const auto lessons = all_lessons(course.root);
  const State& state = course.store.state();
  for (const auto& lesson : lessons) {
    const bool blank_class = fs::exists(lesson.adapter_file());
    if (blank_class && interviews_of(state, lesson.name).passed == 0) return lesson;
  }
  Lesson longest_ago = lessons.front();
  std::set<std::string> later;
  for (auto past = state.interviews.rbegin(); past != state.interviews.rend(); ++past) {
    const auto lesson =
        std::find_if(lessons.begin(), lessons.end(), [&](const Lesson& one) { return one.name == past->lesson; });
    if (lesson != lessons.end() && later.insert(past->lesson).second) longest_ago = *lesson;
  }
  return longest_ago;
}

}  // namespace

std::string random_lesson(const Course& course) {
  constexpr std::size_t few = 3;
  const State& state = course.store.state();
  std::vector<std::string> pool;  // those that passed
  std::vector<std::string> important;
  for (const auto& lesson : all_lessons(course.root)) {
    if (!state.record_of(lesson.name).first_passed.empty()) {
      pool.push_back(lesson.name);
    } else if (lesson.study().asked == lesson::Asked::often) {
      important.push_back(lesson.name);
    }
  }
  if (pool.size() < few) pool.insert(pool.end(), important.begin(), important.end());
  const std::string last = state.interviews.empty() ? "" : state.interviews.back().lesson;
  if (pool.size() > 1) pool.erase(std::remove(pool.begin(), pool.end(), last), pool.end());
  if (pool.empty()) return all_lessons(course.root).front().name;
  std::random_device chance;
  return pool[std::uniform_int_distribution<std::size_t>(0, pool.size() - 1)(chance)];
}

int interview(Course& course, const std::string& name, std::optional<double> minutes) {
  const Lesson lesson = name.empty() ? lesson_to_ask(course) : lesson::find_lesson(course.root, name);
  if (!Terminal::available()) {
    std::cerr << "an interview needs a terminal: its clock and its keys. The task of " << lesson.title()
              << " is in lessons/" << lesson.name << "/interview.md\n";
    return exit_not_judged;
  }
  Interview session(course, lesson, minutes.value_or(lesson.interview().minutes));
  session.run();
  return session.passed() ? exit_passed : exit_failed;
}

}  // namespace attn::learn
