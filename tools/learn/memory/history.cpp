#include "learn/memory/history.hpp"

#include <algorithm>

namespace attn::learn {

int days_in_a_row(const std::set<std::string>& days, Day today) {
  Day day = today;
  if (days.count(day_text(day)) == 0) --day;
  int count = 0;
  while (days.count(day_text(day)) != 0) {
    ++count;
    --day;
  }
  return count;
}

Tries interviews_of(const State& state, const std::string& lesson) {
  Tries tries;
  for (const auto& interview : state.interviews) {
    if (interview.lesson != lesson) continue;
    ++tries.attempts;
    if (!interview.passed) continue;
    ++tries.passed;
    if (tries.passed > 1 && interview.minutes >= tries.best_minutes) continue;
    tries.best_minutes = interview.minutes;
    tries.best_on = interview.when.substr(0, std::string("2026-11-21").size());
  }
  return tries;
}

int grade_of(const InterviewRecord& interview, double share_of_checks) {
  if (!interview.passed) return share_of_checks >= 0.5 ? 2 : 1;
  if (interview.minutes > interview.limit) return 3;
  return interview.checks <= 1 ? 5 : 4;
}

std::vector<std::string> due_cards(const State& state, Day today) {
  std::vector<std::string> due;
  for (const auto& [name, card] : state.cards) {
    if (card.due <= today) due.push_back(name);
  }
  std::stable_partition(due.begin(), due.end(),
                        [](const std::string& name) { return name.find(": ") != std::string::npos; });
  return due;
}

std::string next_due(const State& state) {
  const auto first = std::min_element(state.cards.begin(), state.cards.end(),
                                      [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
  return first == state.cards.end() ? "" : day_text(first->second.due);
}

}  // namespace attn::learn
