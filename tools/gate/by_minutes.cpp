#include "gate/by_minutes.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "lesson/text.hpp"

namespace attn::gate {

namespace {

constexpr double minutes_per_question = 2.5;

/// A time, and the heading of what it adds.
struct Sitting {
  int minutes;
  std::string name;
};

}  // namespace

std::string question_anchor(const lesson::Lesson& lesson, const std::string& question) {
  std::string anchor = lesson.number();
  bool in_word = false;
  for (const char c : question) {
    const bool was_in_word = in_word;
    in_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (in_word && !was_in_word) anchor += '-';
    if (in_word) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

std::string by_minutes(std::vector<Listed> questions) {
  const auto rank = [](const Listed& question) { return std::tie(question.asked, question.place, question.topic); };
  std::sort(questions.begin(), questions.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::string section =
      "## By minutes\n\nAn answer takes two to three minutes. Questions asked often come first; among them, one of "
      "each "
      "topic before a second of\nany. A longer time adds to a shorter one.\n";
  std::size_t taken = 0;
  for (const auto& sitting : {Sitting{15, "15 minutes"}, {30, "30 minutes"}, {60, "An hour"}, {120, "Two hours"}}) {
    const auto enough = std::min(questions.size(), static_cast<std::size_t>(sitting.minutes / minutes_per_question));
    if (enough == taken) break;
    const std::string number = counted(static_cast<int>(enough - taken), "question");
    section += "\n### " + sitting.name + ": " + (taken == 0 ? number : "add " + number) + "\n\n";
    for (; taken < enough; ++taken) section += "- [" + questions[taken].text + "](#" + questions[taken].anchor + ")\n";
  }
  return section;
}

}  // namespace attn::gate
