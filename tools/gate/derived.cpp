#include "gate/derived.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

/// A file that is derived, or has a part that is.
struct Derived {
  fs::path file;     ///< below the course's folder
  std::string text;  ///< all of the file, as it should be
};

/// A file of the course with the part between its markers replaced.
Derived with_part(const fs::path& root, const fs::path& file, const std::string& name, const std::string& part) {
  const std::string begin = "<!-- gate: " + name + " begin -->\n";
  const std::string end = "<!-- gate: " + name + " end -->\n";
  std::string text = read_file(root / file);
  const auto from = text.find(begin);
  const auto to = text.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) {
    throw std::runtime_error(file.string() + " needs two lines, " + begin.substr(0, begin.size() - 1) + " and " +
                             end.substr(0, end.size() - 1) + ", for what is written between them");
  }
  const auto inner = from + begin.size();
  return {file, text.replace(inner, to - inner, "\n" + part + "\n")};
}

std::runtime_error lacks_note(const Lesson& lesson, const std::string& example) {
  return std::runtime_error("lessons/" + lesson.name + "/README.md needs a line like <!-- " + example + " -->");
}

/// What a chapter says in a line `<!-- name: ... -->`, which readers do not see.
std::string note_of(const Lesson& lesson, const std::string& name, const std::string& example) {
  const std::string beginning = "<!-- " + name + ": ";
  for (const auto& line : lines_of(read_file(lesson.chapter_file()))) {
    const auto end = line.find(" -->", beginning.size());
    if (begins_with(line, beginning) && end != std::string::npos) {
      return line.substr(beginning.size(), end - beginning.size());
    }
  }
  throw lacks_note(lesson, name + ": " + example);
}

// ------------------------------------------------------------------------------------- what is derived, one by one

Derived presets(const std::vector<Lesson>& lessons) {
  const auto list = [&](const std::string& kind, const std::string& preset) {
    std::vector<std::string> all;
    for (const auto& lesson : lessons) {
      const std::string with_number = replaced("    {\"name\": \"lesson-NN\", " + preset, "NN", lesson.number());
      all.push_back(replaced(with_number, "TITLE", lesson.title()));
    }
    return "  \"" + kind + "\": [\n" + joined(all, ",\n") + "\n  ]";
  };
  const std::vector<std::string> lists = {
      list("buildPresets", R"("configurePreset": "dev", "targets": ["lesson_NN"]})"),
      list("testPresets", R"("inherits": "dev", "displayName": "TITLE", )"
                          R"("filter": {"include": {"name": "^lesson\\.NN_"}}})"),
      list("workflowPresets", R"("steps": [{"type": "configure", "name": "dev"}, )"
                              R"({"type": "build", "name": "lesson-NN"}, {"type": "test", "name": "lesson-NN"}]})")};
  return {"cmake/lesson_presets.json",
          "{\n  \"version\": 6,\n  \"include\": [\"learner_presets.json\"],\n" + joined(lists, ",\n") + "\n}\n"};
}

Derived curriculum(const fs::path& root, const std::vector<Lesson>& lessons) {
  std::string table = "| lesson | you write | the heart of it | minutes |\n|---|---|---|---|\n";
  int all = 0;
  for (const auto& lesson : lessons) {
    const int minutes = lesson.study().minutes;
    if (minutes == 0) throw lacks_note(lesson, "study: 75 minutes | often asked | after 00, 01");
    const std::string heading = lesson.heading();
    table += "| [" + heading.substr(0, heading.find(':')) + "](../lessons/" + lesson.name + "/README.md) | " +
             note_of(lesson, "curriculum", "`what_you_write` | the heart of it") + " | " + std::to_string(minutes) +
             " |\n";
    all += minutes;
  }
  return with_part(root, "docs/curriculum.md", "curriculum",
                   table + "\nTo read, write and debug: " + hours_text(all) + " in all.\n");
}

/// The README's short table. Lines `<!-- group 06: Many heads | what one writes -->` in docs/curriculum.md say where a group begins.
Derived groups(const fs::path& root, const std::vector<Lesson>& lessons) {
  const auto minutes_between = [&](const std::string& first, const std::string& end) {
    int minutes = 0;
    for (const auto& lesson : lessons) {
      if (lesson.number() >= first && lesson.number() < end) minutes += lesson.study().minutes;
    }
    return minutes;
  };
  const std::string page = read_file(root / "docs/curriculum.md");
  const std::regex line("<!-- group (\\d\\d): (.*) \\| (.*) -->");
  const std::vector<std::smatch> found{std::sregex_iterator(page.begin(), page.end(), line), {}};
  std::string table = "| lessons | | you write | time |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string first = found[i][1],
                      end = i + 1 < found.size() ? found[i + 1][1].str() : ":";  // after all digits
    std::string last;
    for (const auto& lesson : lessons) last = lesson.number() < end ? lesson.number() : last;
    table += "| " + first + (first == last ? "" : " to " + last) + " | **" + found[i][2].str() + "** | " +
             found[i][3].str() + " | " + hours_text(minutes_between(first, end)) + " |\n";
  }
  return with_part(
      root, "README.md", "groups",
      table + "\nAbout " + std::to_string(std::lround(minutes_between("00", ":") / 60.0)) + " hours in all.\n");
}

/// A question of a chapter, as docs/interview.md lists it.
struct Entry {
  std::string topic;
  std::string link;    ///< in Markdown
  std::string number;  ///< of its lesson
  lesson::Asked asked;
};

/// Adds the questions of a chapter, in their order.
void add_entries(const Lesson& lesson, std::vector<Entry>& entries) {
  const auto asked = lesson.questions();
  std::vector<std::string> topics;
  std::istringstream in(note_of(lesson, "topics", "one for each question; in their order"));
  for (std::string topic; std::getline(in >> std::ws, topic, ';');) topics.push_back(topic);
  if (topics.size() != asked.size()) {
    throw std::runtime_error("lessons/" + lesson.name + "/README.md has " +
                             counted(static_cast<int>(asked.size()), "question") + " in its interview corner, and " +
                             counted(static_cast<int>(topics.size()), "topic") +
                             " in its line <!-- topics: ... -->: one for each question, with \"; \" between them");
  }
  const std::string corner = "](../lessons/" + lesson.name + "/README.md#interview-corner)";
  for (std::size_t i = 0; i < asked.size(); ++i) {
    entries.push_back({topics[i], "[" + asked[i].text + corner, lesson.number(), asked[i].asked});
  }
}

/// The topics of a page's questions: in the order in which the page has them, and new ones last.
std::vector<std::string> topics_of(const std::string& page, const std::vector<Entry>& entries) {
  const std::string heading = "## ";
  std::vector<std::string> topics;
  std::set<std::string> missing;
  for (const auto& entry : entries) missing.insert(entry.topic);
  const auto add = [&](const std::string& topic) {
    if (missing.erase(topic) != 0) topics.push_back(topic);
  };
  for (const auto& line : lines_of(page)) {
    if (begins_with(line, heading)) add(line.substr(heading.size()));
  }
  for (const auto& entry : entries) add(entry.topic);
  return topics;
}

/// How the links begin of those questions that docs/interview.md puts first, in lines `<!-- first: Why several heads? -->`.
std::vector<std::string> first_of(const std::string& page, const std::vector<Entry>& entries) {
  const std::regex line("<!-- first: (.*) -->");
  std::vector<std::string> first;
  for (std::sregex_iterator found(page.begin(), page.end(), line), end; found != end; ++found) {
    const std::string begin = "[" + (*found)[1].str() + "](";
    const auto is_it = [&](const Entry& entry) { return begins_with(entry.link, begin); };
    if (std::none_of(entries.begin(), entries.end(), is_it)) {
      throw std::runtime_error("docs/interview.md puts a question first that no chapter asks: " + (*found)[1].str());
    }
    first.push_back(begin);
  }
  return first;
}

/// Links to questions: those asked often first, and among them the first of each topic before the second of any. Those that the
/// page puts first have places below zero.
using Ranked = std::set<std::tuple<lesson::Asked, int, int, std::string>>;  // asked, place in its topic, topic, link

/// Which questions to take with 15, 30, 60 and 120 minutes, as a section of Markdown. A longer time adds to a shorter one.
std::string by_minutes(const Ranked& questions) {
  std::string section =
      "## By minutes\n\n"
      "An answer takes two to three minutes. After what is asked first, questions asked often come before others; "
      "among them, one\nof each topic before a second of any. A longer time adds to a shorter one. What a senior "
      "interviewer would add to an answer\nis in `interview.md` beside its chapter.\n";
  constexpr double minutes_per_question = 2.5;
  int taken = 0;
  auto next = questions.begin();
  const std::map<int, std::string> sittings = {
      {15, "15 minutes"}, {30, "30 minutes"}, {60, "An hour"}, {120, "Two hours"}};
  for (const auto& [minutes, name] : sittings) {
    const int enough = std::min(static_cast<int>(questions.size()), static_cast<int>(minutes / minutes_per_question));
    if (enough == taken) break;
    section += "\n### " + name + ": " + (taken == 0 ? "" : "add ") + counted(enough - taken, "question") + "\n\n";
    for (; taken < enough; ++taken) section += "- " + std::get<std::string>(*next++) + "\n";
  }
  return section;
}

/// The questions of all chapters: which to take with so many minutes, and then all of them, by topic, and there by how
/// often they are asked. Each is a link to its chapter; docs/.vitepress/config.mjs reads these lines.
Derived questions(const fs::path& root, const std::vector<Lesson>& lessons) {
  const fs::path page = "docs/interview.md";
  std::vector<Entry> entries;
  for (const auto& lesson : lessons) add_entries(lesson, entries);
  const std::string text = read_file(root / page);
  const auto topics = topics_of(text, entries);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.asked < b.asked; });
  const auto first = first_of(text, entries);
  std::string sections;
  Ranked ranked;
  for (int topic = 0; topic < static_cast<int>(topics.size()); ++topic) {
    const std::string& heading = topics[static_cast<std::size_t>(topic)];
    sections += "\n## " + heading + "\n\n";
    int place = 0;
    for (const auto& entry : entries) {
      if (entry.topic != heading) continue;
      sections += "- " + entry.link + " (lesson " + entry.number + ", " + word_of(entry.asked) + " asked)\n";
      const auto chosen =
          std::find_if(first.begin(), first.end(), [&](const auto& begin) { return begins_with(entry.link, begin); });
      const int before_all = static_cast<int>(chosen - first.end());  // 0: it is not put first
      ranked.emplace(before_all < 0 ? lesson::Asked::often : entry.asked, before_all < 0 ? before_all : place, topic,
                     entry.link);
      ++place;
    }
  }
  return with_part(root, page, "questions", by_minutes(ranked) + sections);
}

/// Copies of a new lesson's stubs. Later differences are lint_chapter()'s: a stub may be somebody's answer by then.
void add_stub_copies(const std::vector<Lesson>& lessons, std::vector<Derived>& all) {
  for (const auto& lesson : lessons) {
    if (fs::exists(lesson.stub_folder())) continue;
    for (const auto& stub : lesson.stub_files()) {
      all.push_back({fs::relative(lesson.stub_of(stub), lesson.root), read_file(lesson.root / stub)});
    }
  }
}

/// All that is derived.
std::vector<Derived> derive(const fs::path& root) {
  const auto lessons = lesson::find_lessons(root);
  std::vector<Derived> all = {presets(lessons), curriculum(root, lessons), groups(root, lessons),
                              questions(root, lessons)};
  add_stub_copies(lessons, all);
  return all;
}

bool holds(const fs::path& file, const std::string& text) { return fs::exists(file) && read_file(file) == text; }

}  // namespace

Problems find_stale(const fs::path& root) {
  Problems problems;
  try {
    for (const auto& [file, text] : derive(root)) {
      if (holds(root / file, text)) continue;
      problems.push_back(file.string() + " is not what the lessons say; this writes it: ./learn verify --write");
    }
  } catch (const std::runtime_error& error) {
    problems.push_back(error.what());
  }
  return problems;
}

std::vector<fs::path> write_derived(const fs::path& root) {
  std::vector<fs::path> written;
  for (const auto& [file, text] : derive(root)) {
    if (write_if_changed(root / file, text)) written.push_back(file);
  }
  return written;
}

bool write_if_changed(const fs::path& file, const std::string& text) {
  if (holds(file, text)) return false;
  fs::create_directories(file.parent_path());
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
  return true;
}

}  // namespace attn::gate
