#include "learn/memory/deck.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "learn/memory/history.hpp"
#include "lesson/text.hpp"

namespace attn::learn {

using lesson::Lesson;

namespace {

/// The questions of a lesson, and the lesson.
std::vector<Item> all_items(const Lesson& lesson) {
  std::vector<Item> items;
  for (const auto& question : lesson.questions()) items.push_back({card_of(lesson, question), lesson, question});
  items.push_back({lesson.name, lesson, {}});
  return items;
}

std::vector<Item> all_items(const Course& course) {
  std::vector<Item> items;
  for (const auto& lesson : all_lessons(course.root)) {
    const auto more = all_items(lesson);
    items.insert(items.end(), more.begin(), more.end());
  }
  return items;
}

/// What is known of it; null when that is nothing.
const Card* find_card(const State& state, const Item& item) {
  const auto found = state.cards.find(item.card);
  return found == state.cards.end() ? nullptr : &found->second;
}

std::vector<Item> due_items(const Course& course) {
  std::vector<Item> items = all_items(course);
  const auto left_out = [&](const Item& item) {
    const Card* const card = find_card(course.store.state(), item);
    return card == nullptr || card->due > today();
  };
  items.erase(std::remove_if(items.begin(), items.end(), left_out), items.end());
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::pair(!a.question, a.card) < std::pair(!b.question, b.card);
  });
  return items;
}

bool ever_passed(const State& state, const Lesson& lesson) {
  return !state.record_of(lesson.name).first_passed.empty();
}

bool is_weak_item(const State& state, const Item& item) {
  const Card* const card = find_card(state, item);
  if (card != nullptr && is_weak(*card)) return true;
  return !item.question && !state.record_of(item.lesson.name).mistakes.empty();
}

std::vector<Item> chosen_items(const Course& course, const Choice& choice) {
  if (choice.is_due_only()) return due_items(course);
  const State& state = course.store.state();
  const bool one = !choice.lesson.empty();
  std::vector<Item> items = one ? all_items(lesson::find_lesson(course.root, choice.lesson)) : all_items(course);
  const auto left_out = [&](const Item& item) {
    if (one) return false;
    if (choice.fresh) return !item.question || find_card(state, item) != nullptr;
    return choice.weak ? !is_weak_item(state, item) : !item.question && !ever_passed(state, item.lesson);
  };
  items.erase(std::remove_if(items.begin(), items.end(), left_out), items.end());
  const auto rank = [&](const Item& item) {
    const auto asked = item.question ? item.question->asked : lesson::Asked::often;
    return std::tuple(!item.question, !ever_passed(state, item.lesson), asked);
  };
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return rank(a) < rank(b); });
  return items;
}

}  // namespace

std::vector<Item> items_of(const Course& course, const Choice& choice) {
  std::vector<Item> items = chosen_items(course, choice);
  if (!choice.questions) return items;
  const auto is_lesson = [](const Item& item) { return !item.question; };
  items.erase(std::remove_if(items.begin(), items.end(), is_lesson), items.end());
  if (items.size() > *choice.questions)
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*choice.questions), items.end());
  return items;
}

std::string due_text(const Course& course) {
  const auto due = static_cast<int>(due_items(course).size());
  if (due > 0) return "Due today: " + counted(due, "item") + ".";
  std::optional<Day> next;
  for (const Item& item : all_items(course)) {
    const Card* const card = find_card(course.store.state(), item);
    if (card != nullptr) next = std::min(next.value_or(card->due), card->due);
  }
  if (!next) return "Nothing to review yet: lessons that you pass, and their questions, come back here.";
  return "Nothing is due today. The next review is due on " + day_text(*next) + ".";
}

}  // namespace attn::learn
