#include "gate/operations.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <vector>

#include "gate/answers.hpp"
#include "gate/derived.hpp"
#include "gate/judge.hpp"
#include "lesson/text.hpp"
#include "verdict/place.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using judge::CheckResult;
using judge::Recordings;
using judge::Report;
using lesson::Lesson;
using lesson::Mistake;
using lesson::read_file;

namespace {

/// Whether the checks fail in good order, and no catalogued mistake explains it.
bool is_news(const Report& report, const std::set<std::string>& catalogue) {
  const auto named = report.named();
  const bool known = std::any_of(named.begin(), named.end(), [&](const auto& id) { return catalogue.count(id) != 0; });
  const bool in_order = std::all_of(report.checks.begin(), report.checks.end(), [](const auto& check) {
    return check.passed() || check.state == CheckResult::State::failed;
  });
  return in_order && !known;
}

/// Of operations that give the same: the sentence of the only one, or of the two; else of the two that are said best.
std::string sentence_for(std::vector<std::string> sentences) {
  const auto vague = [](const std::string& one) { return one.find(" instead of ") != std::string::npos; };
  std::stable_sort(sentences.begin(), sentences.end(), [&](const auto& a, const auto& b) {
    return std::pair(vague(a), a.size()) < std::pair(vague(b), b.size());
  });
  const auto is_zero = [](const auto& one) { return one.find(" is all 0: ") != std::string::npos; };
  const auto zero = std::find_if(sentences.begin(), sentences.end(), is_zero);
  if (zero != sentences.end()) return *zero;  // whatever made it so
  std::string text = sentences[0];
  if (sentences.size() == 1) return text;
  const std::string place = text.substr(0, text.find(", ") + 2);  // "in `function`, ", where the sentence has it
  const bool same_place = begins_with(place, "in ") && begins_with(sentences[1], place);
  text += "; or " + sentences[1].substr(same_place ? place.size() : 0);
  return text + (sentences.size() > 2 ? "; or the like" : "");
}

/// How many operations are recorded: a few for each line of the solution.
std::size_t most_for(const Lesson& lesson) {
  constexpr std::size_t per_line = 3;
  std::size_t lines = 0;
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder()))
    lines += lines_of(read_file(entry.path())).size();
  return per_line * lines;
}

/// The places where each operation fails: those that give the same fail at the same ones.
std::map<std::string, std::string> places_of(const Recordings& operations) {
  std::map<std::string, std::string> places;
  for (const auto& [check, numbers] : operations.checks()) {
    for (const auto& [number, place] : numbers) {
      for (const auto& [id, got] : place.got) places[id] += check + std::to_string(number) + " ";
    }
  }
  return places;
}

bool is_answer(const std::string& id) { return begins_with(id, "answer."); }

/// Writes down what is said of the answers now, and prints what operations say: a person has to judge whether it is true.
void judge_answers(const Lesson& lesson, const std::map<std::string, Report>& reports, const Recordings& operations,
                   std::ostream& out) {
  const auto answers = lesson.answers();
  if (answers.empty()) return;
  auto file = nlohmann::ordered_json::parse(read_file(lesson.answers_file()));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto found = reports.find(answers[i].id);
    if (found == reports.end()) continue;
    Report report = found->second;
    judge::name_operations(report.checks, operations);
    for (const auto& name : report.named()) {
      if (operations.mistakes().count(name) != 0)
        out << answers[i].id << " (" << answers[i].what << "): " << name << "\n";
    }
    file["answers"][i]["outcome"] = outcome_of(answers[i], report);
  }
  write_if_changed(lesson.answers_file(), file.dump(2) + "\n");
}

}  // namespace

void record_operations(const Lesson& lesson, const fs::path& made, std::ostream& out) {
  const Lesson operations{made, lesson.name};
  std::set<std::string> catalogue;
  for (const auto& mistake : lesson.mistakes()) catalogue.insert(mistake.id);
  std::map<std::string, std::string> sentences;  // by id
  for (const auto& mistake : operations.mistakes()) {
    if (!is_answer(mistake.id)) sentences[mistake.id] = mistake.says;
  }

  auto reports = run_edits(operations, made);
  std::ofstream survivors(made / "survivors.txt");
  std::set<std::string> news;
  int passed = 0;
  for (const auto& [id, says] : sentences) {
    const Report& report = reports.at(id);
    if (report.first_failing() == nullptr) {
      ++passed;
      survivors << says << "\n";
    } else if (is_news(report, catalogue)) {
      news.insert(id);
    }
  }
  const auto again = run_edits(operations, made, 2, news);
  Recordings all;
  for (auto id = news.begin(); id != news.end();) {
    id = all.add_operation(*id, reports.at(*id), again.at(*id)) ? std::next(id) : news.erase(id);
  }

  Recordings kept;
  const std::size_t most = most_for(lesson);
  std::set<std::string> grouped;
  auto places = places_of(all);
  for (const auto& id : news) {  // the likeliest first
    if (grouped.count(id) != 0) continue;
    if (kept.mistakes().size() == most) break;
    std::vector<std::string> says;
    for (const auto& other : news) {
      if (places[id] != places[other] || !all.same(id, other)) continue;
      grouped.insert(other);
      if (std::find(says.begin(), says.end(), sentences[other]) == says.end()) says.push_back(sentences[other]);
    }
    constexpr std::size_t many = 8;  // what so many operations have in common is not a name
    const std::string sentence = sentence_for(says);
    const bool is_zero = says.size() > many && std::find(says.begin(), says.end(), sentence) != says.end() &&
                         sentence.find(" is all 0: ") != std::string::npos;
    if (says.size() <= many || is_zero) kept.add_operation(sentence, reports.at(id), again.at(id));
  }
  kept.stamp(stamp_of_operations(lesson));
  write_if_changed(lesson.operations_file(), kept.text());
  out << sentences.size() << " edits: " << passed << " pass (" << (made / "survivors.txt").string() << "), "
      << news.size() << " can be named, and are not in the catalogue, " << kept.mistakes().size() << " are recorded\n";
  judge_answers(lesson, reports, kept, out);
}

std::string stamp_of_operations(const Lesson& lesson) {
  std::string all = read_file(lesson.golden_file()) + judge::without_comments(read_file(lesson.checks_file()));
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder())) files.insert(entry.path());
  for (const auto& file : files) all += judge::without_comments(read_file(file));
  all.erase(std::remove_if(all.begin(), all.end(), [](char c) { return c == ' ' || c == '\n'; }), all.end());
  return judge::Digest::of(all).text();
}

}  // namespace attn::gate
