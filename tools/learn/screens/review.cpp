#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "learn/commands/commands.hpp"
#include "learn/memory/deck.hpp"
#include "learn/screens/screen.hpp"
#include "learn/screens/screens.hpp"
#include "learn/screens/views.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

using lesson::Lesson;

namespace {

const std::string drills = "To practise all the same: ./learn review --all, --weak or --lesson 07.";

constexpr std::size_t session_size = 10;  // items: about a quarter of an hour

/// One question after the other, ten in a session, until none is left or the learner quits.
class Review : public Screen {
 public:
  Review(Course& course, const std::vector<Item>& items) : Screen(course), later_(items.begin(), items.end()) {
    begin_session();
  }

  int count() const { return reviewed_; }
  int left() const { return static_cast<int>(items_.size() + later_.size()); }

 private:
  bool press(Key key) override {
    if (key == 'q') {
      close();
      return true;
    }
    if (items_.empty()) {
      if (key == keys::enter) begin_session();
      return key == keys::enter;
    }
    const bool is_question = item().question.has_value();
    if (is_question && !answered_ && (key == keys::enter || key == 'a')) {
      answered_ = true;
      turn_page();
    } else if (is_question && answered_ && key >= '0' && key <= '5') {
      grade(key - '0');
    } else if (!is_question && key == 'y') {
      redo();
    } else if (!is_question && key == 'n') {
      next();
    } else {
      return false;
    }
    return true;
  }

  void interrupt() override { close(); }

  const Item& item() const { return items_.front(); }

  void begin_session() {
    const auto count = static_cast<std::ptrdiff_t>(std::min(session_size, later_.size()));
    items_.assign(later_.begin(), later_.begin() + count);
    later_.erase(later_.begin(), later_.begin() + count);
  }

  void next() {
    items_.pop_front();
    answered_ = false;
    turn_page();
    if (items_.empty() && later_.empty()) close();
  }

  void grade(int grade) {
    const Item asked = item();
    if (graded_.insert(asked.card).second) {  // asked once more today, it gets no new date
      ++reviewed_;
      const auto move = [&](State& state) {
        state.cards[asked.card] = answered(state.cards[asked.card], grade, today());
      };
      course_.store.update(move, true);
    }
    if (again_today(grade)) items_.push_back(asked);
    next();
  }

  void redo() {
    const std::string lesson = item().lesson.name;
    terminal_.lend([&] { interview(course_, lesson, {}); });  // it records the grade itself
    ++reviewed_;
    next();
  }

  Lines header() const override {
    if (items_.empty()) return {Line("Review: a session is done", Role::important), ""};
    const std::string more = later_.empty() ? "" : ", and " + std::to_string(later_.size()) + " after this session";
    return {Line({{"Review: " + counted(static_cast<int>(items_.size()), "item") + " to go", Role::important}, {more}}),
            ""};
  }

  Lines body() const override {
    if (items_.empty()) return {counted(static_cast<int>(later_.size()), "item") + " more. What you graded is kept."};
    const Lesson& lesson = item().lesson;
    if (item().question) return review_lines(lesson.title(), *item().question, answered_);
    return {lesson.heading(), "",
            "Write it from blank, as an interview of " + std::to_string(lesson.interview().minutes) + " minutes."};
  }

  Keys keys() const override {
    if (items_.empty()) return {{"Enter", "next session"}, {"q", "quit"}};
    if (!item().question) return {{"y", "begin"}, {"n", "not today"}, {"q", "quit"}};
    return {answered_ ? Keys::value_type{"0", "to 5 grade"} : Keys::value_type{"Enter", "answer"}, {"q", "quit"}};
  }

  std::deque<Item> items_;        ///< of this session, the one that is shown first
  std::deque<Item> later_;        ///< in other sessions
  bool answered_ = false;         ///< its answer is shown
  std::set<std::string> graded_;  ///< cards that were answered today
  int reviewed_ = 0;
};

}  // namespace

int review(Course& course, const Choice& choice) {
  const auto items = items_of(course, choice);
  if (items.empty()) {
    course.print(choice.weak    ? "Nothing is weak: no answer failed, and no mistake was named."
                 : choice.fresh ? "No question is new: you were asked all of them."
                                : due_text(course));
    if (choice.is_due_only()) course.print(drills);
    return exit_passed;
  }
  if (!Terminal::available()) {
    course.print(choice.is_due_only() ? due_text(course) : counted(static_cast<int>(items.size()), "item") + ":");
    for (const auto& item : items) {
      const std::string what = item.question ? item.question->text : "write it from blank";
      course.print({with_code("  " + item.lesson.title() + ": " + what)});
    }
    return exit_passed;
  }
  int reviewed = 0;
  int left = 0;
  {
    Review session(course, items);
    session.run();
    reviewed = session.count();
    left = session.left();
  }  // gives the terminal back
  if (left > 0) {
    course.print("Stopped: " + counted(reviewed, "item") + " reviewed, " + std::to_string(left) + " left.");
  } else {
    course.print("Reviewed " + counted(reviewed, "item") + ". " + due_text(course));
  }
  return exit_passed;
}

}  // namespace attn::learn
