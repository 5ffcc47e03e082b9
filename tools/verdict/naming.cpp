#include "verdict/naming.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "lesson/lesson.hpp"

namespace attn::judge {

namespace {

using nlohmann::json;
using State = CheckResult::State;

constexpr int index_digits = 2;  ///< in a file of recordings

constexpr int in_words = -1;  ///< the number of a place for what a check says in words
constexpr int anything = -2;  ///< and of one for what fails in it otherwise: what it says is not known beforehand

/// A failing comparison of a run, and the mistakes that give the same there.
struct Clue {
  Failure* failure;
  const Recordings::Place* place;
  const Recordings::Place* elsewhere;  ///< the mistakes that fail in this check in other ways; or nullptr
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
      const auto& places = recordings.checks().at(check.full_name());
      const auto elsewhere = places.find(anything);
      Clue clue{&failure, place, elsewhere == places.end() ? nullptr : &elsewhere->second, check.task, {}};
      for (const auto& [id, got] : place->got) {
        if (got.equals(Digest(failure.comparison->got), failure.comparison->tolerance)) clue.same.insert(id);
      }
      clues.push_back(std::move(clue));
    }
  }
  return clues;
}

bool has_nan(const Failure& failure) {
  return failure.worst && std::isnan(failure.worst->got) && !std::isnan(failure.worst->expected);
}

/// Whether a check says in words what is wrong with a result's numbers.
bool is_claim(const Failure& failure) {
  const auto is_about_numbers = [](const Statement& statement) { return statement.label == "value"; };
  return !failure.comparison && std::any_of(failure.statements.begin(), failure.statements.end(), is_about_numbers);
}

/// Whether a result differs by no more than a float would.
bool is_nearly_right(const Failure& failure) {
  constexpr double nearly = 1e-5;
  return failure.worst && std::abs(failure.worst->got - failure.worst->expected) < nearly;
}

/// Whether a result that is the same for two mistakes may be so by chance: it has few numbers, as in examples worked by
/// hand, or it has NaN, or all are 0, or it is nearly right.
bool may_be_chance(const Clue& clue) {
  constexpr std::size_t few = 9;
  return has_nan(*clue.failure) || is_nearly_right(*clue.failure) || clue.got().count() < few || clue.got().is_zero();
}

constexpr std::size_t enough_numbers = 9;  ///< that are equal, and not by chance

/// Whether a number has few digits, as those have that many mistakes give: 0.5, 3, 1e6.
bool is_round(double number) {
  const double thousands = 1000 * number;
  return !std::isfinite(number) ||
         std::abs(thousands - std::round(thousands)) < 1e-9 * std::max(1.0, std::abs(thousands));
}

/// How many numbers tell that a result is the same as another one. One with many digits tells more than a round one.
std::size_t telling_numbers(const Failure& failure) {
  const Fingerprint& got = failure.comparison->got;
  constexpr double tolerant = 1e-5;       // equal to much else
  constexpr std::size_t many_digits = 3;  // as telling as so many round numbers
  const bool tells = !has_nan(failure) && !is_nearly_right(failure) && !got.is_zero();
  if (!tells || failure.comparison->tolerance > tolerant) return 0;
  return got.count() * (failure.worst && !is_round(failure.worst->got) ? many_digits : 1);
}

/// Whether a result is nothing but zeros: much gives that, so that it tells something only where it explains all that fails.
bool is_all_zeros(const Failure& failure) {
  return failure.kind == Failure::Kind::value && failure.comparison->got.is_zero();
}

bool makes_fail(const std::map<int, Recordings::Place>& places, const std::string& id) {
  return std::any_of(places.begin(), places.end(), [&](const auto& place) { return place.second.got.count(id) != 0; });
}

/// What a failing check says in other words than numbers: a shape, a claim. Not what ended it: that has many causes.
std::string words_of(const CheckResult& check) {
  std::string words;
  for (const auto& failure : check.failures) {
    if (failure.comparison || failure.kind == Failure::Kind::exception) continue;
    words += std::to_string(static_cast<int>(failure.kind)) + failure.expression;
    for (const auto& [label, text] : failure.statements) words += "\n" + label + text;
    if (failure.shape) words += json(failure.shape->got).dump();
  }
  return words;
}

/// The comparison with this number that failed, or nullptr.
const Failure* comparison_in(const CheckResult& check, int number) {
  for (const auto& failure : check.failures) {
    if (failure.comparison && failure.comparison->number == number) return &failure;
  }
  return nullptr;
}

/// Adds what a failing check got: comparisons that have enough numbers, and words. Not what the second run got differently.
/// @return whether there is anything
bool add_results(std::map<int, Recordings::Place>& places, const std::string& sentence, const CheckResult& check,
                 const CheckResult& second) {
  std::size_t numbers = 0, added = 0;
  for (const auto& failure : check.failures) {
    constexpr std::size_t most = 3;
    if (!failure.comparison || numbers >= enough_numbers || added == most) continue;
    const Comparison& comparison = *failure.comparison;
    const Failure* other = comparison_in(second, comparison.number);
    const Digest got(comparison.got), expected(comparison.expected);
    const bool stable = other != nullptr && got.equals(Digest(other->comparison->got), comparison.tolerance);
    const bool tells = telling_numbers(failure) > 0 || is_all_zeros(failure);
    if (!stable || !tells || got.equals(expected, comparison.tolerance)) continue;
    places[comparison.number].expected = expected.for_tolerance(comparison.tolerance);
    places[comparison.number].got[sentence] = got.for_tolerance(comparison.tolerance);
    numbers += telling_numbers(failure);
    ++added;
  }
  const std::string words = words_of(check);
  const bool says = !words.empty() && words == words_of(second);
  if (says) places[in_words].got[sentence] = Digest::of(words);
  return says || added > 0;
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
      if (check.shown() != nullptr && is_claim(*check.shown())) weigh_claim(check, recordings);
    }
  }

  /// Whether a mistake can be named for a comparison about this task. What passes there and would fail with the mistake
  /// speaks against it; what passes elsewhere does not, because the same may be wrong in another function. It has to
  /// explain nearly everything that fails about the task; and if all that agrees may do so by chance, nearly everything
  /// that fails.
  bool supports(const std::string& id, const std::string& task) {
    const Balance& whole = whole_[id];
    const Balance& about = tasks_[{task, id}];
    if (about.passes > about.agrees) return false;
    constexpr int nearly_all = 8;
    if (about.convincing == 0) return nearly_all * (whole.differs + whole.unexplained) <= whole.agrees;
    return nearly_all * (about.differs + about.unexplained) <= about.agrees;
  }

  int score(const std::string& id) { return whole_[id].score(); }

 private:
  void weigh(const Clue& clue, const Recordings& recordings) {
    for (const auto& id : recordings.mistakes()) {
      const bool fails_there = clue.place->got.count(id) != 0;
      const bool same = clue.same.count(id) != 0;
      if (!fails_there && clue.elsewhere != nullptr && clue.elsewhere->got.count(id) != 0) continue;
      for (Balance* balance : {&whole_[id], &tasks_[{clue.task, id}]}) {
        if (same && !may_be_chance(clue)) ++balance->convincing;
        ++(same ? balance->agrees : fails_there ? balance->differs : balance->unexplained);
      }
    }
  }

  /// A claim that fails speaks against the mistakes with which the check would pass.
  void weigh_claim(const CheckResult& check, const Recordings& recordings) {
    const auto places = recordings.checks().find(check.full_name());
    for (const auto& id : recordings.mistakes()) {
      if (places != recordings.checks().end() && makes_fail(places->second, id)) continue;
      ++whole_[id].unexplained;
      ++tasks_[{check.task, id}].unexplained;
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
      const bool reached = check.passed() || (number != anything && !failed.empty() && number < *failed.rbegin());
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

/// In bytes; none is within a character.
std::uint32_t length_of_shared_beginning(std::string_view a, std::string_view b) {
  std::size_t length = 0;
  while (length < std::min(a.size(), b.size()) && a[length] == b[length]) ++length;
  while (length > 0 && length < b.size() && (static_cast<unsigned char>(b[length]) & 0xC0) == 0x80) --length;
  return static_cast<std::uint32_t>(length);
}

}  // namespace

Recordings Recordings::read(const std::filesystem::path& file) {
  Recordings recordings;
  if (!std::filesystem::exists(file)) return recordings;
  const json all = lesson::read_json(file);
  try {
    recordings.stamp_ = all.value("stamp", "");
    auto ids = all.at("mistakes").get<std::vector<std::string>>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::size_t shared = from_base_64(ids[i].substr(0, index_digits));
      if (shared > (i == 0 ? 0 : ids[i - 1].size())) throw std::invalid_argument(ids[i] + " shares too much");
      ids[i] = (i == 0 ? "" : ids[i - 1].substr(0, shared)) + ids[i].substr(index_digits);
    }
    recordings.mistakes_.insert(ids.begin(), ids.end());
    for (const auto& [check, comparisons] : all.at("checks").items()) {
      for (const auto& comparison : comparisons) {
        Place& place = recordings.checks_[check][comparison.at(0)];
        const auto& expected = comparison.at(1).get_ref<const std::string&>();
        const std::size_t digest_digits = expected.size();
        place.expected = Digest::read(expected);
        for (std::string_view rest = comparison.at(2).get_ref<const std::string&>(); !rest.empty();) {
          const std::string_view result = rest.substr(0, rest.find(','));
          rest.remove_prefix(std::min(rest.size(), result.size() + 1));
          const Digest got = Digest::read(result.substr(0, digest_digits));
          for (std::size_t at = digest_digits; at < result.size(); at += index_digits) {
            place.got[ids.at(from_base_64(result.substr(at, index_digits)))] = got;
          }
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
  const bool same_task = place->second.expected.equals(Digest(comparison.expected), comparison.tolerance);
  return same_task ? &place->second : nullptr;
}

void Recordings::add(const std::string& mistake, const Report& run, const Report& again) {
  const auto differs_again = [&](const std::string& check, const Comparison& comparison) {
    for (const auto& result : again.checks) {
      const Failure* second = result.full_name() == check ? comparison_in(result, comparison.number) : nullptr;
      if (second == nullptr) continue;
      const double tolerance = comparison.tolerance;
      return second->comparison->expected.equals(comparison.expected, tolerance) &&
             !second->comparison->got.equals(comparison.got, tolerance);
    }
    return false;
  };
  for (const auto& result : run.checks) {
    for (const auto& failure : result.failures) {
      mistakes_.insert(mistake);
      auto& places = checks_[result.full_name()];
      if (!failure.comparison || differs_again(result.full_name(), *failure.comparison)) {
        places[anything].got[mistake] = {};
        continue;
      }
      const Comparison& comparison = *failure.comparison;
      Place& place = places[comparison.number];
      place.expected = Digest(comparison.expected).for_tolerance(comparison.tolerance);
      place.got[mistake] = Digest(comparison.got).for_tolerance(comparison.tolerance);
    }
  }
}

bool Recordings::add_operation(const std::string& sentence, const Report& run, const Report& again) {
  mistakes_.insert(sentence);
  std::multimap<std::size_t, std::size_t, std::greater<>>
      by_numbers;  // the failing checks: how much they tell, and which
  for (std::size_t i = 0; i < run.checks.size(); ++i) {
    if (run.checks[i].passed()) continue;
    std::size_t numbers = 0;
    for (const auto& failure : run.checks[i].failures) numbers += failure.comparison ? telling_numbers(failure) : 0;
    by_numbers.emplace(std::min(numbers, enough_numbers), i);
  }
  std::size_t told = 0;
  for (const auto& [numbers, i] : by_numbers) {
    constexpr std::size_t enough = 4;  // checks that tell what they got; of the others, it is known that they fail
    auto& places = checks_[run.checks[i].full_name()];
    const bool tells = told < enough && add_results(places, sentence, run.checks[i], again.checks.at(i));
    told += tells ? 1 : 0;
    if (!tells) places[anything].got[sentence] = {};
  }
  if (told == 0) remove(sentence);
  return told != 0;
}

void Recordings::thin_out() {
  constexpr int enough = 2;
  for (auto& [check, places] : checks_) {
    std::map<std::string, int> kept;
    for (auto place = places.begin(); place != places.end();) {
      if (place->first == anything) {
        ++place;
        continue;
      }
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
  std::string text = stamp_.empty() ? "{" : "{\"stamp\": " + json(stamp_).dump() + ",\n";
  text += "\"mistakes\": [";
  std::string_view before;
  for (const auto& id : ids) {
    const auto shared = length_of_shared_beginning(before, id);
    text += (before.empty() ? "\n" : ",\n") + json(in_base_64(shared, index_digits) + id.substr(shared)).dump();
    before = id;
  }
  text += "],\n\"checks\": {";
  std::string before_check;
  for (const auto& [check, places] : checks_) {
    text += before_check + "\n" + json(check).dump() + ": [";
    before_check = ",";
    std::string before_place;
    for (const auto& [number, place] : places) {
      std::map<Digest, std::string> results;  // indices of mistakes
      for (const auto& [id, got] : place.got) {
        const auto index = std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
        results[got] += in_base_64(static_cast<std::uint32_t>(index), index_digits);
      }
      std::string list;
      for (const auto& [got, mistakes] : results) list += (list.empty() ? "" : ",") + got.text() + mistakes;
      text += before_place + "\n[" + std::to_string(number) + ",\"" + place.expected.text() + "\",\"" + list + "\"]";
      before_place = ",";
    }
    text += "]";
  }
  return text + "\n}}\n";
}

bool Recordings::same(const std::string& a, const std::string& b) const {
  for (const auto& [check, places] : checks_) {
    for (const auto& [number, place] : places) {
      const auto of_a = place.got.find(a), of_b = place.got.find(b);
      if ((of_a == place.got.end()) != (of_b == place.got.end())) return false;
      if (of_a != place.got.end() && !of_a->second.equals(of_b->second, 0)) return false;
    }
  }
  return true;
}

void Recordings::remove(const std::string& sentence) {
  mistakes_.erase(sentence);
  for (auto check = checks_.begin(); check != checks_.end();) {
    auto& places = check->second;
    for (auto place = places.begin(); place != places.end();) {
      place->second.got.erase(sentence);
      place = place->second.got.empty() ? places.erase(place) : std::next(place);
    }
    check = places.empty() ? checks_.erase(check) : std::next(check);
  }
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

namespace {

/// How well an operation explains a run.
struct Fit {
  bool possible = true;
  std::size_t numbers = 0;      ///< that are the same
  std::size_t zeros = 0;        ///< that are 0, and should be
  std::size_t words = 0;        ///< checks that say the same
  std::size_t unexplained = 0;  ///< checks about the same tasks that fail, and would not with the operation
  std::vector<CheckResult*> explained = {};
  std::set<std::string> tasks = {};
};

/// What a check has to say of an operation that makes it fail.
void compare(CheckResult& check, const std::map<int, Recordings::Place>& places, const std::string& id, Fit& fit) {
  for (const auto& [number, place] : places) {
    const auto got = place.got.find(id);
    if (got == place.got.end() || number == anything) continue;
    if (number == in_words) {
      const bool same = got->second.equals(Digest::of(words_of(check)), 0);
      fit.possible = fit.possible && same;
      fit.words += same ? 1 : 0;
      continue;
    }
    const Failure* failure = comparison_in(check, number);
    if (failure == nullptr) {
      fit.possible = false;
      continue;
    }
    const Comparison& comparison = *failure->comparison;
    if (!place.expected.equals(Digest(comparison.expected), comparison.tolerance)) continue;  // other random numbers
    fit.possible = fit.possible && got->second.equals(Digest(comparison.got), comparison.tolerance);
    fit.numbers += telling_numbers(*failure);
    if (is_all_zeros(*failure)) fit.zeros += comparison.got.count();
  }
}

/// Whether a check shows an exception or a result without numbers, as of what was moved from: much gives that.
bool has_many_causes(const CheckResult* check) {
  const Failure& shown = *check->shown();
  const bool is_empty =
      shown.shape && std::find(shown.shape->got.begin(), shown.shape->got.end(), 0U) != shown.shape->got.end();
  return shown.kind == Failure::Kind::exception || is_empty;
}

Fit fit_of(const std::string& id, std::vector<CheckResult>& checks, const Recordings& operations) {
  Fit fit;
  std::vector<const CheckResult*> others;  // that fail for another reason
  for (auto& check : checks) {
    if (check.state == State::not_written || check.state == State::not_run) continue;
    const auto places = operations.checks().find(check.full_name());
    const bool fails = places != operations.checks().end() && makes_fail(places->second, id);
    if (fails && (check.passed() || check.shown() == nullptr)) fit.possible = false;
    if (!fit.possible) return fit;
    if (fails) {
      compare(check, places->second, id, fit);
      fit.explained.push_back(&check);
      fit.tasks.insert(check.task);
    } else if (!check.passed()) {
      others.push_back(&check);
    }
  }
  for (const auto* other : others) fit.unexplained += fit.tasks.count(other->task);
  const bool by_numbers = fit.numbers >= enough_numbers && 2 * fit.unexplained <= fit.explained.size();
  const bool by_zeros = fit.numbers + fit.zeros >= enough_numbers && fit.unexplained == 0 && fit.explained.size() > 1;
  const auto vague = std::count_if(fit.explained.begin(), fit.explained.end(), has_many_causes);
  const bool by_words = fit.words > 0 && 2 * static_cast<std::size_t>(vague) <= fit.explained.size() && others.empty();
  fit.possible = fit.possible && (by_numbers || by_zeros || by_words);
  return fit;
}

}  // namespace

namespace {

/// The operation that explains a run best, if there is one.
std::optional<std::pair<std::string, Fit>> best_operation(std::vector<CheckResult>& checks,
                                                          const Recordings& operations) {
  using Rank = std::pair<std::size_t, std::size_t>;  // checks, numbers
  std::map<std::string, Fit> fits;
  Rank most = {0, 0};
  for (const auto& id : operations.mistakes()) {
    Fit fit = fit_of(id, checks, operations);
    const Rank rank = {fit.explained.size(), fit.numbers};
    if (!fit.possible || rank < most) continue;
    if (rank > most) fits.clear();
    most = rank;
    fits[id] = std::move(fit);
  }
  if (fits.size() != 1) return {};
  return *fits.begin();
}

}  // namespace

void name_operations(std::vector<CheckResult>& checks, const Recordings& operations) {
  const auto is_named = [](const CheckResult& check) {
    return check.shown() != nullptr && !check.shown()->likely.empty();
  };
  if (std::any_of(checks.begin(), checks.end(), is_named)) return;  // a catalogued mistake comes first
  const auto found = best_operation(checks, operations);
  if (!found) return;
  for (auto* check : found->second.explained) check->shown()->likely = {found->first};
}

}  // namespace attn::judge
