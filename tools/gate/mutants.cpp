#include "gate/mutants.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "lesson/text.hpp"
#include "verdict/place.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Edit;
using lesson::Lesson;
using lesson::read_file;

namespace {

[[noreturn]] void refuse(const Edit& edit, const Lesson& lesson, const std::string& why) {
  throw std::runtime_error("mistake " + edit.id + " of " + lesson.name + ": " + why + " (solutions/" + lesson.name +
                           "/" + edit.file + ")");
}

/// The text of a solution's file with one edit made.
std::string mutate(const Edit& edit, const Lesson& lesson, const std::string& text) {
  try {
    return lesson::apply(edit, text);
  } catch (const std::runtime_error& error) {
    refuse(edit, lesson, error.what());
  }
}

// ----------------------------------------------------------------------------------------------------- regions

/// A stretch of a file. All of them together are the file.
struct Region {
  enum class Kind { body, initialisers, other };
  Kind kind;
  std::string text;
};

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Cuts C++ code into regions, at the braces outside of functions and the colons before member initialisers.
class RegionScan {
 public:
  explicit RegionScan(const std::string& code) : code_(code), plain_(judge::without_comments(code)) {}

  std::vector<Region> run() {
    constexpr auto none = std::string::npos;
    std::size_t head = 0;         // where what stands before the next brace begins
    std::size_t brackets = none;  // the first there: of a function's parameters
    for (std::size_t at = 0; at < plain_.size(); ++at) {
      const char c = plain_[at];
      if (c == '(') {
        if (brackets == none) brackets = at;
        at = closing(at);
        continue;
      }
      if (c == '{' && is_list(head, at)) {
        at = closing(at);
        continue;
      }
      if (c == '{' && brackets != none) at = take_function(brackets, at);  // else a namespace or a class
      if (c != '{' && c != '}' && c != ';') continue;
      head = at + 1;
      brackets = none;
    }
    cut(code_.size(), Region::Kind::other);
    return std::move(regions_);
  }

 private:
  void cut(std::size_t end, Region::Kind kind) {
    regions_.push_back({kind, code_.substr(begin_, end - begin_)});
    begin_ = end;
  }

  /// @return where it ends
  std::size_t take_function(std::size_t parameters, std::size_t brace) {
    auto at = closing(parameters) + 1;
    while (is_space(plain_[at])) ++at;
    if (plain_[at] == ':') {
      brace = begin_of_body(at + 1);
      cut(at + 1, Region::Kind::other);
      cut(brace, Region::Kind::initialisers);
    }
    const auto end = closing(brace);
    cut(brace + 1, Region::Kind::other);
    cut(end, Region::Kind::body);
    return end;
  }

  /// The brace after member initialisers: the first that is not a member's own.
  std::size_t begin_of_body(std::size_t at) const {
    for (char before = ':'; at < plain_.size(); ++at) {
      const char c = plain_[at];
      if (c == '{' && (before == ')' || before == '}')) return at;
      if (c == '(' || c == '{') at = closing(at);
      if (!is_space(c)) before = plain_[at];
    }
    throw std::runtime_error("member initialisers without a body: " + code_.substr(0, 200));
  }

  /// Whether what stands before a brace announces values: `int sizes[] = {` or an enum.
  bool is_list(std::size_t head, std::size_t brace) const {
    const std::string before = plain_.substr(head, brace - head);
    return before.substr(0, before.find('(')).find('=') != std::string::npos ||
           before.find("enum ") != std::string::npos;
  }

  /// The bracket that closes the one at `open`.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (auto at = open; at < plain_.size(); ++at) {
      const char c = plain_[at];
      if (c == '(' || c == '{') ++depth;
      if ((c == ')' || c == '}') && --depth == 0) return at;
    }
    return plain_.size();
  }

  const std::string& code_;
  const std::string plain_;
  std::size_t begin_ = 0;
  std::vector<Region> regions_;
};

/// Takes the lines for the preprocessor, which are all #include or #pragma once, out of the code.
std::set<std::string> take_includes(std::string& code) {
  std::set<std::string> includes;
  std::string rest;
  for (const auto& line : lines_of(code)) {
    if (line.rfind("#", 0) == 0) {
      includes.insert(line);
    } else {
      rest += line + "\n";
    }
  }
  code = rest;
  return includes;
}

// ------------------------------------------------------------------------------------------- a region to choose from

/// What an edit makes of a region.
struct Variant {
  int number;  ///< of the edit in its file
  std::string id;
  std::string text;
};

std::string is_chosen(int region, int number) {
  return "::mistake_in(" + std::to_string(region) + ") == " + std::to_string(number);
}

std::string choose_body(const Region& right, const std::vector<Variant>& variants, int region) {
  std::string choice = "\nswitch (::mistake_in(" + std::to_string(region) + ")) {\n";
  for (const auto& wrong : variants) {
    choice += "case " + std::to_string(wrong.number) + ": {  // " + wrong.id + "\n" + wrong.text + "\n} break;\n";
  }
  return choice + "default: {" + right.text + "\n}\n}\n";
}

/// A member and the expressions in its brackets.
struct Initialiser {
  std::string member;
  std::string arguments;
};

/// "a(1, 2),\n b_(n) " as its members.
std::vector<Initialiser> initialisers_in(const std::string& list) {
  const std::string plain = judge::without_comments(list);
  std::vector<Initialiser> found;
  int depth = 0;
  std::size_t open = 0;
  std::string member;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const char c = plain[at];
    if (c == '(' || c == '{') {
      if (depth++ == 0) open = at;
    } else if (c == ')' || c == '}') {
      if (--depth > 0) continue;
      found.push_back({member, list.substr(open + 1, at - open - 1)});
      member.clear();
    } else if (depth == 0 && !is_space(c) && c != ',') {
      member += c;
    }
  }
  return found;
}

/// Each member that an edit initialises otherwise gets an expression with a question in it. Nothing when the members are
/// not the same.
std::optional<std::string> choose_initialisers(const Region& right, const std::vector<Variant>& variants, int region) {
  const auto members = initialisers_in(right.text);
  std::vector<std::string> choices(members.size());
  for (const auto& wrong : variants) {
    const auto others = initialisers_in(wrong.text);
    if (others.size() != members.size()) return {};
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (others[i].member != members[i].member) return {};
      if (others[i].arguments == members[i].arguments) continue;
      choices[i] += is_chosen(region, wrong.number) + " ? decltype(this->" + members[i].member + ")(" +
                    others[i].arguments + ")\n : ";
    }
  }
  std::string list;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [member, arguments] = members[i];
    const std::string value =
        choices[i].empty() ? arguments : choices[i] + "decltype(this->" + member + ")(" + arguments + ")";
    list += (i == 0 ? " " : ",\n ") + member + "(" + value + ")";
  }
  return list + " ";
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// Elsewhere: what differs has to be one expression.
std::string choose_expression(const Region& right, const std::vector<Variant>& variants, int region) {
  const std::string& text = right.text;
  std::size_t begin = text.size();
  std::size_t end = text.size();  // counted from the end of a text
  for (const auto& wrong : variants) {
    const auto shorter = std::min(text.size(), wrong.text.size());
    std::size_t same = 0;
    while (same < shorter && text[same] == wrong.text[same]) ++same;
    begin = std::min(begin, same);
    same = 0;
    while (same < shorter - begin && text[text.size() - 1 - same] == wrong.text[wrong.text.size() - 1 - same]) ++same;
    end = std::min(end, same);
  }
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  while (end > 0 && in_word(text[text.size() - end])) --end;
  std::string choice;
  for (const auto& wrong : variants) {
    choice +=
        is_chosen(region, wrong.number) + " ? " + wrong.text.substr(begin, wrong.text.size() - end - begin) + " : ";
  }
  return text.substr(0, begin) + "(" + choice + text.substr(begin, text.size() - end - begin) + ")" +
         text.substr(text.size() - end);
}

// --------------------------------------------------------------------------------------------------- a file

/// A file of the solution while its mistakes are put into it.
class MutatedFile {
 public:
  MutatedFile(const Lesson& lesson, const std::string& file, int first_region)
      : lesson_(lesson), text_(read_file(lesson.solution_folder() / file)), first_region_(first_region) {
    std::string code = text_;
    includes_ = take_includes(code);
    regions_ = RegionScan(code).run();
    variants_.resize(regions_.size());
  }

  /// @return the numbers of the regions that it changes
  std::set<int> add(const Edit& edit) {
    std::string code = mutate(edit, lesson_, text_);
    includes_.merge(take_includes(code));
    const auto mutated = RegionScan(code).run();
    const auto same_kinds = std::equal(mutated.begin(), mutated.end(), regions_.begin(), regions_.end(),
                                       [](const Region& a, const Region& b) { return a.kind == b.kind; });
    if (!same_kinds) refuse(edit, lesson_, "it adds or removes a function; write what it does where it is needed");
    std::set<int> changed;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (mutated[i].text == regions_[i].text) continue;
      variants_[i].push_back({static_cast<int>(ids_.size()), edit.id, mutated[i].text});
      changed.insert(first_region_ + static_cast<int>(i));
    }
    ids_.push_back(edit.id);
    return changed;
  }

  int regions() const { return static_cast<int>(regions_.size()); }

  std::string text() const {
    std::string includes = "#include <cstdlib>\n#include <string_view>\n";
    for (const auto& line : includes_) includes += line + "\n";
    std::string code;
    for (std::size_t i = 0; i < regions_.size(); ++i) code += region_to_choose(i);
    return includes + chooser() + code;
  }

 private:
  /// A function that says which edit to make, by its number, or -1; and notes that the region is reached.
  std::string chooser() const {
    std::string list;
    for (const auto& id : ids_) list += (list.empty() ? "\"" : ", \"") + id + "\"";
    return "\nextern bool mistake_region_reached[] __attribute__((weak));\n\n"
           "static int mistake_in(int region) {\n"
           "  static const int chosen = [] {\n"
           "    const char* id = std::getenv(\"" +
           std::string(chosen_mistake) +
           "\");\n"
           "    int number = 0;\n"
           "    for (const std::string_view known : {" +
           list +
           "}) {\n"
           "      if (id != nullptr && known == id) return number;\n"
           "      ++number;\n"
           "    }\n"
           "    return -1;\n"
           "  }();\n"
           "  if (mistake_region_reached != nullptr) mistake_region_reached[region] = true;\n"
           "  return chosen;\n"
           "}\n\n";
  }

  std::string region_to_choose(std::size_t i) const {
    const Region& right = regions_[i];
    const int number = first_region_ + static_cast<int>(i);
    if (variants_[i].empty()) return right.text;
    if (right.kind == Region::Kind::body) return choose_body(right, variants_[i], number);
    if (right.kind == Region::Kind::other) return choose_expression(right, variants_[i], number);
    const auto list = choose_initialisers(right, variants_[i], number);
    if (!list)
      throw std::runtime_error("a mistake of " + lesson_.name + " initialises other members than the solution");
    return *list;
  }

  const Lesson& lesson_;
  std::string text_;
  int first_region_;
  std::set<std::string> includes_;
  std::vector<Region> regions_;
  std::vector<std::vector<Variant>> variants_;  ///< by region
  std::vector<std::string> ids_;
};

/// The solution's files, in order.
std::vector<std::string> solution_files(const Lesson& lesson) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder())) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string mutate_all(const Lesson& lesson, const std::string& file, Regions* regions) {
  int first_region = 0;
  for (const auto& earlier : solution_files(lesson)) {
    if (earlier < file) first_region += MutatedFile(lesson, earlier, 0).regions();
  }
  MutatedFile mutated(lesson, file, first_region);
  for (const auto& edit : lesson.edits()) {
    if (edit.file != file) continue;
    const auto changed = mutated.add(edit);
    if (regions != nullptr) (*regions)[edit.id] = changed;
  }
  return mutated.text();
}

Regions regions_of(const Lesson& lesson) {
  Regions regions;
  for (const auto& file : solution_files(lesson)) mutate_all(lesson, file, &regions);
  return regions;
}

}  // namespace attn::gate
