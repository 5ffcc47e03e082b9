#include "learn/screens/review.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>
#include <optional>

#include "learn/commands/commands.hpp"
#include "learn/memory/history.hpp"
#include "learn/screens/interview.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

using lesson::Lesson;
using Lines = std::vector<std::string>;

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
class Review {
 public:
  Review(Course& course, bool plain) : course_(course), plain_(plain), items_(due_items(course)) {}

  void run() {
    terminal_.emplace(plain_);
    while (!items_.empty() && !quit_) {
      const Item item = items_.front();
      items_.pop_front();
      item.question ? ask(item) : offer(item);
    }
    terminal_.reset();
  }

  int answered() const { return answered_; }

 private:
  /// Shows something and waits for one of these keys.
  char choose(const Lines& body, const std::string& keys, const std::string& allowed) {
    const Lines header = {"Review: " + counted(static_cast<int>(items_.size()) + 1, "item") + " to go", ""};
    int first_line = 0;
    while (true) {
      first_line = terminal_->show(header, body, {"", keys}, first_line);
      const Key pressed = terminal_->wait(std::chrono::hours(1));
      if (pressed == keys::suspend) terminal_->suspend();
      first_line = terminal_->scrolled(pressed, first_line).value_or(first_line);
      if (pressed == keys::closed || pressed == keys::ctrl_c || pressed == 'q') {
        quit_ = true;
        return 'q';
      }
      for (const char one : allowed) {
        if (pressed == one) return one;
      }
    }
  }

  void ask(const Item& item) {
    Lines body = {item.lesson.title(), "", item.question->text, "", "Say your answer aloud."};
    if (choose(body, "a answer  q quit", "a") == 'q') return;
    body.pop_back();
    for (const auto& line : paragraphs_of(item.question->answer)) body.push_back(line);
    body.insert(body.end(),
                {"", "How was yours?", "5 perfect   4 right, after some thought   3 right, with great effort",
                 "2 wrong, but I knew it when I saw it   1 wrong, it rang a bell   0 no idea"});
    const char grade = choose(body, "0 to 5 grade  q quit", "012345");
    if (grade != 'q') note(item, grade - '0');
  }

  void note(Item item, int grade) {
    if (!item.again) {
      ++answered_;
      course_.store.update(
          [&](State& state) { state.cards[item.card] = reviewed(state.cards[item.card], grade, today()); }, true);
    }
    item.again = true;
    if (again_today(grade)) items_.push_back(item);
  }

  void offer(const Item& item) {
    const auto minutes = std::to_string(item.lesson.interview().minutes);
    const Lines body = {item.lesson.title() + ": " + item.lesson.subject(), "",
                        "Write it once more from blank, as an interview of " + minutes + " minutes."};
    if (choose(body, "y begin  n not today  q quit", "yn") != 'y') return;
    terminal_.reset();
    interview(course_, item.lesson.name, {}, plain_);  // it notes the grade itself
    terminal_.emplace(plain_);
    ++answered_;
  }

  Course& course_;
  bool plain_;
  std::optional<Terminal> terminal_;  ///< none while an interview has its own
  std::deque<Item> items_;
  int answered_ = 0;
  bool quit_ = false;
};

}  // namespace

int review(Course& course, bool plain) {
  const auto items = due_items(course);
  if (items.empty()) {
    std::cout << course.style(still_due(course)) << "\n";
    return exit_passed;
  }
  if (!Terminal::available()) {
    std::cout << course.style(still_due(course)) << "\n";
    for (const auto& item : items) {
      const std::string what = item.question ? item.question->text : "write it from blank";
      std::cout << course.style("  " + item.lesson.title() + ": " + what) << "\n";
    }
    return exit_passed;
  }
  Review session(course, plain);
  session.run();
  std::cout << course.style("Reviewed " + counted(session.answered(), "item") + ". " + still_due(course)) << "\n";
  return exit_passed;
}

}  // namespace attn::learn
