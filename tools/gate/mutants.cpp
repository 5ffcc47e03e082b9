#include "gate/mutants.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "lesson/text.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Edit;
using lesson::Lesson;
using lesson::read_file;

namespace {

std::string name_of(const Lesson& lesson, const fs::path& file) { return fs::relative(file, lesson.root).string(); }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  if (part.empty()) return 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// The only place where a mistake's `find` occurs in the text of its file.
std::size_t place_of(const Edit& mistake, const Lesson& lesson, const std::string& text) {
  const std::size_t count = occurrences(text, mistake.find);
  if (count != 1) {
    throw std::runtime_error("mistake " + mistake.id + " of " + lesson.name + ": its \"find\" occurs " +
                             std::to_string(count) + " times in " +
                             name_of(lesson, lesson.solution_folder() / mistake.file) + ", expected exactly once");
  }
  return text.find(mistake.find);
}

/// The lines between a function's braces, and the mistakes that are made there.
struct Body {
  std::size_t begin;
  std::size_t end;
  std::vector<Edit> mistakes;
};

bool opens_a_block(const std::string& line) {
  const std::string code = line.substr(0, line.find("  //"));
  return !code.empty() && code.back() == '{';
}

/// Whether what begins with this line holds functions, and is none.
bool holds_functions(const std::string& head) {
  const std::string word = head.substr(0, head.find(' ', head.find_first_not_of(' ')));
  return word == "namespace" || word == "class" || word == "struct";
}

/// As .clang-format writes functions: they begin at the first column, or in a class at the third; the line that opens
/// the body ends in its brace, and the brace that closes it stands alone below the function's first letter.
std::vector<Body> bodies_of(const std::string& text) {
  std::vector<Body> bodies;
  std::size_t at = 0;
  std::string head;
  std::string indent;
  std::optional<std::size_t> begin;
  for (const std::string& line : lines_of(text)) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t next = at + line.size() + 1;
    if (begin) {
      if (line == indent + "}") bodies.push_back({*begin, at, {}});
      if (line.rfind(indent + "}", 0) == 0) begin.reset();
    } else {
      if (!line.empty() && (spaces == 0 || spaces == 2)) {
        head = line;
        indent = std::string(spaces, ' ');
      }
      if (opens_a_block(line) && !holds_functions(head)) begin = next;
    }
    at = next;
  }
  return bodies;
}

/// A function that says which mistake to make: its place in the list, or -1.
std::string chooser_of(const std::vector<std::string>& ids) {
  std::string list;
  for (const auto& id : ids) list += "\"" + id + "\", ";
  return "#include <cstdlib>\n"
         "#include <string_view>\n\n"
         "static int mistake_to_make() {\n"
         "  static const int chosen = [] {\n"
         "    const char* id = std::getenv(\"" +
         std::string(chosen_mistake) +
         "\");\n"
         "    int place = 0;\n"
         "    for (const std::string_view known : {" +
         list.substr(0, list.size() - 2) +
         "}) {\n"
         "      if (id != nullptr && known == id) return place;\n"
         "      ++place;\n"
         "    }\n"
         "    return -1;\n"
         "  }();\n"
         "  return chosen;\n"
         "}\n\n";
}

/// One case for each mistake, and the right one.
std::string body_to_choose(const Body& body, const std::string& text, std::vector<std::string>& ids) {
  const std::string right = text.substr(body.begin, body.end - body.begin);
  std::string choice = "switch (::mistake_to_make()) {\n";
  for (const auto& mistake : body.mistakes) {
    std::string wrong = right;
    wrong.replace(right.find(mistake.find), mistake.find.size(), mistake.replace);
    choice += "case " + std::to_string(ids.size()) + ": {  // " + mistake.id + "\n" + wrong + "} break;\n";
    ids.push_back(mistake.id);
  }
  return choice + "default: {\n" + right + "}\n}\n";
}

}  // namespace

std::string mutate(const Lesson& lesson, const std::string& id) {
  const auto mistakes = lesson.edits();
  const auto mistake = std::find_if(mistakes.begin(), mistakes.end(), [&](const Edit& m) { return m.id == id; });
  if (mistake == mistakes.end()) {
    throw std::runtime_error(name_of(lesson, lesson.mistakes_file()) + " has no mistake " + id);
  }
  std::string text = read_file(lesson.solution_folder() / mistake->file);
  return text.replace(place_of(*mistake, lesson, text), mistake->find.size(), mistake->replace);
}

std::string mutate_all(const Lesson& lesson, const std::string& file) {
  const std::string text = read_file(lesson.solution_folder() / file);
  auto bodies = bodies_of(text);
  for (const auto& mistake : lesson.edits()) {
    if (mistake.file != file || mistake.alone) continue;
    const std::size_t place = place_of(mistake, lesson, text);
    const auto around = std::find_if(bodies.begin(), bodies.end(), [&](const Body& body) {
      return body.begin <= place && place + mistake.find.size() <= body.end;
    });
    if (around == bodies.end()) {
      throw std::runtime_error("mistake " + mistake.id + " of " + lesson.name +
                               ": its \"find\" is not within the body of one function; write \"alone\": true into " +
                               name_of(lesson, lesson.mistakes_file()) + ", and it gets a program of its own");
    }
    around->mistakes.push_back(mistake);
  }

  std::vector<std::string> ids;
  std::string choices;
  std::size_t copied = 0;
  for (const auto& body : bodies) {
    if (body.mistakes.empty()) continue;
    choices += text.substr(copied, body.begin - copied) + body_to_choose(body, text, ids);
    copied = body.end;
  }
  return chooser_of(ids) + choices + text.substr(copied);
}

}  // namespace attn::gate
