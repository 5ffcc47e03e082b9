#include "gate/answers.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <regex>
#include <sstream>

#include "gate/judge.hpp"
#include "lesson/text.hpp"
#include "verdict/words.hpp"

namespace attn::gate {

using judge::Failure;
using lesson::Answer;
using lesson::Lesson;

namespace {

const std::vector<std::string> from_best_to_worst = {outcomes::named,  outcomes::described, outcomes::numbers,
                                                     outcomes::passed, outcomes::misled,    outcomes::rejected};

auto rank(const std::string& outcome) {
  return std::find(from_best_to_worst.begin(), from_best_to_worst.end(), outcome) - from_best_to_worst.begin();
}

/// Whether the name of a check says no more than that its result has to be the right one.
bool is_about_values_alone(const std::string& check) {
  static const std::regex names("Equals.*|Gives.*|.*ByHand|Keeps.*(PyTorchHas|OtherSizes).*|.*AsPyTorch.*");
  return std::regex_match(check, names);
}

bool describes(const judge::CheckResult& check, const Failure& shown) {
  if (!shown.notes.empty() || !shown.statements.empty() || !shown.likeness.empty()) return true;
  const bool nearly_right = shown.worst && std::abs(shown.worst->got - shown.worst->expected) < 1e-5;
  if (nearly_right) return true;  // as words.cpp notes: is there a float?
  return shown.kind != Failure::Kind::value || !is_about_values_alone(check.name);
}

/// Whether one of the mistakes between which the judge cannot tell is true of the answer.
bool is_true(const std::vector<std::string>& likely, const Answer& answer) {
  return std::any_of(likely.begin(), likely.end(), [&](const std::string& id) {
    return std::find(answer.names.begin(), answer.names.end(), id) != answer.names.end();
  });
}

/// How many answers have which outcome. Of the right ones only those count that are rejected.
std::map<std::string, int> count_outcomes(const std::vector<Lesson>& lessons) {
  std::map<std::string, int> counts;
  for (const auto& lesson : lessons) {
    for (const auto& answer : lesson.answers()) {
      if (!answer.right || answer.outcome == outcomes::rejected) ++counts[answer.outcome];
    }
  }
  return counts;
}

}  // namespace

std::string outcome_of(const Answer& answer, const judge::Report& report) {
  const judge::CheckResult* first = report.first_failing();
  if (first == nullptr) return outcomes::passed;
  if (answer.right) return outcomes::rejected;
  bool named = false;
  for (const auto& check : report.checks) {
    const Failure* shown = check.shown();
    if (shown == nullptr || shown->likely.empty()) continue;
    if (!is_true(shown->likely, answer)) return outcomes::misled;
    named = true;
  }
  if (named) return outcomes::named;
  const Failure* shown = first->shown();
  return shown == nullptr || describes(*first, *shown) ? outcomes::described : outcomes::numbers;
}

Problems judge_answer(const Lesson& lesson, const Answer& answer, const judge::Report& report,
                      const judge::Recordings& recordings) {
  const std::string outcome = outcome_of(answer, report);
  const bool fewer_clues = has_other_numbers(recordings, report) && rank(outcome) <= rank(outcomes::numbers);
  const bool worse = rank(outcome) > rank(answer.outcome) && !fewer_clues;
  const bool as_it_should_be = answer.right == (outcome == outcomes::passed);
  if (!worse && (as_it_should_be || !answer.why.empty())) return {};
  const judge::CheckResult* first = report.first_failing();
  return {std::string("the ") + (answer.right ? "right" : "wrong") + " answer " + answer.id + " (" + answer.what +
          ") is now " + outcome + (worse ? ", and was " + answer.outcome : ", without a \"why\"") +
          (first == nullptr ? "" : "\n" + judge::describe(*first, lesson))};
}

std::string summary_of_answers(const std::vector<Lesson>& lessons) {
  std::ostringstream out;
  const auto row = [&](const std::string& title, const auto& cell) {
    out << std::left << std::setw(30) << title << std::right;
    for (const auto& outcome : from_best_to_worst) out << std::setw(11) << cell(outcome);
    out << "\n";
  };
  const auto row_of_counts = [&](const std::string& title, const std::vector<Lesson>& of) {
    auto counts = count_outcomes(of);
    row(title, [&](const std::string& outcome) { return counts[outcome]; });
  };
  row("", [](const std::string& outcome) { return outcome; });
  for (const auto& lesson : lessons) row_of_counts(lesson.title(), {lesson});
  row_of_counts("all", lessons);
  return out.str();
}

namespace {

/// Shares of the wrong answers that are rejected, in percent.
struct Goals {
  int least_named;
  int least_described;  ///< or named
  int most_misled;
};

constexpr Goals for_all = {60, 93, 1};
constexpr Goals for_each = {37, 83, 5};  ///< of 20 to 36 answers one is enough for some percent

void require(const Goals& goals, const std::vector<Lesson>& lessons, const std::string& where, Problems& problems) {
  auto counts = count_outcomes(lessons);
  const int named = counts[outcomes::named];
  const int described = named + counts[outcomes::described];
  const int misled = counts[outcomes::misled];
  const int rejected = described + counts[outcomes::numbers] + misled;
  const auto miss = [&](int number, const std::string& goal, int percent) {
    problems.push_back(with_decimals(100.0 * number / rejected, 1) + " % of the wrong answers in " + where + " are " +
                       goal + std::to_string(percent) + " %");
  };
  if (100 * named < goals.least_named * rejected) miss(named, "named; it should be at least ", goals.least_named);
  if (100 * described < goals.least_described * rejected) {
    miss(described, "named or described; it should be at least ", goals.least_described);
  }
  if (100 * misled > goals.most_misled * rejected) {
    miss(misled, "given the name of another mistake; it may be at most ", goals.most_misled);
  }
}

}  // namespace

Problems judge_outcomes(const std::vector<Lesson>& lessons) {
  Problems problems;
  require(for_all, lessons, "tests/*/answers.json", problems);
  for (const auto& lesson : lessons) require(for_each, {lesson}, "tests/" + lesson.name + "/answers.json", problems);
  const auto is_unexplained = [](const Answer& answer) {
    return answer.right && answer.outcome != outcomes::passed && answer.why.empty();
  };
  const bool unexplained = std::any_of(lessons.begin(), lessons.end(), [&](const Lesson& lesson) {
    const auto answers = lesson.answers();
    return std::any_of(answers.begin(), answers.end(), is_unexplained);
  });
  if (unexplained) problems.push_back("right answers are rejected, without a \"why\" in their answers.json");
  return problems;
}

}  // namespace attn::gate
