#include "gate/mutants.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <vector>

#include "lesson/text.hpp"
#include "verdict/place.hpp"

namespace attn::gate {

namespace fs = std::filesystem;
using lesson::Lesson;
using lesson::read_file;

namespace {

// ----------------------------------------------------------------------------------------------------- regions

/// What an edit makes of a region.
struct Variant {
  int number;  ///< of the edit in its file
  std::string id;
  std::string text;
};

/// A stretch of a file. All of them together are the file.
struct Region {
  enum class Kind { body, initialisers, other };
  Kind kind;
  std::string text;
  std::vector<Variant> variants = {};
};

/// The bracket that closes the one at `open`.
std::size_t closing(const std::string& plain, std::size_t open) {
  int depth = 0;
  for (auto at = plain.find_first_of("(){}", open); at != std::string::npos; at = plain.find_first_of("(){}", at + 1)) {
    depth += plain[at] == '(' || plain[at] == '{' ? 1 : -1;
    if (depth == 0) return at;
  }
  return plain.size();
}

/// The brace after member initialisers, which are in round brackets.
std::size_t brace_after_initialisers(const std::string& plain, std::size_t at) {
  do {
    at = plain.find_first_not_of(" \n", closing(plain, plain.find('(', at)) + 1);
    if (at == std::string::npos) throw std::runtime_error("member initialisers without a body");
  } while (plain[at] != '{');
  return at;
}

/// Cuts C++ code into regions.
std::vector<Region> regions_in(const std::string& code) {
  static const std::regex end_of_head(R"(\)(?:[^:;=(){}]|::)*([:{]))");  // and what follows: initialisers, or a body
  const std::string plain = judge::without_comments(code);
  std::vector<Region> regions;
  std::size_t begin = 0;
  const auto cut = [&](std::size_t end, Region::Kind kind) {
    regions.push_back({kind, code.substr(begin, end - begin)});
    begin = end;
  };
  for (std::cmatch head; std::regex_search(plain.c_str() + begin, head, end_of_head);) {
    auto brace = static_cast<std::size_t>(head[1].first - plain.c_str());
    if (plain[brace] == ':') {
      cut(brace + 1, Region::Kind::other);
      brace = brace_after_initialisers(plain, brace);
      cut(brace, Region::Kind::initialisers);
    }
    cut(brace + 1, Region::Kind::other);
    cut(closing(plain, brace), Region::Kind::body);
  }
  cut(code.size(), Region::Kind::other);
  return regions;
}

/// Takes the lines for the preprocessor, which are all #include or #pragma once, out of the code.
std::set<std::string> take_includes(std::string& code) {
  std::set<std::string> includes;
  std::string rest;
  for (const auto& line : lines_of(code)) {
    if (begins_with(line, "#")) {
      includes.insert(line);
    } else if (!line.empty() || !rest.empty()) {  // the empty lines between them are no code
      rest += line + "\n";
    }
  }
  code = rest;
  return includes;
}

// ------------------------------------------------------------------------------------------- a region to choose from

std::string is_chosen(int region, int number) {
  return "::mistake_in(" + std::to_string(region) + ") == " + std::to_string(number);
}

/// A statement of a body, with the space and the comments before it. The last one of a body is what follows its end.
struct Statement {
  std::string text;
  std::string plain;  ///< without comments
};

bool operator==(const Statement& a, const Statement& b) { return a.text == b.text; }

using Statements = std::vector<Statement>;

bool has_at(const std::string& text, std::size_t at, const std::regex& form) {
  return std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), form,
                           std::regex_constants::match_continuous);
}

/// Where the statement ends that begins at `begin`: after its semicolon, or after the braces of a loop or an if. npos when
/// there is none.
std::size_t end_of_statement(const std::string& plain, std::size_t begin) {
  static const std::regex may_end_with_braces(R"(\s*(?:(?:for|if|while|switch|try)\b|\{))");
  static const std::regex opens_block(R"((?:^|\)|\belse|\btry)\s*$)");  // not a list of values
  static const std::regex goes_on(R"(\s*(?:else|catch)\b)");
  const bool ends_with_braces = has_at(plain, begin, may_end_with_braces);
  for (auto at = plain.find_first_of("({;", begin); at < plain.size(); at = plain.find_first_of("({;", at + 1)) {
    const bool end = plain[at] == ';' || (plain[at] == '{' && ends_with_braces &&
                                          std::regex_search(plain.substr(begin, at - begin), opens_block));
    if (plain[at] != ';') at = closing(plain, at);
    if (end && !has_at(plain, at + 1, goes_on)) return at + 1;
  }
  return std::string::npos;
}

Statements statements_in(const std::string& body) {
  const std::string plain = judge::without_comments(body);
  Statements statements;
  std::size_t begin = 0;
  for (auto end = end_of_statement(plain, 0); end != std::string::npos; end = end_of_statement(plain, begin)) {
    statements.push_back({body.substr(begin, end - begin), plain.substr(begin, end - begin)});
    begin = end;
  }
  statements.push_back({body.substr(begin), plain.substr(begin)});
  return statements;
}

/// Whether what follows the statement may use a name that it declares.
bool declares(const Statement& statement) {
  static const std::regex keyword(R"(\s*(?:$|(?:for|if|while|switch|try|return|throw)\b|[{(*+-]))");
  static const std::regex use(R"(\s*(?!auto\b|const\b)\w(?:\w|::|\.|->)*\s*(?:[-+*/%&|]?=|<<|\+\+|--|[[(;]))");
  return !has_at(statement.plain, 0, keyword) && !has_at(statement.plain, 0, use);
}

/// `const arma::mat A = B;` or `arma::mat A(B);`, of a type that is named.
struct Definition {
  std::string head;   ///< "const arma::mat A"
  std::string value;  ///< "arma::mat(B)"
};

std::optional<Definition> definition_in(const Statement& statement) {
  static const std::regex form(R"(\s*((?:const )?(?!(?:auto|const|return|static|throw|using)\b))"
                               R"(([\w:]+(?:<[\w:, ]+>)?) \w+)( = (?!\{)|\())");
  const std::string& plain = statement.plain;
  std::smatch match;
  if (!std::regex_search(plain, match, form, std::regex_constants::match_continuous)) return {};
  const auto begin = static_cast<std::size_t>(match[3].second - plain.begin());
  auto end = plain.size() - 1;  // its semicolon
  if (match[3] == "(" && closing(plain, begin - 1) != --end) return {};
  for (auto at = plain.find_first_of("({,", begin); at < end; at = plain.find_first_of("({,", at + 1)) {
    if (plain[at] == ',' && match[3] != "(") return {};  // several variables
    if (plain[at] != ',') at = closing(plain, at);
  }
  return Definition{match[1], match[2].str() + "(" + statement.text.substr(begin, end - begin) + "\n)"};
}

/// A loop or an `if` with braces: what is in these can be chosen statement by statement, too.
struct Block {
  std::string head;  ///< with the brace that opens it
  std::string body;
};

std::optional<Block> block_in(const Statement& statement) {
  static const std::regex form(R"(\s*(?:for|while|if)\b)");
  static const std::regex leaves_it(R"(\bbreak\b)");  // it would leave the switch that chooses
  const std::string& plain = statement.plain;
  if (!has_at(plain, 0, form) || std::regex_search(plain, leaves_it)) return {};
  const auto brace = plain.find_first_not_of(" \n", closing(plain, plain.find('(')) + 1);
  const auto end = plain.size() - 1;
  if (plain[brace] != '{' || closing(plain, brace) != end) return {};
  return Block{statement.text.substr(0, brace + 1), statement.text.substr(brace + 1, end - brace - 1)};
}

/// What an edit makes of a statement, in place of it.
struct Change {
  int number;  ///< of the edit in its file
  std::string id;
  Statement statement;
};

/// What the edits make of a body, statement by statement, so that what they leave alone is compiled once. An edit of
/// which that cannot be said, since it declares something, has a body of its own from its first difference on.
class Body {
 public:
  Body(const std::string& right, const std::vector<Variant>& variants)
      : right_(statements_in(right)), rest_(right_.size()), before_(right_.size()), here_(right_.size()) {
    for (const auto& wrong : variants) add(wrong);
  }

  /// The body, where `mistake_made` is the number of the edit.
  std::string text() const {
    std::string code;
    std::string end;
    for (std::size_t i = 0; i < right_.size(); ++i) {
      if (!rest_[i].empty()) {
        code += begin_switch + cases(rest_[i]) + "default: {";
        end += "\n}\n}\n";
      }
      if (!before_[i].empty()) code += begin_switch + cases(before_[i]) + "}\n";
      code += here(i);
    }
    return code + end;
  }

 private:
  void add(const Variant& variant) {
    const Statements wrong = statements_in(variant.text);
    const auto least = static_cast<std::ptrdiff_t>(std::min(right_.size(), wrong.size()));
    const auto begin = std::mismatch(right_.begin(), right_.begin() + least, wrong.begin()).first - right_.begin();
    const auto same_at_end =
        std::mismatch(right_.rbegin(), right_.rbegin() + least - begin, wrong.rbegin()).first - right_.rbegin();
    const Statements before(right_.begin() + begin, right_.end() - same_at_end);
    const Statements after(wrong.begin() + begin, wrong.end() - same_at_end);
    const auto change = [&](const Statements& statements) {
      Statement all;
      for (const auto& one : statements) all = {all.text + one.text, all.plain + one.plain};
      return Change{variant.number, variant.id, all};
    };
    const auto first = static_cast<std::size_t>(begin);
    if (std::equal(before.begin(), before.end(), after.begin(), after.end(), can_be_chosen)) {
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (!(before[i] == after[i])) here_[first + i].push_back(change({after[i]}));
      }
    } else if (std::none_of(before.begin(), before.end(), declares) &&
               std::none_of(after.begin(), after.end(), declares)) {
      (before.empty() ? before_ : here_)[first].push_back(change(after));
      for (std::size_t i = 1; i < before.size(); ++i) here_[first + i].push_back(change({}));
    } else {
      rest_[first].push_back(change({wrong.begin() + begin, wrong.end()}));
    }
  }

  static bool can_be_chosen(const Statement& right, const Statement& wrong) {
    if (right == wrong || !(declares(right) || declares(wrong))) return true;
    const auto one = definition_in(right);
    const auto other = definition_in(wrong);
    return one && other && one->head == other->head;
  }

  static std::string cases(const std::vector<Change>& changes) {
    std::string text;
    for (const auto& [number, id, wrong] : changes) {
      text += "case " + std::to_string(number) + ": {  // " + id + "\n" + wrong.text + "\n} break;\n";
    }
    return text;
  }

  /// A statement of the solution, or what an edit makes of it.
  std::string here(std::size_t i) const {
    if (here_[i].empty()) return right_[i].text;
    if (declares(right_[i])) return definition(i);
    std::vector<Change> others;
    std::vector<Variant> in_block;
    const auto block = block_in(right_[i]);
    for (const auto& change : here_[i]) {
      const auto wrong = block ? block_in(change.statement) : std::nullopt;
      if (wrong && wrong->head == block->head) {
        in_block.push_back({change.number, change.id, wrong->body});
      } else {
        others.push_back(change);
      }
    }
    const std::string right =
        in_block.empty() ? right_[i].text : block->head + Body(block->body, in_block).text() + "}";
    return others.empty() ? right : begin_switch + cases(others) + "default: {" + right + "\n}\n}\n";
  }

  std::string definition(std::size_t i) const {
    const auto right = *definition_in(right_[i]);
    std::string choice = "\n" + right.head + " =\n";
    for (const auto& [number, id, wrong] : here_[i]) {
      choice +=
          "mistake_made == " + std::to_string(number) + " ? " + definition_in(wrong)->value + " :  // " + id + "\n";
    }
    return choice + right.value + ";";
  }

  static constexpr const char* begin_switch = "\nswitch (mistake_made) {\n";
  Statements right_;
  std::vector<std::vector<Change>> rest_;    ///< the rest of the body, from a statement on
  std::vector<std::vector<Change>> before_;  ///< what comes before a statement
  std::vector<std::vector<Change>> here_;    ///< what a statement becomes
};

std::string choose_body(const Region& right, int region) {
  return "\nconst int mistake_made = ::mistake_in(" + std::to_string(region) + ");\n" +
         Body(right.text, right.variants).text();
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
  std::size_t begin = 0;
  for (auto open = plain.find('('); open != std::string::npos; open = plain.find('(', begin)) {
    const auto end = closing(plain, open);
    const auto name = plain.find_first_not_of(" ,\n", begin);
    found.push_back({plain.substr(name, open - name), list.substr(open + 1, end - open - 1)});
    begin = end + 1;
  }
  return found;
}

/// Each member that an edit initialises otherwise gets an expression with a question in it.
/// @throws std::runtime_error when the members are not the same
std::string choose_initialisers(const Region& right, int region) {
  std::string list;
  const auto members = initialisers_in(right.text);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [member, arguments] = members[i];
    const std::string type = "decltype(this->" + member + ")";
    std::string choice;
    for (const auto& [number, id, wrong] : right.variants) {
      const auto others = initialisers_in(wrong);
      if (others.size() != members.size() || others[i].member != member) {
        throw std::runtime_error("mistake " + id + " initialises other members than the solution");
      }
      if (others[i].arguments == arguments) continue;
      choice += is_chosen(region, number) + " ? " + type + "(" + others[i].arguments + ")\n : ";
    }
    const std::string value = choice.empty() ? arguments : choice + type + "(" + arguments + ")";
    list += (i == 0 ? " " : ",\n ") + member + "(" + value + ")";
  }
  return list + " ";
}

bool in_number_or_name(char c) { return is_word(c) || c == '.'; }

/// Elsewhere: what differs has to be one expression.
std::string choose_expression(const Region& right, int region) {
  const std::string& text = right.text;
  std::size_t begin = text.size();
  std::size_t end = text.size();  // counted from the end of a text
  for (const auto& [number, id, wrong] : right.variants) {
    const auto same = std::mismatch(text.begin(), text.end(), wrong.begin(), wrong.end()).first - text.begin();
    begin = std::min(begin, static_cast<std::size_t>(same));
    const auto most = static_cast<std::ptrdiff_t>(std::min(text.size(), wrong.size()) - begin);
    const auto same_at_end = std::mismatch(text.rbegin(), text.rbegin() + most, wrong.rbegin()).first - text.rbegin();
    end = std::min(end, static_cast<std::size_t>(same_at_end));
  }
  while (begin > 0 && in_number_or_name(text[begin - 1])) --begin;
  while (end > 0 && in_number_or_name(text[text.size() - end])) --end;
  const auto expression_in = [&](const std::string& of) { return of.substr(begin, of.size() - end - begin); };
  std::string choice;
  for (const auto& [number, id, wrong] : right.variants) {
    choice += is_chosen(region, number) + " ? " + expression_in(wrong) + " : ";
  }
  return text.substr(0, begin) + "(" + choice + expression_in(text) + ")" + text.substr(text.size() - end);
}

// --------------------------------------------------------------------------------------------------- a file

/// A function that says which edit to make, by its number, or -1; and notes that the region is reached.
const std::string chooser = R"(
extern bool mistake_region_reached[] __attribute__((weak));

static int mistake_in(int region) {
  static const int chosen = [] {
    const char* id = std::getenv("ATTN_MISTAKE");
    int number = 0;
    for (const std::string_view known : {"IDS"}) {
      if (id != nullptr && known == id) return number;
      ++number;
    }
    return -1;
  }();
  if (mistake_region_reached != nullptr) mistake_region_reached[region] = true;
  return chosen;
}

)";

/// A file of the solution and what its edits make of it.
class MutatedFile {
 public:
  MutatedFile(const Lesson& lesson, const std::string& file) {
    const std::string text = read_file(lesson.solution_folder() / file);
    std::string code = text;
    includes_ = take_includes(code);
    regions_ = regions_in(code);
    for (const auto& edit : lesson.edits()) {
      if (edit.file != file) continue;
      try {
        add(edit.id, lesson::apply(edit, text));
      } catch (const std::runtime_error& error) {
        throw std::runtime_error("mistake " + edit.id + " of " + lesson.name + ": " + error.what() + " (solutions/" +
                                 lesson.name + "/" + file + ")");
      }
    }
  }

  const std::vector<Region>& regions() const { return regions_; }

  std::string text(int first_region) const {
    std::string includes = "#include <cstdlib>\n#include <string_view>\n";
    for (const auto& line : includes_) includes += line + "\n";
    std::string code = replaced(chooser, "IDS", joined(ids_, "\", \""));
    for (const auto& region : regions_) code += with_choice(region, first_region++);
    return includes + code;
  }

 private:
  void add(const std::string& id, std::string code) {
    includes_.merge(take_includes(code));
    const auto mutated = regions_in(code);
    const auto same_kinds = std::equal(mutated.begin(), mutated.end(), regions_.begin(), regions_.end(),
                                       [](const Region& a, const Region& b) { return a.kind == b.kind; });
    if (!same_kinds) {
      throw std::runtime_error("it adds or removes a function; write what it does where it is needed");
    }
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (mutated[i].text == regions_[i].text) continue;
      regions_[i].variants.push_back({static_cast<int>(ids_.size()), id, mutated[i].text});
    }
    ids_.push_back(id);
  }

  static std::string with_choice(const Region& region, int number) {
    if (region.variants.empty()) return region.text;
    switch (region.kind) {
      case Region::Kind::body: return choose_body(region, number);
      case Region::Kind::initialisers: return choose_initialisers(region, number);
      default: return choose_expression(region, number);
    }
  }

  std::set<std::string> includes_;
  std::vector<Region> regions_;
  std::vector<std::string> ids_;
};

/// The solution's files, in order.
std::set<std::string> solution_files(const Lesson& lesson) {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(lesson.solution_folder())) files.insert(entry.path().filename());
  return files;
}

}  // namespace

std::string mutate_all(const Lesson& lesson, const std::string& file) {
  int first_region = 0;
  for (const auto& earlier : solution_files(lesson)) {
    if (earlier < file) first_region += static_cast<int>(MutatedFile(lesson, earlier).regions().size());
  }
  return MutatedFile(lesson, file).text(first_region);
}

std::map<std::string, std::set<int>> regions_of(const Lesson& lesson) {
  std::map<std::string, std::set<int>> regions;
  for (const auto& edit : lesson.edits()) regions[edit.id];
  int number = 0;
  for (const auto& file : solution_files(lesson)) {
    const MutatedFile mutated(lesson, file);
    for (const auto& region : mutated.regions()) {
      for (const auto& variant : region.variants) regions[variant.id].insert(number);
      ++number;
    }
  }
  return regions;
}

}  // namespace attn::gate
