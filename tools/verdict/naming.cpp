#include "verdict/naming.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

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
  bool supports(const std::string& id, const std::string& task) {
    const Balance& whole = whole_[id];
    const Balance& about = tasks_[{task, id}];
    if (about.passes > about.agrees) return false;
    constexpr int nearly_all = 8;
    if (about.convincing == 0) return nearly_all * (whole.differs + whole.unexplained) <= whole.agrees;
    return about.agrees > about.differs;
  }

  int score(const std::string& id) { return whole_[id].score(); }

 private:
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

std::vector<std::string> most_likely(const Clue& clue, Evidence& evidence) {
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

using Sizes = std::vector<std::size_t>;

constexpr double units_per_one = 1e9;  ///< of the means of a recorded fingerprint
constexpr int base = 36;               ///< that they are written in

/// "4x3x1:dux1 -4c0l": sizes and means, without the sizes when they are the usual ones.
std::string fingerprint_text(const Fingerprint& print, const Sizes& usual) {
  std::string text;
  if (print.sizes != usual) {
    for (const auto size : print.sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    text += ":";
  }
  for (const double mean : print.means) {
    char digits[32];
    const auto end = std::to_chars(digits, std::end(digits), std::llround(mean * units_per_one), base).ptr;
    text += std::string(digits, end) + " ";
  }
  text.pop_back();
  return text;
}

/// Takes a number, and one character after it, off the beginning of a text.
/// @throws std::invalid_argument when there is no number.
std::int64_t take_number(std::string_view& text, int in_base = 10) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, in_base);
  if (error != std::errc{}) throw std::invalid_argument("expected a number at \"" + std::string(text) + "\"");
  text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
  return number;
}

/// Takes a fingerprint off the beginning of a text.
/// @throws std::invalid_argument when there is none.
Fingerprint take_fingerprint(std::string_view& text, const Sizes& usual) {
  Fingerprint print{usual, {}};
  if (text.find(':') != text.npos) print.sizes.clear();
  while (text.find(':') != text.npos) print.sizes.push_back(static_cast<std::size_t>(take_number(text)));
  for (double& mean : print.means) mean = static_cast<double>(take_number(text, base)) / units_per_one;
  return print;
}

}  // namespace

Recordings Recordings::read(const std::filesystem::path& file) {
  Recordings recordings;
  if (!std::filesystem::exists(file)) return recordings;
  const json all = lesson::read_json(file);
  try {
    const auto ids = all.at("mistakes").get<std::vector<std::string>>();
    recordings.mistakes_.insert(ids.begin(), ids.end());
    for (const auto& [check, comparisons] : all.at("checks").items()) {
      for (const auto& comparison : comparisons) {
        Place& place = recordings.checks_[check][comparison.at(0)];
        std::string_view expected = comparison.at(1).get_ref<const std::string&>();
        place.expected = take_fingerprint(expected, {});
        for (std::string_view rest = comparison.at(2).get_ref<const std::string&>(); !rest.empty();) {
          std::string_view result = rest.substr(0, rest.find(','));
          rest.remove_prefix(std::min(rest.size(), result.size() + 1));
          const auto print = take_fingerprint(result, place.expected.sizes);
          while (!result.empty()) place.got[ids.at(static_cast<std::size_t>(take_number(result)))] = print;
        }
      }
    }
  } catch (const std::exception& error) {
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
  const std::vector<std::string> ids(mistakes_.begin(), mistakes_.end());
  std::string text = "{\"mistakes\": " + json(ids).dump() + ",\n\"checks\": {";
  std::string before_check;
  for (const auto& [check, places] : checks_) {
    text += before_check + "\n" + json(check).dump() + ": [";
    before_check = ",";
    std::string before_place;
    for (const auto& [number, place] : places) {
      std::map<std::string, std::string> results;  // places of mistakes in the list, by fingerprint
      for (const auto& [id, got] : place.got) {
        const auto index = std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
        results[fingerprint_text(got, place.expected.sizes)] += " " + std::to_string(index);
      }
      std::string list;
      for (const auto& [print, mistakes] : results) list += (list.empty() ? "" : ",") + print + mistakes;
      const json comparison = {number, fingerprint_text(place.expected, {}), list};
      text += before_place + "\n " + comparison.dump();
      before_place = ",";
    }
    text += "]";
  }
  return text + "\n}}\n";
}

void name_mistakes(std::vector<CheckResult>& checks, const Recordings& recordings) {
  const auto clues = clues_in(checks, recordings);
  Evidence evidence(checks, clues, recordings);
  for (const auto& clue : clues) {
    Failure found;
    found.likely = most_likely(clue, evidence);
    merge(*clue.failure, found);
  }
  borrow_name(checks);
}

}  // namespace attn::judge
