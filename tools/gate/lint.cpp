#include "gate/lint.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "gate/answers.hpp"
#include "gate/derived.hpp"
#include "lesson/text.hpp"
#include "verdict/naming.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;
using nlohmann::json;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

std::string path_below(const fs::path& root, const fs::path& file) { return fs::relative(file, root).string(); }

// --------------------------------------------------------------------------------------------------- markdown

/// Markdown without its fenced code.
std::string without_code(const std::string& markdown) {
  std::string prose;
  bool in_code = false;
  for (const auto& row : lines_of(markdown)) {
    if (row.rfind("```", 0) == 0) {
      in_code = !in_code;
    } else if (!in_code) {
      prose += row + "\n";
    }
  }
  return prose;
}

/// The anchor that GitHub makes of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) anchor += static_cast<char>(std::tolower(byte));
  }
  return anchor;
}

bool has_anchor(const fs::path& file, const std::string& anchor) {
  const std::string prose = without_code(read_file(file));
  if (contains(prose, "<a id=\"" + anchor + "\"></a>")) return true;
  for (const auto& heading : all_matches(prose, std::regex("(?:^|\n)#+ +([^\n]+)"))) {
    if (anchor_of(heading) == anchor) return true;
  }
  return false;
}

/// Relative links that lead nowhere.
Problems dead_links(const fs::path& root, const fs::path& file) {
  Problems problems;
  for (const auto& link : all_matches(without_code(read_file(file)), std::regex(R"(\]\(([^)\s]+)\))"))) {
    if (contains(link, "://") || link.rfind("mailto:", 0) == 0) continue;
    const fs::path folder = fs::path(path_below(root, file)).parent_path();
    if ((folder / link).lexically_normal().string().rfind("../../", 0) == 0)
      continue;  // another page of ours on GitHub
    const auto hash = link.find('#');
    const std::string path = link.substr(0, hash);
    const fs::path target = path.empty() ? file : file.parent_path() / path;
    if (!fs::exists(target)) {
      problems.push_back(path_below(root, file) + ": the link " + link + " leads nowhere");
    } else if (hash != std::string::npos && fs::is_regular_file(target) && !has_anchor(target, link.substr(hash + 1))) {
      problems.push_back(path_below(root, file) + ": the link " + link + " names a heading that is not there");
    }
  }
  return problems;
}

void append(Problems& problems, const Problems& more) { problems.insert(problems.end(), more.begin(), more.end()); }

// ------------------------------------------------------------------------------------------- parts of a lesson

void lint_sections(const Lesson& lesson, const std::string& chapter, Problems& problems) {
  for (const char* section :
       {"Why", "What you will be able to do", "The formula", "Shapes", "Worked by hand", "Predict first", "Tasks",
        "The same in PyTorch", "Check yourself", "Interview corner", "Next", "Sources"}) {
    if (!contains(chapter, "\n## " + std::string(section) + "\n")) {
      problems.push_back("the chapter has no section \"## " + std::string(section) + "\"");
    }
  }
  if (!std::regex_search(chapter, std::regex(R"(\n!\[[^\]]{20,}\]\(figures/\w+\.svg\)\n)"))) {
    problems.push_back(
        "the chapter has no picture: expected a line like ![what one sees, in a sentence](figures/name.svg)");
  }
  if (!contains(chapter, "./learn check " + lesson.number())) {
    problems.push_back("the chapter does not tell the command ./learn check " + lesson.number());
  }
  for (const auto& file : lesson.stub_files()) {
    if (!contains(chapter, fs::path(file).filename().string())) {
      problems.push_back("the chapter does not name the file " + file);
    }
  }
}

void lint_hints(const Lesson& lesson, const std::string& chapter, Problems& problems) {
  const auto tasks = lesson.tasks();
  if (tasks.empty())
    problems.push_back("hints.md has no task: expected headings like \"## " + lesson.number() + ".1 ...\"");
  for (const auto& task : tasks) {
    if (task.levels.size() != 3) {
      problems.push_back("hints.md has " + std::to_string(task.levels.size()) + " levels for " + task.id +
                         ", expected 3 (a question, the idea, almost the line)");
    }
    for (std::size_t level = 0; level < task.levels.size(); ++level) {
      if (task.levels[level].empty()) {
        problems.push_back("hints.md: level " + std::to_string(level + 1) + " of " + task.id + " is empty");
      }
    }
    if (!contains(chapter, task.id)) problems.push_back("the chapter does not name the task " + task.id);
  }
}

/// Functions begin and end at the first column.
void lint_solution(const Lesson& lesson, Problems& problems) {
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder())) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    const std::string name = path_below(lesson.root, entry.path());
    const auto lines = lines_of(read_file(entry.path()));
    if (lines.size() > 120) {
      problems.push_back(name + " has " + std::to_string(lines.size()) + " lines, expected at most 120");
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0 && lines[i - 1].empty()) begin = i;
      if (lines[i] == "}" && i + 1 - begin > 40) {
        problems.push_back(name + " has a function of more than 40 lines that ends in line " + std::to_string(i + 1));
      }
    }
    const fs::path stub = lesson.folder() / entry.path().filename();
    if (!fs::exists(stub)) problems.push_back(name + " has no stub of the same name");
  }
}

void lint_tests(const Lesson& lesson, Problems& problems) {
  const std::string source = read_file(lesson.checks_file());
  if (contains(source, "DISABLED_") || contains(source, "GTEST_SKIP")) {
    problems.push_back("a check is disabled or skipped");
  }
  if (!contains(source, "ATTN_SPEED(")) {
    problems.push_back("no ATTN_SPEED(...) in " + path_below(lesson.root, lesson.checks_file()) +
                       ": which code is timed, beside the reference's?");
  }
  for (const auto& name : all_matches(source, std::regex(R"(TEST(?:_F)?\(\w+, *(\w+)\))"))) {
    if (std::regex_match(name, std::regex("Test[0-9]*|[a-z_0-9]*"))) {
      problems.push_back("the check " + name + " should be named by a sentence in CamelCase");
    }
  }
}

void lint_catalogue(const Lesson& lesson, Problems& problems) {
  const auto mistakes = lesson.mistakes();
  if (mistakes.size() < 5) {
    problems.push_back("the catalogue has " + std::to_string(mistakes.size()) + " mistakes, expected at least 5");
  }
  std::set<std::string> ids;
  std::set<std::string> sentences;
  for (const auto& mistake : mistakes) {
    if (!ids.insert(mistake.id).second) problems.push_back("two mistakes have the id " + mistake.id);
    if (!sentences.insert(mistake.says).second) problems.push_back("two mistakes say \"" + mistake.says + "\"");
    if (!mistake.named && mistake.why.empty()) {
      problems.push_back("the mistake " + mistake.id + " need not be named, but no \"why\" says the reason");
    }
  }
}

/// The pristine stubs, which `reset` puts back.
void lint_stub_copies(const Lesson& lesson, Problems& problems) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(lesson.stub_folder(), none)) names.insert(entry.path().filename());
  for (const auto& file : lesson.stub_files()) names.insert(fs::path(file).filename());
  for (const auto& name : names) {
    const fs::path stub = lesson.folder() / name;
    const fs::path copy = lesson.stub_folder() / name;
    const std::string file = path_below(lesson.root, stub);
    const std::string kept = path_below(lesson.root, copy);
    const std::string reset = "`./learn reset " + lesson.number() + "`";
    if (!fs::exists(copy)) {
      problems.push_back(kept + " is missing: an author of " + file + " runs `cp " + file + " " + kept +
                         "`; a file that a learner added does no harm");
    } else if (!fs::exists(stub)) {
      problems.push_back(kept + " is too much, as there is no " + file + ": an author who removed the stub runs `rm " +
                         kept + "`; a learner gets it back with " + reset);
    } else if (read_file(copy) != read_file(stub)) {
      problems.push_back(file + " differs from " + kept + ": an author who changed the stub runs `cp " + file + " " +
                         kept + "`; if this is your own answer, all is well: verify judges the course with its stubs " +
                         "in place, and " + reset + " puts the stub back after keeping a copy");
    }
  }
}

void lint_brief(const Lesson& lesson, const lesson::InterviewBrief& brief, Problems& problems) {
  if (brief.minutes < 5 || brief.minutes > 40) {
    problems.push_back("interview.md gives " + std::to_string(brief.minutes) + " minutes, expected 5 to 40");
  }
  std::size_t length = 0;
  for (const auto& row : lines_of(brief.text)) {
    if (!row.empty()) ++length;
    if (columns_of(row) > 100) problems.push_back("interview.md has a line of more than 100 characters: " + row);
  }
  if (length < 6 || length > 25) {
    problems.push_back("interview.md has " + std::to_string(length) + " lines of text, expected 6 to 25");
  }
  for (const auto& file : lesson.stub_files()) {
    const std::string name = fs::path(file).filename().string();
    if (!contains(brief.text, name)) problems.push_back("interview.md does not name the file " + name);
  }
}

/// interview.md says of each question how often it is asked, and what is expected, and of no other.
void lint_remarks(const Lesson& lesson, const std::vector<lesson::Question>& questions, Problems& problems) {
  auto remarks = lesson.remarks();
  for (const auto& question : questions) {
    if (question.senior.empty()) {
      problems.push_back("interview.md says nothing of the question \"" + question.text +
                         "\": below \"## What a senior interviewer expects\" write \"### \", the question, and a " +
                         "paragraph like \"Often asked. ...\", or Sometimes, or Rarely");
    }
    remarks.erase(question.text);
  }
  for (const auto& [text, remark] : remarks) {
    problems.push_back("interview.md has \"### " + text + "\", which the interview corner does not ask");
  }
}

void lint_interview(const Lesson& lesson, Problems& problems) {
  try {
    lint_brief(lesson, lesson.interview(), problems);
    const auto questions = lesson.questions();
    if (questions.size() < 3) {
      problems.push_back("the interview corner has " + std::to_string(questions.size()) +
                         " questions, expected at least 3");
    }
    for (const auto& question : questions) {
      if (question.answer.empty()) problems.push_back("no answer to the question \"" + question.text + "\"");
    }
    lint_remarks(lesson, questions, problems);
  } catch (const std::runtime_error& error) {
    problems.push_back(error.what());
  }
}

/// Everything that the tool shows has a spelling for terminals that know only ASCII; Chinese has none.
void lint_spelling(const Lesson& lesson, Problems& problems) {
  std::string shown = lesson.subject() + read_file(lesson.hints_file());
  if (fs::exists(lesson.interview_file())) shown += read_file(lesson.interview_file());
  for (const auto& mistake : lesson.mistakes()) shown += mistake.says;
  for (const auto& goal : lesson.goals()) shown += goal;
  std::set<std::string> unknown;
  for (std::size_t at = 0, end = 0; at < shown.size(); at = end) {
    end = at + 1;
    while (end < shown.size() && (static_cast<unsigned char>(shown[end]) >> 6) == 2) ++end;
    const std::string symbol = shown.substr(at, end - at);
    if (symbol != "?" && columns_of(symbol) == 1 && in_ascii(symbol) == "?") unknown.insert(symbol);
  }
  for (const auto& symbol : unknown) {
    problems.push_back("in_ascii() in tools/lesson/text.cpp has no spelling for " + symbol);
  }
}

void lint_array(const std::string& name, const json& array, Problems& problems) {
  std::size_t size = 1;
  for (const auto& length : array.at("shape")) size *= length.get<std::size_t>();
  if (size != array.at("data").size()) {
    problems.push_back(name + " has " + std::to_string(array.at("data").size()) + " numbers, its shape wants " +
                       std::to_string(size));
  }
  if (array.at("axes").size() != array.at("shape").size()) problems.push_back(name + " has not one letter an axis");
}

/// The TODOs of the stubs are the tasks of hints.md, and each calls todo().
void lint_todos(const Lesson& lesson, Problems& problems) {
  std::string stubs;
  for (const auto& file : lesson.stub_files()) stubs += read_file(lesson.root / file);
  // Where the learner starts from a blank class, the checks' adapter says what is not written: the first task.
  const fs::path adapter = lesson.adapter_file();
  const bool blank_class = fs::exists(adapter);
  if (blank_class) stubs += read_file(adapter);
  std::set<std::string> tasks;
  for (const auto& task : lesson.tasks()) tasks.insert(task.id);
  std::set<std::string> todos;
  for (const auto& id : all_matches(stubs, std::regex(R"(// TODO\(([0-9.]+)\):)"))) todos.insert(id);
  for (const auto& id : tasks) {
    if (!todos.count(id))
      problems.push_back("hints.md has the task " + id + ", but no stub says \"// TODO(" + id + "): ...\"");
    const bool nothing_missing = contains(stubs, "// TODO(" + id + "): find the bug");
    const bool told_by_the_first = blank_class && id != *tasks.begin();
    const std::string call = blank_class ? "\"" + id + "\"," : "todo(\"" + id + "\")";
    if (!nothing_missing && !told_by_the_first && !contains(stubs, call)) {
      problems.push_back("no stub calls todo(\"" + id + "\")");
    }
  }
  for (const auto& id : todos) {
    if (!tasks.count(id)) problems.push_back("a stub has TODO(" + id + "), but hints.md has no such task");
  }
}

/// The checks that docs/sources.md names are there.
void lint_sources(const fs::path& root, Problems& problems) {
  std::string checks;
  for (const auto& lesson : lesson::find_lessons(root)) {
    if (fs::exists(lesson.checks_file())) checks += read_file(lesson.checks_file());
  }
  for (const auto& name :
       all_matches(read_file(root / "docs" / "sources.md"), std::regex(R"(\b([A-Z]\w+\.[A-Z]\w+))"))) {
    const auto dot = name.find('.');
    if (!contains(checks, "TEST(" + name.substr(0, dot) + ", " + name.substr(dot + 1) + ")")) {
      problems.push_back("docs/sources.md names the check " + name + ", which no lesson has");
    }
  }
}

}  // namespace

// --------------------------------------------------------------------------------------------------- the gate

Problems lint_golden(const Lesson& lesson) {
  Problems problems;
  const json golden = json::parse(read_file(lesson.golden_file()));
  const std::string file = path_below(lesson.root, lesson.golden_file());
  if (golden.at("lesson") != lesson.name) problems.push_back(file + " is for another lesson");
  if (golden.at("pytorch").get<std::string>().empty()) problems.push_back(file + " does not say PyTorch's version");
  if (golden.at("cases").empty()) problems.push_back(file + " has no case");

  fs::path generator = lesson.golden_file();
  generator.replace_extension(".py");
  if (!fs::exists(generator))
    problems.push_back(path_below(lesson.root, generator) + " is not there to make the values again");

  const std::string checks = read_file(lesson.checks_file());
  for (const auto& [name, one_case] : golden.at("cases").items()) {
    if (!one_case.contains("seed")) problems.push_back(file + ": case " + name + " does not say its seed");
    if (!contains(checks, "\"" + name + "\"")) problems.push_back(file + ": no check uses the case " + name);
    for (const auto& [array, value] : one_case.at("arrays").items()) lint_array(name + "/" + array, value, problems);
  }
  return problems;
}

Problems lint_recordings(const Lesson& lesson) {
  Problems problems;
  const std::string file = path_below(lesson.root, lesson.recordings_file());
  const auto recordings = judge::Recordings::read(lesson.recordings_file());
  const auto tasks = lesson.tasks_of_checks();
  const auto mistakes = lesson.mistakes();
  std::set<std::string> known;
  for (const auto& mistake : mistakes) known.insert(mistake.id);
  const std::string checks = read_file(lesson.checks_file());
  std::set<std::string> orphans;
  std::set<std::string> recorded;
  for (const auto& id : all_matches(checks, std::regex(R"re(likely_mistake\("(\w+)"\))re"))) recorded.insert(id);
  for (const auto& [check, places] : recordings.checks()) {
    const auto dot = check.find('.');
    if (!contains(checks, "TEST(" + check.substr(0, dot) + ", " + check.substr(dot + 1) + ")")) orphans.insert(check);
    for (const auto& [number, place] : places) {
      for (const auto& [id, got] : place.got) {
        recorded.insert(id);
        if (known.count(id) == 0) orphans.insert(id);
      }
    }
  }
  for (const auto& orphan : orphans) {
    problems.push_back(file + " knows " + orphan +
                       ", which is no longer there: write it again with `./learn verify --write`");
  }
  for (const auto& mistake : mistakes) {
    if (mistake.named && recorded.count(mistake.id) == 0) {
      problems.push_back("the mistake " + mistake.id + " is not in " + file +
                         ", and no check names it: write it again with `./learn verify --write`");
    }
  }
  return problems;
}

Problems lint_chapter(const Lesson& lesson) {
  Problems problems;
  const std::string chapter = read_file(lesson.chapter_file());
  lint_sections(lesson, chapter, problems);
  lint_hints(lesson, chapter, problems);
  lint_stub_copies(lesson, problems);
  lint_solution(lesson, problems);
  lint_tests(lesson, problems);
  lint_todos(lesson, problems);
  lint_catalogue(lesson, problems);
  lint_interview(lesson, problems);
  lint_spelling(lesson, problems);
  append(problems, dead_links(lesson.root, lesson.chapter_file()));
  append(problems, dead_links(lesson.root, lesson.hints_file()));
  return problems;
}

Problems lint_repository(const fs::path& root) {
  Problems problems = find_stale(root);
  append(problems, judge_outcomes(lesson::find_lessons(root)));
  for (const auto& page : {root / "README.md", root / "CONTRIBUTING.md"}) append(problems, dead_links(root, page));
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") append(problems, dead_links(root, entry.path()));
  }
  lint_sources(root, problems);
  return problems;
}

}  // namespace attn::gate
