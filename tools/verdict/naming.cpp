#include "verdict/naming.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "lesson/lesson.hpp"

namespace attn::judge {

namespace {

using nlohmann::json;
using State = CheckResult::State;

/// A failing comparison of a run, and the mistakes that give the same there.
struct Clue {
  Failure* failure;
  const Recordings::Place* place;
  std::string task;
  std::set<std::string> same;  ///< ids

  const Fingerprint& got() const { return failure->comparison->got; }
};

/// The comparisons of a run that can be looked up.
std::vector<Clue> clues_in(std::vector<CheckResult>& checks, const Recordings& recordings) {
  std::vector<Clue> clues;
  for (auto& check : checks) {
    for (auto& failure : check.failures) {
      if (!failure.comparison) continue;
      const auto* place = recordings.find(check.full_name(), *failure.comparison);
      if (place == nullptr) continue;
      Clue clue{&failure, place, check.task, {}};
      for (const auto& [id, got] : place->got) {
        if (got.equals(failure.comparison->got, failure.comparison->tolerance)) clue.same.insert(id);
      }
      clues.push_back(std::move(clue));
    }
  }
  return clues;
}

bool has_nan(const Failure& failure) {
  return failure.worst && std::isnan(failure.worst->got) && !std::isnan(failure.worst->expected);
}

/// Whether a result that is the same for two mistakes may be so by chance: it has few numbers, as in examples worked by
/// hand, or it has NaN, or all are 0.
bool may_be_chance(const Clue& clue) {
  constexpr std::size_t few = 9;
  return has_nan(*clue.failure) || clue.got().count() < few || clue.got().is_zero();
}

/// What speaks for a mistake and against it.
struct Balance {
  int agrees = 0;       ///< comparisons that got what the mistake gives
  int convincing = 0;   ///< those of them that are not so by chance
  int differs = 0;      ///< they got something else, and it is not what the mistake gives either
  int unexplained = 0;  ///< they fail, and with the mistake they would not
  int passes = 0;       ///< they pass, and with the mistake they would not

  int score() const { return agrees - passes; }
};

/// How well each mistake explains a run.
class Evidence {
 public:
  Evidence(const std::vector<CheckResult>& checks, const std::vector<Clue>& clues, const Recordings& recordings) {
    for (const auto& clue : clues) weigh(clue, recordings);
    for (const auto& check : checks) {
      for (const auto& failure : check.failures) {
        for (const auto& id : failure.likely) ++whole_[id].agrees;
      }
      count_what_passed(check, recordings);
    }
  }

  /// Whether a mistake can be named for a comparison about this task. What passes there and would fail with the mistake
  /// speaks against it; what passes elsewhere does not, because the same may be wrong in another function. What fails
  /// in another way may come from a second mistake; but if all that agrees may do so by chance, the mistake has to
  /// explain everything, or nearly.
  bool supports(const std::string& id, const std::string& task) const {
    const Balance whole = at(whole_, id);
    const Balance about = at(tasks_, {task, id});
    if (about.passes > about.agrees) return false;
    constexpr int nearly_all = 8;
    if (about.convincing == 0) return nearly_all * (whole.differs + whole.unexplained) <= whole.agrees;
    return about.agrees > about.differs;
  }

  int score(const std::string& id) const { return at(whole_, id).score(); }

 private:
  template <typename Key>
  static Balance at(const std::map<Key, Balance>& balances, const Key& key) {
    const auto found = balances.find(key);
    return found == balances.end() ? Balance{} : found->second;
  }

  void weigh(const Clue& clue, const Recordings& recordings) {
    for (const auto& id : recordings.mistakes()) {
      const bool fails_there = clue.place->got.count(id) != 0;
      const bool same = clue.same.count(id) != 0;
      for (Balance* balance : {&whole_[id], &tasks_[{clue.task, id}]}) {
        if (same && !may_be_chance(clue)) ++balance->convincing;
        ++(same ? balance->agrees : fails_there ? balance->differs : balance->unexplained);
      }
    }
  }

  /// Comparisons that passed speak against the mistakes that fail there.
  void count_what_passed(const CheckResult& check, const Recordings& recordings) {
    const auto places = recordings.checks().find(check.full_name());
    if (places == recordings.checks().end()) return;
    std::set<int> failed;
    for (const auto& failure : check.failures) {
      if (failure.comparison) failed.insert(failure.comparison->number);
    }
    for (const auto& [number, place] : places->second) {
      const bool reached = check.passed() || (!failed.empty() && number < *failed.rbegin());
      if (!reached || failed.count(number) != 0) continue;
      for (const auto& [id, got] : place.got) {
        ++whole_[id].passes;
        ++tasks_[{check.task, id}].passes;
      }
    }
  }

  std::map<std::string, Balance> whole_;                          ///< by the mistake's id
  std::map<std::pair<std::string, std::string>, Balance> tasks_;  ///< by task and id
};

std::vector<std::string> most_likely(const Clue& clue, const Evidence& evidence) {
  std::vector<std::string> best;
  int best_score = 0;
  for (const auto& id : clue.same) {
    if (!evidence.supports(id, clue.task)) continue;
    const int score = evidence.score(id);
    if (!best.empty() && score < best_score) continue;
    if (!best.empty() && score > best_score) best.clear();
    best.push_back(id);
    best_score = score;
  }
  return best;
}

/// Whether a failure shows what the code computed, or that it could not: then a name found elsewhere helps. A claim does
/// not: it says itself what is wrong.
bool asks_for_a_name(const Failure& failure) {
  return failure.likely.empty() && (failure.comparison || failure.kind == Failure::Kind::shape ||
                                    failure.kind == Failure::Kind::exception || failure.kind == Failure::Kind::ended);
}

/// The first failing check takes the name that another one about the same task found, by comparing numbers.
void borrow_name(std::vector<CheckResult>& checks) {
  const auto first = std::find_if(checks.begin(), checks.end(), [](const auto& check) { return !check.passed(); });
  if (first == checks.end() || first->shown() == nullptr || !asks_for_a_name(*first->shown())) return;
  for (const auto& check : checks) {
    if (check.task != first->task) continue;
    for (const auto& failure : check.failures) {
      if (failure.likely.empty() || !failure.comparison || has_nan(failure)) continue;
      first->shown()->likely = failure.likely;
      if (&check != &*first) first->borrowed = check.full_name();
      return;
    }
  }
}

}  // namespace

Recordings Recordings::read(const std::filesystem::path& file) {
  Recordings recordings;
  if (!std::filesystem::exists(file)) return recordings;
  try {
    const json all = lesson::read_json(file);
    for (const auto& [check, places] : all.items()) {
      for (const auto& [key, results] : places.items()) {
        const auto number_end = key.find(' ');
        Place& place = recordings.checks_[check][std::stoi(key.substr(0, number_end))];
        place.expected = Fingerprint::from_text(key.substr(number_end + 1));
        for (const auto& [print, ids] : results.items()) {
          for (const auto& id : ids) {
            place.got[id] = Fingerprint::from_text(print);
            recordings.mistakes_.insert(id);
          }
        }
      }
    }
  } catch (const std::logic_error& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  } catch (const json::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
  return recordings;
}

const Recordings::Place* Recordings::find(const std::string& check, const Comparison& comparison) const {
  const auto places = checks_.find(check);
  if (places == checks_.end()) return nullptr;
  const auto place = places->second.find(comparison.number);
  if (place == places->second.end()) return nullptr;
  return place->second.expected.equals(comparison.expected, comparison.tolerance) ? &place->second : nullptr;
}

void Recordings::add(const std::string& mistake, const Report& run, const Report& again) {
  const auto found_in = [](const Report& report, const std::string& check, int number) -> const Comparison* {
    for (const auto& result : report.checks) {
      if (result.full_name() != check) continue;
      for (const auto& failure : result.failures) {
        if (failure.comparison && failure.comparison->number == number) return &*failure.comparison;
      }
    }
    return nullptr;
  };
  for (const auto& result : run.checks) {
    for (const auto& failure : result.failures) {
      if (!failure.comparison) continue;
      const Comparison& comparison = *failure.comparison;
      const Comparison* second = found_in(again, result.full_name(), comparison.number);
      const bool same_task = second != nullptr && second->expected.equals(comparison.expected, comparison.tolerance);
      if (same_task && !second->got.equals(comparison.got, comparison.tolerance)) continue;
      Place& place = checks_[result.full_name()][comparison.number];
      place.expected = comparison.expected;
      place.got[mistake] = comparison.got;
      mistakes_.insert(mistake);
    }
  }
}

void Recordings::thin_out() {
  constexpr int enough = 2;
  for (auto& [check, places] : checks_) {
    std::map<std::string, int> kept;
    for (auto place = places.begin(); place != places.end();) {
      const auto& got = place->second.got;
      const bool needed =
          std::any_of(got.begin(), got.end(), [&](const auto& one) { return kept[one.first] < enough; });
      if (needed) {
        for (const auto& [id, print] : got) ++kept[id];
      }
      place = needed ? std::next(place) : places.erase(place);
    }
  }
}

std::string Recordings::text() const {
  std::string text = "{";
  std::string before_check;
  for (const auto& [check, places] : checks_) {
    text += before_check + "\n" + json(check).dump() + ": {";
    before_check = ",";
    std::string before_place;
    for (const auto& [number, place] : places) {
      std::map<std::string, std::vector<std::string>> results;
      for (const auto& [id, print] : place.got) results[print.text()].push_back(id);
      text += before_place + "\n " + json(std::to_string(number) + " " + place.expected.text()).dump() + ": {";
      before_place = ",";
      std::string before_result;
      for (const auto& [print, ids] : results) {
        text += before_result + "\n  " + json(print).dump() + ": " + json(ids).dump();
        before_result = ",";
      }
      text += "}";
    }
    text += "}";
  }
  return text + "\n}\n";
}

void name_mistakes(std::vector<CheckResult>& checks, const Recordings& recordings) {
  const auto clues = clues_in(checks, recordings);
  const Evidence evidence(checks, clues, recordings);
  for (const auto& clue : clues) {
    Failure found;
    found.likely = most_likely(clue, evidence);
    merge(*clue.failure, found);
  }
  borrow_name(checks);
}

}  // namespace attn::judge
