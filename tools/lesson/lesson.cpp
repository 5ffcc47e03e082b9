#include "lesson/lesson.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "lesson/formula.hpp"
#include "lesson/text.hpp"

namespace attn::lesson {

namespace fs = std::filesystem;
using nlohmann::json;

// -------------------------------------------------------------------------------------------------------- from JSON

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Change, find, replace)

/// One change is in the entry itself; several are in its "edits".
static void from_json(const json& entry, Edit& edit) {
  entry.at("id").get_to(edit.id);
  entry.at("file").get_to(edit.file);
  edit.changes =
      entry.contains("edits") ? entry.at("edits").get<std::vector<Change>>() : std::vector{entry.get<Change>()};
}

static void from_json(const json& entry, Mistake& mistake) {
  from_json(entry, static_cast<Edit&>(mistake));
  entry.at("says").get_to(mistake.says);
  mistake.also = entry.value("also", mistake.also);
  mistake.named = entry.value("named", true);
  mistake.why = entry.value("why", "");
}

static void from_json(const json& entry, Answer& answer) {
  from_json(entry, static_cast<Edit&>(answer));
  answer.id.insert(0, "answer.");
  entry.at("what").get_to(answer.what);
  answer.right = entry.value("right", false);
  answer.names = entry.value("names", answer.names);
  answer.outcome = entry.value("outcome", "");
  answer.why = entry.value("why", "");
}

namespace {

/// A list in a JSON file.
/// @throws std::runtime_error naming the file when it cannot be read or is not as it should be.
template <typename Entry>
std::vector<Entry> read_list(const fs::path& file, const char* name) {
  try {
    return read_json(file).at(name).get<std::vector<Entry>>();
  } catch (const json::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// What stands below "## heading", up to the next heading of its kind; empty when there is no such section.
std::string section_of(const std::string& markdown, const std::string& heading) {
  const std::string whole_line = "\n## " + heading + "\n";
  const auto at = markdown.find(whole_line);
  if (at == std::string::npos) return {};
  const auto begin = at + whole_line.size();
  return markdown.substr(begin, markdown.find("\n## ", begin - 1) - begin);
}

/// Takes the text up to `mark`, and the mark, off the beginning of `rest`.
/// @throws std::runtime_error when there is no such mark.
std::string take_until(const std::string& mark, std::string& rest) {
  const auto end = rest.find(mark);
  if (end == std::string::npos) throw std::runtime_error("a question has no " + mark);
  const std::string text = trimmed(rest.substr(0, end));
  rest.erase(0, end + mark.size());
  return text;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  if (part.empty()) return 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Ends the interviewer's words in interview.md. Below it "### question" and "Often asked. What is expected."
const std::string remarks_heading = "\n## What a senior interviewer expects\n";

std::optional<Asked> asked_of(const std::string& word) {
  for (const Asked asked : {Asked::often, Asked::sometimes, Asked::rarely}) {
    if (word_of(asked) == word) return asked;
  }
  return {};
}

/// Sets how often a question is asked, and what is expected, from "Often asked. What is expected."
/// @throws std::runtime_error when it does not begin like that.
void parse_remark(const std::string& remark, Question& question) {
  const std::string mark = " asked.";
  const auto end = remark.find(mark);
  std::string word = remark.substr(0, end);
  if (!word.empty()) word[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(word[0])));
  const auto asked = asked_of(word);
  if (end == std::string::npos || !asked) {
    throw std::runtime_error("below \"" + question.text + "\" expected \"Often asked. ...\", or Sometimes, or Rarely");
  }
  question.asked = *asked;
  question.senior = trimmed(remark.substr(end + mark.size()));
}

}  // namespace

std::string apply(const Edit& edit, const std::string& text) {
  std::multimap<std::size_t, const Change*> changes;  // by where they begin
  for (const auto& change : edit.changes) {
    const auto count = occurrences(text, change.find);
    if (count != 1) {
      throw std::runtime_error("\"" + change.find + "\" occurs " + std::to_string(count) +
                               " times, expected exactly once");
    }
    changes.emplace(text.find(change.find), &change);
  }
  std::string changed;
  std::size_t copied = 0;
  for (const auto& [begin, change] : changes) {
    if (begin < copied) throw std::runtime_error("two of its edits overlap at \"" + change->find + "\"");
    changed += text.substr(copied, begin - copied) + change->replace;
    copied = begin + change->find.size();
  }
  return changed + text.substr(copied);
}

std::string word_of(Asked asked) {
  return asked == Asked::often ? "often" : asked == Asked::sometimes ? "sometimes" : "rarely";
}

std::string camel_case(const std::string& snake) {
  std::string camel;
  for (std::size_t i = 0; i < snake.size(); ++i) {
    const bool first = i == 0 || snake[i - 1] == '_';
    if (snake[i] != '_')
      camel += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(snake[i]))) : snake[i];
  }
  return camel;
}

std::string Lesson::number() const { return name.substr(0, name.find('_')); }

std::string Lesson::title() const { return number() + " " + name.substr(name.find('_') + 1); }

std::vector<std::string> Lesson::stub_files() const {
  std::vector<std::pair<std::string, std::string>> files;  // first task, file
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(root / work_folder / name, missing)) {
    const auto extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    const std::string file = work_folder + "/" + name + "/" + entry.path().filename().string();
    const auto tasks = tasks_in(file);  // reads the stub: once for each file, not for each comparison
    files.emplace_back(tasks.empty() ? "~" : tasks.front(), file);
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> sorted;
  for (const auto& [first_task, file] : files) sorted.push_back(file);
  return sorted;
}

std::string Lesson::judged_file(const std::string& suite) const {
  const auto files = stub_files();
  for (const auto& file : files) {
    const std::string concept_name = camel_case(fs::path(file).stem().string());
    if (begins_with(suite, concept_name) || begins_with(concept_name, suite)) return file;
  }
  if (files.size() == 1) return files.front();
  for (const auto& [check, task] : tasks_of_checks()) {
    if (!begins_with(check, suite + ".")) continue;
    for (const auto& file : files) {
      const auto tasks = tasks_in(file);
      if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return file;
    }
  }
  return work_folder + "/" + name;
}

fs::path Lesson::stub_of(const std::string& file) const { return stub_folder() / fs::path(file).filename(); }

int Lesson::count_checks() const {
  int count = 0;
  for (const auto& row : lines_of(read_file(checks_file()))) count += begins_with(row, "TEST(") ? 1 : 0;
  return count;
}

std::vector<std::string> Lesson::tasks_in(const std::string& file) const {
  std::vector<std::string> ids;
  const fs::path stub = stub_of(file);
  if (!fs::is_regular_file(stub)) return ids;
  const std::string text = read_file(stub);
  const std::string mark = "TODO(";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const auto begin = at + mark.size();
    ids.push_back(text.substr(begin, text.find(')', begin) - begin));
  }
  return ids;
}

std::map<std::string, std::string> Lesson::tasks_of_checks() const {
  const std::string section = "// -----";
  const std::string task = number() + ".";
  std::map<std::string, std::string> tasks;
  std::string current;
  if (!fs::exists(checks_file())) return tasks;
  for (const auto& row : lines_of(read_file(checks_file()))) {
    if (begins_with(row, section)) {
      const auto at = row.find(task);
      const bool one = at != std::string::npos && row.find(task, at + 1) == std::string::npos;
      current = one ? row.substr(at, row.find_first_not_of("0123456789.", at) - at) : "";
    } else if (begins_with(row, "TEST(") && !current.empty()) {
      const auto comma = row.find(", ");
      if (comma == std::string::npos) continue;
      tasks[row.substr(5, comma - 5) + "." + row.substr(comma + 2, row.find(')') - comma - 2)] = current;
    }
  }
  return tasks;
}

std::string Lesson::subject() const {
  std::ifstream in(chapter_file());
  std::string heading;
  std::getline(in, heading);
  const std::string number_ends = " · ";  // "# 01 · Self-attention"
  const auto end = heading.find(number_ends);
  return end == std::string::npos ? heading : heading.substr(end + number_ends.size());
}

std::vector<Task> Lesson::tasks() const {
  std::vector<Task> tasks;
  for (const auto& row : lines_of(read_file(hints_file()))) {
    if (begins_with(row, "## " + number() + ".")) {
      const auto id_end = row.find(' ', 3);
      tasks.push_back({row.substr(3, id_end - 3), row.substr(std::min(id_end, row.size() - 1) + 1), {}});
    } else if (begins_with(row, "### ")) {
      if (tasks.empty())
        throw std::runtime_error(hints_file().string() + ": a level before the first \"## NN.n task\"");
      tasks.back().levels.emplace_back();
    } else if (!tasks.empty() && !tasks.back().levels.empty()) {
      tasks.back().levels.back() += row + "\n";
    }
  }
  for (Task& task : tasks) {
    for (std::string& level : task.levels) level = trimmed(level);
  }
  return tasks;
}

std::vector<Mistake> Lesson::mistakes() const { return read_list<Mistake>(mistakes_file(), "mistakes"); }

std::vector<Answer> Lesson::answers() const {
  return fs::exists(answers_file()) ? read_list<Answer>(answers_file(), "answers") : std::vector<Answer>{};
}

std::vector<Edit> Lesson::edits() const {
  std::vector<Edit> edits;
  for (const auto& mistake : mistakes()) edits.push_back(mistake);
  for (const auto& answer : answers()) edits.push_back(answer);
  return edits;
}

std::string Lesson::break_name(const Mistake& mistake) const {
  if (number() < "24" || number() > "27" || mistake.file == "fused_qkv_backward.cpp") return "";
  const std::string broken = number() + "." + mistake.id;
  const fs::path file = root / "programs/train_break/no_effect.txt";
  const std::vector<std::string> without = fs::exists(file) ? lines_of(read_file(file)) : std::vector<std::string>{};
  return std::find(without.begin(), without.end(), broken) == without.end() ? broken : "";
}

std::vector<std::string> Lesson::goals() const {
  std::vector<std::string> goals;
  for (const auto& row : lines_of(section_of(read_file(chapter_file()), "What you will be able to do"))) {
    if (begins_with(row, "- ")) {
      goals.push_back(trimmed(row.substr(2)));
    } else if (begins_with(row, "  ") && !goals.empty()) {
      goals.back() += " " + trimmed(row);
    }
  }
  return goals;
}

Study Lesson::study() const {
  static const std::regex form(
      R"(<!-- study: (\d{1,4}) minutes \| (often|sometimes|rarely) asked(?: \| after ([\d, ]+))? -->)");
  static const std::regex number_form("\\d+");
  const std::string chapter = read_file(chapter_file());
  std::smatch found;
  if (!std::regex_search(chapter, found, form)) return {};
  Study study{std::stoi(found[1]), *asked_of(found[2]), {}};
  const std::string after = found[3];
  study.after.assign(std::sregex_token_iterator(after.begin(), after.end(), number_form), {});
  return study;
}

std::vector<Question> Lesson::questions() const {
  const std::string opening = "<summary>";
  std::vector<Question> questions;
  const auto known = remarks();
  std::string corner = with_plain_formulas(section_of(read_file(chapter_file()), "Interview corner"));
  try {
    for (auto at = corner.find(opening); at != std::string::npos; at = corner.find(opening)) {
      corner.erase(0, at + opening.size());
      const std::string text = take_until("</summary>", corner);
      const auto remark = known.find(text);
      questions.push_back(remark == known.end() ? Question{text, ""} : remark->second);
      questions.back().answer = take_until("</details>", corner);
    }
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(chapter_file().string() + ": in the interview corner " + error.what());
  }
  return questions;
}

std::map<std::string, Question> Lesson::remarks() const {
  const std::string heading = "### ";
  if (!fs::exists(interview_file())) return {};
  const std::string all = read_file(interview_file());
  std::map<std::string, std::string> texts;
  std::string* text = nullptr;
  for (const auto& row : lines_of(all.substr(std::min(all.size(), all.find(remarks_heading))))) {
    if (begins_with(row, heading)) {
      text = &texts[trimmed(row.substr(heading.size()))];
    } else if (text != nullptr) {
      *text += row + "\n";
    }
  }
  std::map<std::string, Question> remarks;
  try {
    for (const auto& [question, remark] : texts) {
      parse_remark(trimmed(remark), remarks[question] = Question{question, ""});
    }
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(interview_file().string() + ": " + error.what());
  }
  return remarks;
}

InterviewBrief Lesson::interview() const {
  static const std::regex form(R"(# (\d{1,4}) minutes)");
  const std::string all = read_file(interview_file());
  const std::string heading = all.substr(0, all.find('\n'));
  std::smatch minutes;
  if (!std::regex_match(heading, minutes, form)) {
    throw std::runtime_error(interview_file().string() + ": the first line is \"" + heading +
                             "\", expected a heading like \"# 15 minutes\"");
  }
  return {std::stoi(minutes[1]), trimmed(all.substr(0, all.find(remarks_heading)).substr(heading.size()))};
}

Lesson lesson_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return {folder.parent_path().parent_path(), folder.filename().string()};
}

std::vector<Lesson> find_lessons(const fs::path& root) {
  static const std::regex named_like_one(R"(\d\d_.+)");
  std::vector<Lesson> lessons;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(root / "lessons", missing)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && std::regex_match(name, named_like_one)) lessons.push_back({root, name});
  }
  std::sort(lessons.begin(), lessons.end(), [](const Lesson& a, const Lesson& b) { return a.name < b.name; });
  return lessons;
}

Lesson find_lesson(const fs::path& root, const std::string& wanted) {
  const auto lessons = find_lessons(root);
  for (const Lesson& lesson : lessons) {
    const std::string number = lesson.number();
    const std::string short_name = lesson.name.substr(lesson.name.find('_') + 1);
    if (wanted == lesson.name || wanted == number || wanted == short_name || "0" + wanted == number) return lesson;
  }
  if (lessons.empty()) throw std::invalid_argument("there are no lessons in " + root.string());
  throw std::invalid_argument("there is no lesson \"" + wanted + "\"; name one by its number, " +
                              lessons.front().number() + " to " + lessons.back().number() + " (./learn list)");
}

nlohmann::json read_json(const fs::path& file) {
  try {
    const std::string text = read_file(file);
    // From pointers: code that reads from a std::string the linker may take from a file that is not optimised.
    return nlohmann::json::parse(text.data(), text.data() + text.size());
  } catch (const nlohmann::json::parse_error& error) {
    throw std::runtime_error(file.string() + " is not JSON from byte " + std::to_string(error.byte) + " on");
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(file.string() + " has a number that is too large");
  }
}

std::string read_file(const fs::path& file) {
  std::error_code missing;
  const bool there = fs::exists(file, missing);
  if (there && !fs::is_regular_file(file)) {  // a pipe would wait for a writer
    throw std::runtime_error("cannot read " + file.string() + ": it is a folder, a pipe or a device");
  }
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace attn::lesson
