#include <deque>
#include <optional>

#include "learn/commands/commands.hpp"
#include "learn/memory/history.hpp"
#include "learn/screens/screen.hpp"
#include "learn/screens/screens.hpp"
#include "learn/screens/views.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

using lesson::Lesson;

namespace {

const std::string separator = ": ";

/// What a card of the state stands for.
struct Item {
  std::string card;
  Lesson lesson;
  std::optional<lesson::Question> question;  ///< none: the lesson itself, to be redone
  bool again = false;                        ///< asked once more today, without a new date
};

/// The item of a card; nothing when the lesson or the question is no longer part of the course.
std::optional<Item> item_of(const std::filesystem::path& root, const std::string& card) {
  const std::string name = card.substr(0, card.find(separator));
  for (const auto& lesson : all_lessons(root)) {
    if (lesson.name != name) continue;
    if (name == card) return Item{card, lesson, {}};
    for (const auto& question : lesson.questions()) {
      if (name + separator + question.text == card) return Item{card, lesson, question};
    }
  }
  return {};
}

/// What the learner is asked about, without cards of lessons and questions that are no longer part of the course.
State known_cards(const Course& course) {
  State known;
  for (const auto& [name, card] : course.store.state().cards) {
    if (item_of(course.root, name)) known.cards[name] = card;
  }
  return known;
}

std::deque<Item> due_items(const Course& course) {
  std::deque<Item> items;
  for (const auto& card : due_cards(course.store.state(), today())) {
    if (auto item = item_of(course.root, card)) items.push_back(*item);
  }
  return items;
}

std::string still_due(const Course& course) {
  const auto due = static_cast<int>(due_items(course).size());
  if (due > 0) return "Due today: " + counted(due, "item") + ".";
  const std::string next = next_due(known_cards(course));
  if (next.empty()) return "Nothing to review yet: lessons that you pass, and their questions, come back here.";
  return "Nothing is due today. The next review is due on " + next + ".";
}

/// One question after the other, until none is left or the learner quits.
class Review : public Screen {
 public:
  Review(Course& course, bool asked_plain)
      : Screen(course, asked_plain), asked_plain_(asked_plain), items_(due_items(course)) {}

  int count() const { return reviewed_; }

 private:
  bool press(Key key) override {
    const bool is_question = items_.front().question.has_value();
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

  void next() {
    items_.pop_front();
    answered_ = false;
    turn_page();
    if (items_.empty()) close();
  }

  void grade(int grade) {
    Item item = items_.front();
    if (!item.again) {
      ++reviewed_;
      course_.store.update(
          [&](State& state) { state.cards[item.card] = reviewed(state.cards[item.card], grade, today()); }, true);
    }
    item.again = true;
    if (again_today(grade)) items_.push_back(item);
    next();
  }

  void redo() {
    const std::string lesson = items_.front().lesson.name;
    terminal_.lend([&] { interview(course_, lesson, {}, asked_plain_); });  // it records the grade itself
    ++reviewed_;
    next();
  }

  Lines header() const override {
    return {"Review: " + counted(static_cast<int>(items_.size()), "item") + " to go", ""};
  }

  Lines body() const override {
    const Item& item = items_.front();
    if (item.question) return review_lines(item.lesson.title(), *item.question, answered_);
    return {item.lesson.title() + ": " + item.lesson.subject(), "",
            "Write it again from blank, as an interview of " + std::to_string(item.lesson.interview().minutes) +
                " minutes."};
  }

  Lines footer() const override {
    Lines lines = {""};
    if (!note_.empty()) lines.push_back(note_);
    const bool is_question = items_.front().question.has_value();
    lines.emplace_back(!is_question ? "y begin  n not today  q quit"
                       : answered_  ? "0 to 5 grade  q quit"
                                    : "a answer  q quit");
    return lines;
  }

  bool asked_plain_;
  std::deque<Item> items_;  ///< the one that is shown first
  bool answered_ = false;   ///< its answer is shown
  int reviewed_ = 0;
};

}  // namespace

int review(Course& course, bool plain) {
  const auto items = due_items(course);
  if (items.empty()) {
    course.print(still_due(course));
    return exit_passed;
  }
  if (!Terminal::available()) {
    course.print(still_due(course));
    for (const auto& item : items) {
      const std::string what = item.question ? item.question->text : "write it from blank";
      course.print("  " + item.lesson.title() + ": " + what);
    }
    return exit_passed;
  }
  int reviewed = 0;
  {
    Review session(course, plain);
    session.run();
    reviewed = session.count();
  }  // gives the terminal back
  course.print("Reviewed " + counted(reviewed, "item") + ". " + still_due(course));
  return exit_passed;
}

}  // namespace attn::learn
