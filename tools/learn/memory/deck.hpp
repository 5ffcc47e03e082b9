#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/commands/curriculum.hpp"
#include "lesson/lesson.hpp"

/// The cards of the state, and what they stand for in the lessons.
namespace attn::learn {

/// What a card stands for.
struct Item {
  std::string card;
  lesson::Lesson lesson;
  std::optional<lesson::Question> question;  ///< none: the lesson itself, to be written again from blank
};

/// What to review.
struct Choice {
  std::string lesson;  ///< one lesson's questions, and the lesson; due or not
  bool all = false;    ///< the questions of all lessons, and the lessons that passed; due or not
  bool weak = false;   ///< what failed last or is hard, and lessons in which mistakes were made; due or not
  bool fresh = false;  ///< questions that were never asked, of lessons that are not passed
  std::optional<std::size_t> questions = {};  ///< no more than so many, and no lessons

  /// Whether it is only what is due today.
  bool is_due_only() const { return lesson.empty() && !all && !weak && !fresh; }
};

/// The items of a choice in the order in which they are asked: questions before lessons (those take longer). Due
/// or not, lessons that passed come first, and there what is asked most often. Cards of lessons and questions that are
/// no longer part of the course are left out.
/// @throws std::invalid_argument when there is no such lesson.
std::vector<Item> items_of(const Course& course, const Choice& choice);

/// How much is due today, or when something will be.
std::string due_text(const Course& course);

}  // namespace attn::learn
