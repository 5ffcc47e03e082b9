#include "gate/lint.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

#include "gate/answers.hpp"
#include "gate/derived.hpp"
#include "gate/operations.hpp"
#include "lesson/formula.hpp"
#include "lesson/text.hpp"
#include "lesson/utf8.hpp"
#include "verdict/naming.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;
using nlohmann::json;

namespace {

void require(bool holds, const std::string& problem, Problems& problems) {
  if (!holds) problems.push_back(problem);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What the group of a pattern matches.
std::set<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_token_iterator(text.begin(), text.end(), pattern, 1), {}};
}

template <class Items>
std::set<std::string> ids_of(const Items& items) {
  std::set<std::string> ids;
  for (const auto& item : items) ids.insert(item.id);
  return ids;
}

std::string path_below(const fs::path& root, const fs::path& file) { return fs::relative(file, root).string(); }

/// Whether a source has the check "Suite.Check".
bool has_check(const std::string& source, const std::string& name) {
  return contains(source, "TEST(" + replaced(name, ".", ", ") + ")");
}

// --------------------------------------------------------------------------------------------------- markdown

/// Markdown without its fenced code.
std::string without_code(const std::string& markdown) {
  std::string prose;
  bool in_code = false;
  for (const auto& row : lines_of(markdown)) {
    if (begins_with(row, "```")) {
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
    if (c == ' ') anchor += '-';
    if (is_word(c) || c == '-' || static_cast<unsigned char>(c) >= 0x80) {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

bool has_anchor(const fs::path& file, const std::string& anchor) {
  const std::string prose = without_code(read_file(file));
  const auto headings = all_matches(prose, std::regex("(?:^|\n)#+ +([^\n]+)"));
  return contains(prose, "<a id=\"" + anchor + "\"></a>") ||
         std::any_of(headings.begin(), headings.end(), [&](const auto& one) { return anchor_of(one) == anchor; });
}

/// Formulas that a terminal could not show.
void lint_formulas(const fs::path& root, const fs::path& file, Problems& problems) {
  Problems unknown;
  with_plain_formulas(read_file(file), &unknown);
  for (const auto& problem : unknown) problems.push_back(path_below(root, file) + ": " + problem);
}

/// Sources below a heading, to its end or the next heading, that nobody can open: each entry of the list has a link, and
/// each year in it belongs to a work with a link of its own.
void lint_sources_have_links(const std::string& page, const std::string& markdown, const std::string& heading,
                             Problems& problems) {
  const auto begin = markdown.find("\n" + heading + "\n");
  if (begin == std::string::npos) return;  // the chapter has no such section: another rule says so
  const std::string section = markdown.substr(begin + 1, markdown.find("\n## ", begin + 1) - begin - 1);
  const auto count = [](const std::string& text, const std::regex& form) {
    return std::distance(std::sregex_iterator(text.begin(), text.end(), form), {});
  };
  for (std::size_t at = section.find("\n- "); at != std::string::npos;) {
    const std::size_t next = section.find("\n- ", at + 1);
    const std::string entry = section.substr(at + 1, next - at - 1);
    const auto years = count(entry, std::regex(R"(\((?:19|20)\d\d\))"));
    require(contains(entry, "](") && count(entry, std::regex(R"(\]\(https?://)")) >= years,
            page + ": a source has no link: " + lines_of(entry).front(), problems);
    at = next;
  }
}

/// Relative links that lead nowhere.
void lint_links(const fs::path& root, const fs::path& file, Problems& problems) {
  const std::string page = path_below(root, file);
  for (const auto& link : all_matches(without_code(read_file(file)), std::regex(R"(\]\(([^)\s]+)\))"))) {
    if (contains(link, "://") || begins_with(link, "mailto:")) continue;
    const bool on_github = begins_with((fs::path(page).parent_path() / link).lexically_normal().string(), "../../");
    if (on_github) continue;  // another page of ours there
    const auto hash = link.find('#');
    const fs::path target = hash == 0 ? file : file.parent_path() / link.substr(0, hash);
    if (!fs::exists(target)) {
      problems.push_back(page + ": the link " + link + " leads nowhere");
    } else if (hash != std::string::npos && fs::is_regular_file(target)) {
      require(has_anchor(target, link.substr(hash + 1)),
              page + ": the link " + link + " names a heading that is not there", problems);
    }
  }
}

// ------------------------------------------------------------------------------------------- parts of a lesson

void lint_sections(const Lesson& lesson, Problems& problems) {
  const std::string chapter = read_file(lesson.chapter_file());
  for (const std::string section :
       {"Why", "What you will be able to do", "The formula", "Shapes", "Worked by hand", "Predict first", "Tasks",
        "The same in PyTorch", "Check yourself", "Interview corner", "Next", "Sources"}) {
    require(contains(chapter, "\n## " + section + "\n"), "the chapter has no section \"## " + section + "\"", problems);
  }
  require(std::regex_search(chapter, std::regex(R"(\n!\[[^\]]{20,}\]\(figures/\w+\.svg\)\n)")),
          "the chapter has no picture: expected a line like ![what one sees, in a sentence](figures/name.svg)",
          problems);
  const std::string command = "./learn check " + lesson.number();
  require(contains(chapter, command), "the chapter does not tell the command " + command, problems);
  for (const auto& file : lesson.stub_files()) {
    require(contains(chapter, fs::path(file).filename()), "the chapter does not name the file " + file, problems);
  }
}

void lint_hints(const Lesson& lesson, Problems& problems) {
  const std::string chapter = read_file(lesson.chapter_file());
  const auto tasks = lesson.tasks();
  require(!tasks.empty(), "hints.md has no task: expected headings like \"## " + lesson.number() + ".1 ...\"",
          problems);
  for (const auto& task : tasks) {
    require(task.levels.size() == 3,
            "hints.md has " + std::to_string(task.levels.size()) + " levels for " + task.id +
                ", expected 3 (a question, the idea, almost the line)",
            problems);
    for (std::size_t level = 0; level < task.levels.size(); ++level) {
      require(!task.levels[level].empty(),
              "hints.md: level " + std::to_string(level + 1) + " of " + task.id + " is empty", problems);
    }
    require(contains(chapter, task.id), "the chapter does not name the task " + task.id, problems);
  }
}

/// Functions begin and end at the first column.
void lint_solution(const Lesson& lesson, Problems& problems) {
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder())) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    const std::string name = path_below(lesson.root, entry.path());
    const auto lines = lines_of(read_file(entry.path()));
    require(lines.size() <= 120, name + " has " + std::to_string(lines.size()) + " lines, expected at most 120",
            problems);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i > 0 && lines[i - 1].empty()) begin = i;
      require(lines[i] != "}" || i + 1 - begin <= 40,
              name + " has a function of more than 40 lines that ends in line " + std::to_string(i + 1), problems);
    }
    require(fs::exists(lesson.folder() / entry.path().filename()), name + " has no stub of the same name", problems);
  }
}

void lint_checks(const Lesson& lesson, Problems& problems) {
  const std::string source = read_file(lesson.checks_file());
  require(!contains(source, "DISABLED_") && !contains(source, "GTEST_SKIP"), "a check is disabled or skipped",
          problems);
  require(contains(source, "ATTN_SPEED("),
          "no ATTN_SPEED(...) in " + path_below(lesson.root, lesson.checks_file()) +
              ": which code is timed, beside the reference's?",
          problems);
  for (const auto& name : all_matches(source, std::regex(R"(TEST(?:_F)?\(\w+, *(Test[0-9]*|[a-z_0-9]*)\))"))) {
    problems.push_back("the check " + name + " should be named by a sentence in CamelCase");
  }
}

void lint_catalogue(const Lesson& lesson, Problems& problems) {
  const auto mistakes = lesson.mistakes();
  require(mistakes.size() >= 5,
          "the catalogue has " + std::to_string(mistakes.size()) + " mistakes, expected at least 5", problems);
  std::set<std::string> ids;
  std::set<std::string> sentences;
  for (const auto& mistake : mistakes) {
    require(ids.insert(mistake.id).second, "two mistakes have the id " + mistake.id, problems);
    require(sentences.insert(mistake.says).second, "two mistakes say \"" + mistake.says + "\"", problems);
    require(mistake.named || !mistake.why.empty(),
            "the mistake " + mistake.id + " need not be named, but no \"why\" says the reason", problems);
  }
}

/// The pristine stubs, which `reset` puts back.
void lint_stub_copies(const Lesson& lesson, Problems& problems) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(lesson.stub_folder(), none)) names.insert(entry.path().filename());
  for (const auto& file : lesson.stub_files()) names.insert(fs::path(file).filename());
  for (const auto& name : names) {
    const std::string file = path_below(lesson.root, lesson.folder() / name);
    const std::string copy = path_below(lesson.root, lesson.stub_folder() / name);
    const std::string take_copy = "`cp " + file + " " + copy + "`";
    const std::string reset = "`./learn reset " + lesson.number() + "`";
    if (!fs::exists(lesson.root / copy)) {
      problems.push_back(copy + " is missing: an author of " + file + " runs " + take_copy +
                         "; a file that a learner added does no harm");
    } else if (!fs::exists(lesson.root / file)) {
      problems.push_back(copy + " is too much, as there is no " + file + ": an author who removed the stub runs `rm " +
                         copy + "`; a learner gets it back with " + reset);
    } else if (read_file(lesson.root / copy) != read_file(lesson.root / file)) {
      problems.push_back(file + " differs from " + copy + ": an author who changed the stub runs " + take_copy +
                         "; if this is your own answer, all is well: verify judges the course with its stubs in " +
                         "place, and " + reset + " puts the stub back after keeping a copy");
    }
  }
}

void lint_brief(const Lesson& lesson, Problems& problems) {
  const auto brief = lesson.interview();
  require(brief.minutes >= 5 && brief.minutes <= 40,
          "interview.md gives " + std::to_string(brief.minutes) + " minutes, expected 5 to 40", problems);
  std::size_t length = 0;
  for (const auto& row : lines_of(brief.text)) {
    if (!row.empty()) ++length;
    require(columns_of(row) <= 100, "interview.md has a line of more than 100 characters: " + row, problems);
  }
  require(length >= 6 && length <= 25,
          "interview.md has " + std::to_string(length) + " lines of text, expected 6 to 25", problems);
  for (const auto& file : lesson.stub_files()) {
    const std::string name = fs::path(file).filename();
    require(contains(brief.text, name), "interview.md does not name the file " + name, problems);
  }
}

/// interview.md says of each question how often it is asked, and what is expected, and of no other.
void lint_questions(const Lesson& lesson, Problems& problems) {
  const auto questions = lesson.questions();
  require(questions.size() >= 3,
          "the interview corner has " + std::to_string(questions.size()) + " questions, expected at least 3", problems);
  auto remarks = lesson.remarks();
  for (const auto& question : questions) {
    require(!question.answer.empty(), "no answer to the question \"" + question.text + "\"", problems);
    require(!question.senior.empty(),
            "interview.md says nothing of the question \"" + question.text +
                "\": below \"## What a senior interviewer expects\" write \"### \", the question, and a paragraph " +
                "like \"Often asked. ...\", or Sometimes, or Rarely",
            problems);
    remarks.erase(question.text);
  }
  for (const auto& [text, remark] : remarks) {
    problems.push_back("interview.md has \"### " + text + "\", which the interview corner does not ask");
  }
}

/// Everything that the tool shows has a spelling for terminals that know only ASCII; Chinese has none.
void lint_spelling(const Lesson& lesson, Problems& problems) {
  std::string shown = lesson.subject() + read_file(lesson.hints_file());
  if (fs::exists(lesson.interview_file())) shown += read_file(lesson.interview_file());
  for (const auto& mistake : lesson.mistakes()) shown += mistake.says;
  for (const auto& goal : lesson.goals()) shown += goal;
  std::set<std::string> unknown;
  for (const auto& character : utf8::characters(shown)) {
    const std::string symbol(character.bytes);
    if (symbol != "?" && character.columns == 1 && in_ascii(symbol) == "?") unknown.insert(symbol);
  }
  for (const auto& symbol : unknown) {
    problems.push_back("in_ascii() in tools/lesson/text.cpp has no spelling for " + symbol);
  }
}

void lint_array(const std::string& name, const json& array, Problems& problems) {
  std::size_t size = 1;
  for (const auto& length : array.at("shape")) size *= length.get<std::size_t>();
  const std::size_t numbers = array.at("data").size();
  require(size == numbers,
          name + " has " + std::to_string(numbers) + " numbers, its shape wants " + std::to_string(size), problems);
  require(array.at("axes").size() == array.at("shape").size(), name + " has not one letter an axis", problems);
}

/// The TODOs of the stubs are the tasks of hints.md, and each calls todo().
void lint_todos(const Lesson& lesson, Problems& problems) {
  std::string stubs;
  for (const auto& file : lesson.stub_files()) stubs += read_file(lesson.root / file);
  // Where the learner starts from a blank class, the checks' adapter says what is not written: the first task.
  const bool blank_class = fs::exists(lesson.adapter_file());
  if (blank_class) stubs += read_file(lesson.adapter_file());
  const auto tasks = ids_of(lesson.tasks());
  const auto todos = all_matches(stubs, std::regex(R"(// TODO\(([0-9.]+)\):)"));
  for (const auto& id : tasks) {
    const std::string todo = "// TODO(" + id + "): ";
    require(todos.count(id) != 0, "hints.md has the task " + id + ", but no stub says \"" + todo + "...\"", problems);
    const bool nothing_missing = contains(stubs, todo + "find the bug");
    const bool told_by_the_first = blank_class && id != *tasks.begin();
    const std::string call = blank_class ? "\"" + id + "\"," : "todo(\"" + id + "\")";
    require(nothing_missing || told_by_the_first || contains(stubs, call), "no stub calls todo(\"" + id + "\")",
            problems);
  }
  for (const auto& id : todos) {
    require(tasks.count(id) != 0, "a stub has TODO(" + id + "), but hints.md has no such task", problems);
  }
}

/// Made by PyTorch for this lesson, and every array whole.
void lint_golden(const Lesson& lesson, Problems& problems) {
  const json golden = lesson::read_json(lesson.golden_file());
  const std::string file = path_below(lesson.root, lesson.golden_file());
  require(golden.at("lesson") == lesson.name, file + " is for another lesson", problems);
  require(golden.at("pytorch") != "", file + " does not say PyTorch's version", problems);
  require(!golden.at("cases").empty(), file + " has no case", problems);
  const fs::path generator = lesson.golden_file().replace_extension(".py");
  require(fs::exists(generator), path_below(lesson.root, generator) + " is not there to make the values again",
          problems);
  const std::string checks = read_file(lesson.checks_file());
  for (const auto& [name, one_case] : golden.at("cases").items()) {
    require(one_case.contains("seed"), file + ": case " + name + " does not say its seed", problems);
    require(contains(checks, "\"" + name + "\""), file + ": no check uses the case " + name, problems);
    for (const auto& [array, value] : one_case.at("arrays").items()) lint_array(name + "/" + array, value, problems);
  }
}

/// Recorded for mistakes and checks that are there, and for every mistake that values name.
void lint_recordings(const Lesson& lesson, Problems& problems) {
  const std::string file = path_below(lesson.root, lesson.recordings_file());
  const std::string checks = read_file(lesson.checks_file());
  const auto recordings = judge::Recordings::read(lesson.recordings_file());
  const auto mistakes = lesson.mistakes();
  const auto known = ids_of(mistakes);
  const auto named_by_checks = all_matches(checks, std::regex(R"re(likely_mistake\("(\w+)"\))re"));
  const std::string again = ": write it again with `./learn verify --write`";
  for (const auto& id : recordings.mistakes()) {
    require(known.count(id) != 0, file + " knows " + id + ", which is no longer there" + again, problems);
  }
  for (const auto& [check, places] : recordings.checks()) {
    require(has_check(checks, check), file + " knows " + check + ", which is no longer there" + again, problems);
  }
  for (const auto& mistake : mistakes) {
    const bool known_by_name = recordings.mistakes().count(mistake.id) + named_by_checks.count(mistake.id) != 0;
    require(!mistake.named || known_by_name,
            "the mistake " + mistake.id + " is not in " + file + ", and no check names it" + again, problems);
  }
}

void lint_chapter_formulas(const Lesson& lesson, Problems& problems) {
  lint_formulas(lesson.root, lesson.chapter_file(), problems);
}

/// What operations on the solution give was recorded with the checks and the solution as they are.
void lint_operations(const Lesson& lesson, Problems& problems) {
  if (!fs::exists(lesson.operations_file())) return;
  const bool fresh = judge::Recordings::read(lesson.operations_file()).stamp() == stamp_of_operations(lesson);
  require(fresh,
          path_below(lesson.root, lesson.operations_file()) +
              " is of another solution or other checks: write it again with `tools/gate/operations.py " +
              lesson.number() + "`",
          problems);
}

void lint_chapter_links(const Lesson& lesson, Problems& problems) {
  lint_sources_have_links("README.md", read_file(lesson.chapter_file()), "## Sources", problems);
  lint_links(lesson.root, lesson.chapter_file(), problems);
  lint_links(lesson.root, lesson.hints_file(), problems);
}

/// What these rules find; also that a file is missing, or not as it should be.
Problems lint_lesson(const Lesson& lesson, const std::vector<void (*)(const Lesson&, Problems&)>& rules) {
  Problems problems;
  for (const auto rule : rules) {
    try {
      rule(lesson, problems);
    } catch (const std::exception& error) {
      const bool known = std::find(problems.begin(), problems.end(), error.what()) != problems.end();
      require(known, error.what(), problems);
    }
  }
  return problems;
}

/// What docs/sources.md cites has a link, and the checks that it names are there.
void lint_sources(const fs::path& root, const std::vector<Lesson>& lessons, Problems& problems) {
  std::string checks;
  for (const auto& lesson : lessons) {
    if (fs::exists(lesson.checks_file())) checks += read_file(lesson.checks_file());
  }
  const std::string sources = read_file(root / "docs" / "sources.md");
  lint_sources_have_links("docs/sources.md", sources, "## Literature", problems);
  for (const auto& name : all_matches(sources, std::regex(R"(\b([A-Z]\w+\.[A-Z]\w+))"))) {
    require(has_check(checks, name), "docs/sources.md names the check " + name + ", which no lesson has", problems);
  }
}

}  // namespace

Problems lint_values(const Lesson& lesson) {
  return lint_lesson(lesson, {lint_golden, lint_recordings, lint_operations});
}

Problems lint_chapter(const Lesson& lesson) {
  return lint_lesson(
      lesson, {lint_sections, lint_hints, lint_stub_copies, lint_solution, lint_checks, lint_todos, lint_catalogue,
               lint_brief, lint_questions, lint_spelling, lint_chapter_formulas, lint_chapter_links});
}

Problems lint_repository(const fs::path& root) {
  const auto lessons = lesson::find_lessons(root);
  Problems problems = find_stale(root);
  for (const auto& problem : judge_outcomes(lessons)) problems.push_back(problem);
  for (const char* page : {"README.md", "CONTRIBUTING.md"}) lint_links(root, root / page, problems);
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    lint_links(root, entry.path(), problems);
    lint_formulas(root, entry.path(), problems);
  }
  lint_sources(root, lessons, problems);
  return problems;
}

}  // namespace attn::gate
