#include "gate/derived.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "lesson/lesson.hpp"
#include "lesson/text.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

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

/// What a chapter says in a line `<!-- name: ... -->`, which readers do not see.
std::string note_of(const Lesson& lesson, const std::string& name, const std::string& example) {
  const std::string beginning = "<!-- " + name + ": ";
  const std::string end = " -->";
  for (const auto& line : lines_of(read_file(lesson.chapter_file()))) {
    if (line.rfind(beginning, 0) != 0 || line.size() < beginning.size() + end.size()) continue;
    return line.substr(beginning.size(), line.size() - beginning.size() - end.size());
  }
  throw std::runtime_error("lessons/" + lesson.name + "/README.md needs a line like " + beginning + example + end);
}

/// The minutes that studying a lesson takes.
int minutes_of(const Lesson& lesson) {
  const int minutes = lesson.study().minutes;
  if (minutes > 0) return minutes;
  throw std::runtime_error("lessons/" + lesson.name +
                           "/README.md needs a line like <!-- study: 75 minutes | often asked | after 00, 01 -->");
}

std::string joined(const std::vector<std::string>& lines, const std::string& separator) {
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : separator) + line;
  return text;
}

// ------------------------------------------------------------------------------------- what is derived, one by one

Derived presets(const std::vector<Lesson>& lessons) {
  std::vector<std::string> builds;
  std::vector<std::string> tests;
  std::vector<std::string> workflows;
  for (const auto& lesson : lessons) {
    const std::string n = lesson.number();
    const std::string name = R"(    {"name": "lesson-)" + n + R"(", )";
    builds.push_back(name + R"("configurePreset": "dev", "targets": ["lesson_)" + n + R"("]})");
    tests.push_back(name + R"("inherits": "dev", "displayName": ")" + lesson.title() +
                    R"(", "filter": {"include": {"name": "^lesson\\.)" + n + R"(_"}}})");
    workflows.push_back(name + R"("steps": [{"type": "configure", "name": "dev"}, {"type": "build", "name": "lesson-)" +
                        n + R"("}, {"type": "test", "name": "lesson-)" + n + R"("}]})");
  }
  const auto list = [](const std::string& kind, const std::vector<std::string>& presets_of_kind) {
    return "  \"" + kind + "\": [\n" + joined(presets_of_kind, ",\n") + "\n  ]";
  };
  return {"cmake/lesson_presets.json",
          "{\n  \"version\": 6,\n  \"include\": [\"learner_presets.json\"],\n" +
              joined({list("buildPresets", builds), list("testPresets", tests), list("workflowPresets", workflows)},
                     ",\n") +
              "\n}\n"};
}

Derived curriculum(const fs::path& root, const std::vector<Lesson>& lessons) {
  std::string table = "| lesson | you write | the heart of it | minutes |\n|---|---|---|---|\n";
  int all = 0;
  for (const auto& lesson : lessons) {
    const int minutes = minutes_of(lesson);
    table += "| [" + lesson.title() + "](lessons/" + lesson.name + "/README.md) | " +
             note_of(lesson, "curriculum", "`what_you_write` | the heart of it") + " | " + std::to_string(minutes) +
             " |\n";
    all += minutes;
  }
  return with_part(root, "README.md", "curriculum",
                   table + "\nTo read, write and debug: " + hours_text(all) + " in all.\n");
}

/// The topics of a chapter's questions, in their order.
std::vector<std::string> topics_of(const Lesson& lesson) {
  std::vector<std::string> topics;
  std::istringstream in(note_of(lesson, "topics", "one for each question; in their order"));
  for (std::string topic; std::getline(in >> std::ws, topic, ';');) topics.push_back(topic);
  return topics;
}

/// A question of a chapter, as docs/interview.md lists it.
struct Entry {
  std::string topic;
  std::string link;    ///< in Markdown
  std::string number;  ///< of its lesson
  lesson::Asked asked = lesson::Asked::sometimes;
  std::size_t topic_index = 0;  ///< of its topic on the page
  std::size_t place = 0;        ///< in its topic
};

/// Adds the questions of a chapter, in their order.
void add_entries(const Lesson& lesson, std::vector<Entry>& entries) {
  const auto asked = lesson.questions();
  const auto topics = topics_of(lesson);
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
  const auto add = [&](const std::string& topic) {
    const bool used = std::any_of(entries.begin(), entries.end(), [&](const auto& one) { return one.topic == topic; });
    if (used && std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  };
  for (const auto& line : lines_of(page)) {
    if (line.rfind(heading, 0) == 0) add(line.substr(heading.size()));
  }
  for (const auto& entry : entries) add(entry.topic);
  return topics;
}

/// A time, and the heading of what it adds.
struct Sitting {
  int minutes;
  std::string name;
};

/// Which questions to take with 15, 30, 60 and 120 minutes, as a section of Markdown: those asked often first, and among
/// them the first of each topic before the second of any. A longer time adds to a shorter one.
std::string by_minutes(std::vector<Entry> questions) {
  const auto rank = [](const Entry& question) {
    return std::tie(question.asked, question.place, question.topic_index);
  };
  std::sort(questions.begin(), questions.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::string section =
      "## By minutes\n\n"
      "An answer takes two to three minutes. Questions asked often come first; among them, one of each topic before a "
      "second of\nany. A longer time adds to a shorter one.\n";
  constexpr double minutes_per_question = 2.5;
  std::size_t taken = 0;
  for (const auto& sitting : {Sitting{15, "15 minutes"}, {30, "30 minutes"}, {60, "An hour"}, {120, "Two hours"}}) {
    const auto enough = std::min(questions.size(), static_cast<std::size_t>(sitting.minutes / minutes_per_question));
    if (enough == taken) break;
    const std::string number = counted(static_cast<int>(enough - taken), "question");
    section += "\n### " + sitting.name + ": " + (taken == 0 ? number : "add " + number) + "\n\n";
    for (; taken < enough; ++taken) section += "- " + questions[taken].link + "\n";
  }
  return section;
}

/// The questions of all chapters: which to take with so many minutes, and then all of them, by topic, and there by how
/// often they are asked. Each is a link to its chapter; docs/.vitepress/config.mjs reads these lines.
Derived questions(const fs::path& root, const std::vector<Lesson>& lessons) {
  const fs::path page = "docs/interview.md";
  std::vector<Entry> entries;
  for (const auto& lesson : lessons) add_entries(lesson, entries);
  const auto topics = topics_of(read_file(root / page), entries);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.asked < b.asked; });
  std::string sections;
  for (std::size_t topic = 0; topic < topics.size(); ++topic) {
    sections += "\n## " + topics[topic] + "\n\n";
    std::size_t place = 0;
    for (auto& entry : entries) {
      if (entry.topic != topics[topic]) continue;
      sections += "- " + entry.link + " (lesson " + entry.number + ", " + word_of(entry.asked) + " asked)\n";
      entry.topic_index = topic;
      entry.place = place++;
    }
  }
  return with_part(root, page, "questions", by_minutes(std::move(entries)) + sections);
}

/// Copies of a new lesson's stubs. Later differences are judge_chapter()'s: a stub may be somebody's answer by then.
void add_stub_copies(const std::vector<Lesson>& lessons, std::vector<Derived>& all) {
  for (const auto& lesson : lessons) {
    if (fs::exists(lesson.stub_folder())) continue;
    for (const auto& stub : lesson.stub_files()) {
      all.push_back({fs::relative(lesson.stub_of(stub), lesson.root), read_file(lesson.root / stub)});
    }
  }
}

bool is_stale(const fs::path& root, const Derived& derived) {
  return !fs::exists(root / derived.file) || read_file(root / derived.file) != derived.text;
}

}  // namespace

std::vector<Derived> derive(const fs::path& root) {
  const auto lessons = lesson::find_lessons(root);
  std::vector<Derived> all = {presets(lessons), curriculum(root, lessons), questions(root, lessons)};
  add_stub_copies(lessons, all);
  return all;
}

Problems find_stale(const fs::path& root) {
  Problems problems;
  try {
    for (const auto& derived : derive(root)) {
      if (is_stale(root, derived)) {
        problems.push_back(derived.file.string() +
                           " is not what the lessons say; this writes it: ./learn verify --write");
      }
    }
  } catch (const std::runtime_error& error) {
    problems.push_back(error.what());
  }
  return problems;
}

std::vector<fs::path> write_derived(const fs::path& root) {
  std::vector<fs::path> written;
  for (const auto& derived : derive(root)) {
    if (!is_stale(root, derived)) continue;
    fs::create_directories((root / derived.file).parent_path());
    std::ofstream out(root / derived.file);
    out << derived.text;
    if (!out.flush()) throw std::runtime_error("cannot write " + (root / derived.file).string());
    written.push_back(derived.file);
  }
  return written;
}

}  // namespace attn::gate
