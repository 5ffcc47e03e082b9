#include "gate/answers.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "gate/judge.hpp"
#include "verdict/words.hpp"

namespace attn::gate {

using judge::Failure;
using lesson::Answer;
using lesson::Lesson;

namespace {

const std::array<const char*, 6> from_best_to_worst = {outcomes::named,  outcomes::described, outcomes::numbers,
                                                       outcomes::passed, outcomes::misled,    outcomes::rejected};

std::size_t rank(const std::string& outcome) {
  return static_cast<std::size_t>(std::find(from_best_to_worst.begin(), from_best_to_worst.end(), outcome) -
                                  from_best_to_worst.begin());
}

/// Whether the name of a check says no more than that its result has to be the right one.
bool is_about_values_alone(const std::string& check) {
  static const std::regex names("Equals.*|Gives.*|.*ByHand|Keeps.*(PyTorchHas|OtherSizes).*|.*AsPyTorch.*");
  return std::regex_match(check, names);
}

bool describes(const judge::CheckResult& check, const Failure& shown) {
  if (!shown.notes.empty() || !shown.statements.empty() || !shown.likeness.empty()) return true;
  return shown.kind != Failure::Kind::value || !is_about_values_alone(check.name);
}

/// Whether one of the mistakes between which the judge cannot tell is true of the answer.
bool is_true(const std::vector<std::string>& likely, const Answer& answer) {
  return std::any_of(likely.begin(), likely.end(), [&](const std::string& id) {
    return std::find(answer.names.begin(), answer.names.end(), id) != answer.names.end();
  });
}

bool may_differ_from_goal(const Answer& answer, const std::string& outcome) {
  const bool expected = answer.right ? outcome == outcomes::passed : outcome != outcomes::passed;
  return expected || !answer.why.empty();
}

using Counts = std::map<std::string, int>;

struct Totals {
  Counts wrong;
  Counts right;
  int unexplained = 0;  ///< right ones that are rejected without a reason

  int count(const char* outcome) const {
    const auto found = wrong.find(outcome);
    return found == wrong.end() ? 0 : found->second;
  }
  int rejected() const {
    return count(outcomes::named) + count(outcomes::described) + count(outcomes::numbers) + count(outcomes::misled);
  }
  double share(int of_them) const { return rejected() == 0 ? 0 : 100.0 * of_them / rejected(); }
};

Totals totals_of(const std::vector<Lesson>& lessons) {
  Totals totals;
  for (const auto& lesson : lessons) {
    for (const auto& answer : lesson.answers()) {
      ++(answer.right ? totals.right : totals.wrong)[answer.outcome];
      if (answer.right && answer.outcome != outcomes::passed && answer.why.empty()) ++totals.unexplained;
    }
  }
  return totals;
}

std::string text_of(const Answer& answer, const std::string& outcome) {
  return "the " + std::string(answer.right ? "right" : "wrong") + " answer " + answer.id + " (" + answer.what +
         ") is now " + outcome;
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
  if (!worse && may_differ_from_goal(answer, outcome)) return {};
  const judge::CheckResult* first = report.first_failing();
  return {text_of(answer, outcome) + (worse ? ", and was " + answer.outcome : ", without a \"why\"") +
          (first == nullptr ? "" : "\n" + judge::describe(*first, lesson))};
}

std::string summary_of_answers(const std::vector<Lesson>& lessons) {
  std::ostringstream out;
  const auto row = [&](const std::string& title, const Totals& totals) {
    out << std::left << std::setw(30) << title << std::right;
    for (const char* outcome : from_best_to_worst) {
      if (outcome != outcomes::rejected) out << std::setw(11) << totals.count(outcome);
    }
    const auto rejected = totals.right.find(outcomes::rejected);
    out << std::setw(11) << (rejected == totals.right.end() ? 0 : rejected->second) << "\n";
  };
  out << std::setw(30) << " ";
  for (const char* outcome : from_best_to_worst) out << std::setw(11) << outcome;
  out << "\n";
  for (const auto& lesson : lessons) row(lesson.title(), totals_of({lesson}));
  row("all", totals_of(lessons));
  return out.str();
}

Problems judge_outcomes(const std::vector<Lesson>& lessons) {
  constexpr double least_named = 45;
  constexpr double least_named_or_described = 88;
  constexpr double most_misled = 1;
  const Totals totals = totals_of(lessons);
  if (totals.rejected() == 0) return {};
  const int named = totals.count(outcomes::named);
  Problems problems;
  const auto miss = [&](double share, const std::string& what) {
    std::ostringstream sentence;
    sentence << std::fixed << std::setprecision(1) << share << " % of the wrong answers in tests/*/answers.json "
             << what;
    problems.push_back(sentence.str());
  };
  if (totals.share(named) < least_named) miss(totals.share(named), "are named; at least 45 % should be");
  if (const double share = totals.share(named + totals.count(outcomes::described)); share < least_named_or_described) {
    miss(share, "are named or described; at least 88 % should be");
  }
  if (const double share = totals.share(totals.count(outcomes::misled)); share > most_misled) {
    miss(share, "are given the name of another mistake; at most 1 % may be");
  }
  if (totals.unexplained > 0) problems.push_back("right answers are rejected, without a \"why\" in their answers.json");
  return problems;
}

}  // namespace attn::gate
