#include <deque>
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

/// What is asked, and whether for the first time today.
struct Turn {
  Item item;
  bool again = false;  ///< asked once more today, without a new date
};

const std::string drills = "To practise all the same: ./learn review --all, --weak or --lesson 07.";

std::deque<Turn> turns_of(const std::vector<Item>& items) {
  std::deque<Turn> turns;
  for (const Item& item : items) turns.push_back({item});
  return turns;
}

/// One question after the other, until none is left or the learner quits.
class Review : public Screen {
 public:
  Review(Course& course, const std::vector<Item>& items) : Screen(course), turns_(turns_of(items)) {}

  int count() const { return reviewed_; }

 private:
  bool press(Key key) override {
    const bool is_question = item().question.has_value();
    if (key == 'q') {
      close();
    } else if (is_question && !answered_ && key == 'a') {
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

  const Item& item() const { return turns_.front().item; }

  void next() {
    turns_.pop_front();
    answered_ = false;
    turn_page();
    if (turns_.empty()) close();
  }

  void grade(int grade) {
    Turn turn = turns_.front();
    if (!turn.again) {
      ++reviewed_;
      course_.store.update(
          [&](State& state) {
            Card& card = state.cards[turn.item.card];
            card = answered(card, grade, today());
          },
          true);
    }
    turn.again = true;
    if (again_today(grade)) turns_.push_back(turn);
    next();
  }

  void redo() {
    const std::string lesson = item().lesson.name;
    terminal_.lend([&] { interview(course_, lesson, {}); });  // it records the grade itself
    ++reviewed_;
    next();
  }

  Lines header() const override {
    return {Line("Review: " + counted(static_cast<int>(turns_.size()), "item") + " to go", Role::important), ""};
  }

  Lines body() const override {
    const Lesson& lesson = item().lesson;
    if (item().question) return review_lines(lesson.title(), *item().question, answered_);
    return {lesson.title() + ": " + lesson.subject(), "",
            "Write it from blank, as an interview of " + std::to_string(lesson.interview().minutes) + " minutes."};
  }

  Lines footer() const override {
    Lines lines = {""};
    if (!note_.empty()) lines.emplace_back(note_);
    const bool is_question = item().question.has_value();
    const Keys keys = !is_question ? Keys{{"y", "begin"}, {"n", "not today"}, {"q", "quit"}}
                      : answered_  ? Keys{{"0", "to 5 grade"}, {"q", "quit"}}
                                   : Keys{{"a", "answer"}, {"q", "quit"}};
    append(lines, key_lines(keys, terminal_.columns()));
    return lines;
  }

  std::deque<Turn> turns_;  ///< the one that is shown first
  bool answered_ = false;   ///< its answer is shown
  int reviewed_ = 0;
};

}  // namespace

int review(Course& course, const Choice& choice) {
  const auto items = items_of(course, choice);
  if (items.empty()) {
    course.print(choice.weak ? "Nothing is weak: no answer failed, and no mistake was named." : due_text(course));
    if (choice.is_due_only()) course.print(drills);
    return exit_passed;
  }
  if (!Terminal::available()) {
    course.print(choice.is_due_only() ? due_text(course) : counted(static_cast<int>(items.size()), "item") + ":");
    for (const auto& item : items) {
      const std::string what = item.question ? item.question->text : "write it from blank";
      course.print("  " + item.lesson.title() + ": " + what);
    }
    return exit_passed;
  }
  int reviewed = 0;
  {
    Review session(course, items);
    session.run();
    reviewed = session.count();
  }  // gives the terminal back
  course.print("Reviewed " + counted(reviewed, "item") + ". " + due_text(course));
  return exit_passed;
}

}  // namespace attn::learn
