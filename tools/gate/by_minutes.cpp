#include "gate/by_minutes.hpp"

#include <algorithm>
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

std::string by_minutes(std::vector<Listed> questions) {
  const auto rank = [](const Listed& question) { return std::tie(question.asked, question.place, question.topic); };
  std::sort(questions.begin(), questions.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::string section =
      "## By minutes\n\n"
      "An answer takes two to three minutes. Questions asked often come first; among them, one of each topic before a "
      "second of\nany. A longer time adds to a shorter one.\n";
  std::size_t taken = 0;
  for (const auto& sitting : {Sitting{15, "15 minutes"}, {30, "30 minutes"}, {60, "An hour"}, {120, "Two hours"}}) {
    const auto enough = std::min(questions.size(), static_cast<std::size_t>(sitting.minutes / minutes_per_question));
    if (enough == taken) break;
    const std::string number = counted(static_cast<int>(enough - taken), "question");
    section += "\n### " + sitting.name + ": " + (taken == 0 ? number : "add " + number) + "\n\n";
    for (; taken < enough; ++taken) section += "- " + questions[taken].link + "\n";
  }
  return section;
}

}  // namespace attn::gate
