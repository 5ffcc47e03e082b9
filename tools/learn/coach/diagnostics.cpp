#include "learn/coach/diagnostics.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <utility>

#include "lesson/text.hpp"

namespace attn::learn {

namespace {

/// "file:line:column: rest"; a linker knows no column.
struct Header {
  Place place;
  std::string rest;
};

/// The number at a place of a text that a colon follows, and `at` moved behind the colon; 0 where there is none.
int number_before_colon(const std::string& text, std::size_t& at) {
  const auto end = text.find_first_not_of("0123456789", at);
  if (end == std::string::npos || end == at || text[end] != ':') return 0;
  const int number = std::atoi(text.c_str() + at);
  at = end + 1;
  return number;
}

std::optional<Header> header_of(const std::string& row) {
  for (auto colon = row.find(':'); colon != std::string::npos; colon = row.find(':', colon + 1)) {
    Header header{{row.substr(0, colon)}, ""};
    std::size_t at = colon + 1;
    header.place.line = number_before_colon(row, at);
    if (header.place.line == 0) continue;
    header.place.column = number_before_colon(row, at);
    const auto text = row.find_first_not_of(' ', at);
    if (text == std::string::npos) return std::nullopt;
    header.rest = row.substr(text);
    return header;
  }
  return std::nullopt;
}

/// The code in a row of GCC's excerpt ("   22 |   code", "      |   ^"); in clang's the whole row is code.
std::string code_in(const std::string& row) {
  const auto bar = row.find(" | ");
  const auto first = row.find_first_not_of(" 0123456789");
  if (bar != std::string::npos && first == bar + 1) return row.substr(bar + 3);
  return row;
}

/// Whether a row says from where a file was included.
bool is_about_inclusion(const std::string& row) {
  return begins_with(row, "In file included from ") || begins_with(row, "                 from ");
}

/// Reads a compiler's output row by row.
class Reader {
 public:
  explicit Reader(const LearnersFiles& files) : files_(files) {}

  void read(const std::string& row) {
    const auto header = header_of(row);
    if (!header || header->place.column == 0) {
      read_other(row);
    } else if (begins_with(header->rest, "required ") || begins_with(header->rest, "recursively required")) {
      chain_.push_back(header->place);
      excerpt_rows_ = no_excerpt;
    } else {
      read_message(*header);
    }
  }

  std::vector<Diagnostic> found() {
    end_diagnostic();
    return std::move(found_);
  }

 private:
  bool is_learners(const Place& place) const {
    const auto at = place.file.rfind(files_.folder + "/");
    return at == 0 || (at != std::string::npos && place.file[at - 1] == '/');
  }

  void read_message(const Header& header) {
    excerpt_rows_ = no_excerpt;
    const auto colon = header.rest.find(": ");
    if (colon == std::string::npos) return;
    const std::string kind = header.rest.substr(0, colon);
    const std::string text = header.rest.substr(colon + 2);
    const bool continues = begins_with(text, " ");  // GCC's "  when initialized here", a warning of its own
    if (!continues && (kind == "error" || kind == "fatal error" || kind == "warning")) {
      end_diagnostic();
      now_ = Diagnostic{kind != "warning", false, header.place, with_short_types(text), "", "", {}};
      excerpt_rows_ = 0;
    } else if (kind == "note" && now_) {
      if (begins_with(text, "in instantiation of") || begins_with(text, "while ")) chain_.push_back(header.place);
      if (now_->notes.size() < most_notes) now_->notes.push_back(with_short_types(text));
    }
  }

  void read_other(const std::string& row) {
    if (row.find(": In ") != std::string::npos || row.find(": At ") != std::string::npos) {  // GCC's next context
      end_diagnostic();
      chain_.clear();
    }
    if (is_about_inclusion(row)) excerpt_rows_ = no_excerpt;
    if (!now_ || excerpt_rows_ == no_excerpt) return;
    const std::string code = code_in(row);
    if (excerpt_rows_ == 0) now_->source = code;
    if (excerpt_rows_ == 1 && code.find_first_not_of(" ~^") == std::string::npos) now_->caret = code;
    ++excerpt_rows_;
  }

  void end_diagnostic() {
    if (!now_) return;
    const bool caused = !is_learners(now_->place) && move_to_learners_line();
    now_->in_learners_file = caused || is_learners(now_->place);
    auto& file = now_->place.file;
    if (now_->in_learners_file) file.erase(0, file.rfind(files_.folder + "/"));  // as learners know it
    const bool repeats = std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& other) {
      return other.is_error == now_->is_error && other.place.text() == now_->place.text() &&
             (caused || other.message == now_->message);
    });
    if (!repeats) found_.push_back(*now_);
    chain_.clear();
    now_.reset();
  }

  /// To the innermost line of the learner's in the chain that led to an error in a library. @return whether there is one
  bool move_to_learners_line() {
    const auto cause =
        std::find_if(chain_.begin(), chain_.end(), [this](const Place& place) { return is_learners(place); });
    if (cause == chain_.end()) return false;
    now_->place = *cause;
    now_->source = files_.row_of(cause->file, cause->line);
    now_->caret = now_->source.empty() ? "" : std::string(static_cast<std::size_t>(cause->column - 1), ' ') + "^";
    return true;
  }

  static constexpr std::size_t most_notes = 12;
  static constexpr int no_excerpt = 2;

  const LearnersFiles& files_;
  std::vector<Diagnostic> found_;
  std::optional<Diagnostic> now_;
  int excerpt_rows_ = no_excerpt;
  std::vector<Place> chain_;  ///< GCC prints it before an error, clang after it
};

/// A pattern, and what is written for it.
struct Rule {
  Rule(const char* regex, const char* text) : pattern(regex), with(text) {}

  std::regex pattern;
  std::string with;
};

/// What a message means that says all by itself. GCC's words first, then clang's.
const std::vector<Rule>& meanings() {
  static const std::vector<Rule> all = {
      {R"('(.*)' has no member named '(\w+)')", "no member $2 in $1"},
      {R"(no member named '(\w+)' in namespace '(\w+)')", "no name $2::$1"},
      {R"(no member named '(\w+)' in '(.*)')", "no member $1 in $2"},
      {R"('(\w+)' is not a member of '(\w+)')", "no name $2::$1"},
      {R"('(\w+)' (?:was not declared in this scope|does not name a type|has not been declared))", "no name $1"},
      {R"((?:use of undeclared identifier|unknown type name|no template named) '(\w+)')", "no name $1"},
      {R"(no match for 'operator(\S+)' \(operand types are '(.*)' and '(.*)'\))", "no operator $1: $2, $3"},
      {R"(no match for call to '\((.*)\) (\(.*\))')", "no call on $1 $2"},
      {R"(no matching function for call to object of type '(.*)')", "no call on $1"},
      {R"(type '(.*)' does not provide a call operator)", "no call on $1"},
      {R"(no matching function for call to '([^']*\(.*\))(?: const)?')", "no call $1"},
      {R"(no matching constructor for initialization of '(.*)')", "no call $1(?)"},
      {R"(could not convert from '(.*)' to '(.*)')", "no conversion $1 -> $2"},
      {R"(conversion from '(.*)' to non-scalar type '(.*)' requested)", "no conversion $1 -> $2"},
      {R"(cannot convert '(.*)' to '(.*)'(?: in (?:assignment|return|initialization))?)", "no conversion $1 -> $2"},
      {R"(no viable conversion from (?:returned value of type )?'(.*)' to (?:function return type )?'(.*)')",
       "no conversion $1 -> $2"},
      {R"(assigning to '(.*)' from incompatible type '(.*)')", "no conversion $2 -> $1"},
      {R"(value of type '(.*)' is not contextually convertible to '(.*)')", "no conversion $1 -> $2"},
      {R"(passing '(.*)' as 'this' argument discards qualifiers)", "$1 is const"},
      {R"('this' argument to member function '\w+' has type '(.*)', but function is not marked const)", "$1 is const"},
      {R"((?:assignment of|increment of|decrement of) (?:read-only .*|member .* in read-only object))", "it is const"},
      {R"(cannot assign to (?:return value because function .* returns a const value|)"
       R"((?:variable|non-static data member) .*const.*))",
       "it is const"},
  };
  return all;
}

/// What one of the patterns has as its groups in the compiler's notes; "?" where none is there.
std::string in_notes(const Diagnostic& diagnostic, const std::vector<std::regex>& patterns) {
  std::smatch match;
  for (const auto& pattern : patterns) {
    for (const auto& note : diagnostic.notes) {
      if (std::regex_search(note, match, pattern)) return match.format(match.size() > 2 ? "$1, $2" : "$1");
    }
  }
  return "?";
}

/// The type of the object that cannot be changed, which clang prints in its first note; empty where it is another error.
std::string const_object(const Diagnostic& diagnostic) {
  static const std::regex pattern("'this' argument has type '(const [^']*)'");
  std::smatch match;
  const bool found = !diagnostic.notes.empty() && std::regex_search(diagnostic.notes.front(), match, pattern);
  return found ? match[1].str() : "";
}

/// clang prints the operands' types of an assignment only in its notes.
std::string clangs_assignment(const Diagnostic& diagnostic, const std::string& name) {
  static const std::vector<std::regex> left = {
      std::regex("no known conversion from '[^']*' to '(?:const )?(arma::(?:mat|cube))' for 1st")};
  static const std::vector<std::regex> right = {
      std::regex("(?:no known conversion from|argument of incomplete type) '([^']*)' to")};
  const std::string object = const_object(diagnostic);
  return "no operator " + name + ": " + (object.empty() ? in_notes(diagnostic, left) : object) + ", " +
         in_notes(diagnostic, right);
}

/// clang prints an argument's type only in its notes.
std::string clangs_call(const Diagnostic& diagnostic, const std::string& name) {
  static const std::vector<std::regex> unfit = {
      std::regex(R"(deduced conflicting types for parameter '\w+' \('(.*)' vs\. '(.*)'\))"),
      std::regex("no known conversion from '([^']*)' to")};
  const std::string object = const_object(diagnostic);
  return object.empty() ? "no call " + name + "(" + in_notes(diagnostic, unfit) + ")" : object + " is const";
}

/// The operator that clang's column is at: it prints the operands' types alone.
std::string operator_at(const Diagnostic& diagnostic) {
  const auto at = static_cast<std::size_t>(diagnostic.place.column - 1);
  if (at >= diagnostic.source.size()) return "?";
  const auto end = diagnostic.source.find_first_not_of("+-*/%=<>!&|", at);
  return diagnostic.source.substr(at, end - at);
}

/// "lessons/01_x/x.cpp:22:43: error: message", as compilers write it.
Line message_line(const Place& at, const std::string& kind, const std::string& message) {
  const bool is_error = kind == "error" || kind == "fatal error";
  const Role role = is_error ? Role::error : kind == "warning" ? Role::warning : Role::label;
  return Line({{at.text() + ":" + std::to_string(at.column), Role::important},
               {": "},
               {kind, role},
               {": "},
               {message, is_error ? Role::important : Role::plain}},
              at);
}

}  // namespace

std::string with_short_types(const std::string& message) {
  static const std::vector<Rule> rules = {
      {R"('([^']*enable_if2?<[^']*)' [({]aka '([^']*)'[)}])", "'$2'"},
      {R"( \(aka '[^']*'\)| \{aka [^{}]*\})", ""},
      {R"((?:typename )?(?:arma::)?enable_if2<true, ([^']*?) ?>::result)", "$1"},
      {R"((['<(]|const |, )(?:class|struct) )", "$1"},
      {R"(unsigned long long|long long unsigned int)", "arma::uword"},
      {R"(\b(?:arma::)?(Mat|Col|Row|Cube|subview\w*)<)", "arma::$1<"},
      {R"(arma::Mat<double>)", "arma::mat"},
      {R"(arma::Col<double>)", "arma::vec"},
      {R"(arma::Row<double>)", "arma::rowvec"},
      {R"(arma::Cube<double>)", "arma::cube"},
      {R"(arma::Mat<arma::uword>)", "arma::umat"},
      {R"(arma::Col<arma::uword>)", "arma::uvec"},
      {R"(arma::Cube<arma::uword>)", "arma::ucube"},
      {R"(arma::Mat<float>)", "arma::fmat"},
      {R"(arma::Cube<float>)", "arma::fcube"},
      {R"((?:std::)?(?:__cxx11::)?\bbasic_string<char>)", "std::string"},
      {R"(, std::allocator<[^<>]*> ?(?=>))", ""},
      {R"(could not convert '.*' from ')", "could not convert from '"},
      {R"( \[-W[^\]]*\]| \[-fpermissive\])", ""},
  };
  constexpr std::size_t most_bytes = 3000;
  std::string text = replaced(replaced(message.substr(0, most_bytes), "‘", "'"), "’", "'");
  for (const auto& [pattern, with] : rules) text = std::regex_replace(text, pattern, with);
  return text;
}

std::string without_suggestion(const std::string& message) {
  static const std::regex suggestion(R"([;,] did you mean .*\?$| \(maybe you meant .*\)$)");
  return std::regex_replace(message, suggestion, "");
}

std::string meaning_of(const Diagnostic& diagnostic) {
  static const std::regex clangs_operands(R"(invalid operands to binary expression \('(.*)' and '(.*)'\))");
  static const std::regex overloaded(R"(no viable overloaded '(.*)')");
  static const std::regex call(R"(no matching (?:member )?function for call to '([^'(]*)')");
  const std::string message = without_suggestion(diagnostic.message);
  std::smatch match;
  if (std::regex_match(message, match, clangs_operands))
    return "no operator " + operator_at(diagnostic) + ": " + match[1].str() + ", " + match[2].str();
  if (std::regex_match(message, match, overloaded)) return clangs_assignment(diagnostic, match[1]);
  if (std::regex_match(message, match, call)) return clangs_call(diagnostic, match[1]);
  for (const auto& [pattern, meaning] : meanings()) {
    if (std::regex_match(message, pattern)) return std::regex_replace(message, pattern, meaning);
  }
  return message;
}

std::vector<Diagnostic> diagnostics_in(const std::string& output, const LearnersFiles& files) {
  Reader reader(files);
  for (const auto& row : lines_of(output)) reader.read(row);
  return reader.found();
}

Lines output_lines(const std::string& output) {
  static const std::regex quoted(R"(( +(\d*) *\|)(.*))");
  static const std::regex message("(fatal error|error|warning|note): (.*)");
  Lines lines;
  for (const auto& row : lines_of(output)) {
    const auto header = header_of(row);
    std::smatch part;
    if (is_about_inclusion(row)) {
      lines.emplace_back(row, Role::label);
    } else if (std::regex_match(row, part, quoted)) {
      const Role role = part[2].length() == 0 ? Role::caret : Role::plain;
      lines.push_back(Line({{part[1].str(), Role::label}, {part[3].str(), role}}));
    } else if (header && header->place.column > 0 && std::regex_match(header->rest, part, message)) {
      lines.push_back(message_line(header->place, part[1], part[2]));
    } else {
      lines.emplace_back(row);
      if (header) lines.back().place = header->place;
    }
  }
  return lines;
}

}  // namespace attn::learn
