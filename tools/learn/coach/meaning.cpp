#include "learn/coach/meaning.hpp"

#include <regex>
#include <utility>
#include <vector>

namespace attn::learn {

namespace {

using Rule = std::pair<std::regex, std::string>;

/// What a message means that says all by itself. GCC's words first, then clang's.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {std::regex(R"('(.*)' has no member named '(\w+)')"), "no member $2 in $1"},
      {std::regex(R"(no member named '(\w+)' in namespace '(\w+)')"), "no name $2::$1"},
      {std::regex(R"(no member named '(\w+)' in '(.*)')"), "no member $1 in $2"},
      {std::regex(R"('(\w+)' is not a member of '(\w+)')"), "no name $2::$1"},
      {std::regex(R"('(\w+)' (?:was not declared in this scope|does not name a type|has not been declared))"),
       "no name $1"},
      {std::regex(R"((?:use of undeclared identifier|unknown type name|no template named) '(\w+)')"), "no name $1"},
      {std::regex(R"(no match for 'operator(\S+)' \(operand types are '(.*)' and '(.*)'\))"), "no operator $1: $2, $3"},
      {std::regex(R"(no match for call to '\((.*)\) (\(.*\))')"), "no call on $1 $2"},
      {std::regex(R"(no matching function for call to object of type '(.*)')"), "no call on $1"},
      {std::regex(R"(type '(.*)' does not provide a call operator)"), "no call on $1"},
      {std::regex(R"(no matching function for call to '([^']*\(.*\))(?: const)?')"), "no call $1"},
      {std::regex(R"(no matching constructor for initialization of '(.*)')"), "no call $1(?)"},
      {std::regex(R"(could not convert from '(.*)' to '(.*)')"), "no conversion $1 -> $2"},
      {std::regex(R"(conversion from '(.*)' to non-scalar type '(.*)' requested)"), "no conversion $1 -> $2"},
      {std::regex(R"(cannot convert '(.*)' to '(.*)'(?: in (?:assignment|return|initialization))?)"),
       "no conversion $1 -> $2"},
      {std::regex(
           R"(no viable conversion from (?:returned value of type )?'(.*)' to (?:function return type )?'(.*)')"),
       "no conversion $1 -> $2"},
      {std::regex(R"(assigning to '(.*)' from incompatible type '(.*)')"), "no conversion $2 -> $1"},
      {std::regex(R"(value of type '(.*)' is not contextually convertible to '(.*)')"), "no conversion $1 -> $2"},
      {std::regex(R"(passing '(.*)' as 'this' argument discards qualifiers)"), "$1 is const"},
      {std::regex(R"('this' argument to member function '\w+' has type '(.*)', but function is not marked const)"),
       "$1 is const"},
      {std::regex(R"((?:assignment of|increment of|decrement of) (?:read-only .*|member .* in read-only object))"),
       "it is const"},
      {std::regex(R"(cannot assign to (?:return value because function .* returns a const value|)"
                  R"((?:variable|non-static data member) .*const.*))"),
       "it is const"},
  };
  return all;
}

/// The first group of a pattern in the compiler's notes; empty where none has it.
std::string in_notes(const Diagnostic& diagnostic, const std::regex& pattern, bool first_note_only = false) {
  std::smatch match;
  for (const auto& note : diagnostic.notes) {
    if (std::regex_search(note, match, pattern))
      return match.size() > 2 ? match[1].str() + ", " + match[2].str() : match[1].str();
    if (first_note_only) break;
  }
  return {};
}

std::string or_unknown(const std::string& type) { return type.empty() ? "?" : type; }

/// clang prints the operands' types of an assignment only in its notes.
std::string clangs_assignment(const Diagnostic& diagnostic, const std::string& name) {
  static const std::regex left("'this' argument has type '(const [^']*)'");
  static const std::regex right("no known conversion from '([^']*)' to|argument of incomplete type '(void)' to");
  static const std::regex made_of("no known conversion from '[^']*' to '(?:const )?(arma::(?:mat|cube))' for 1st");
  const std::string constant = in_notes(diagnostic, left, true);
  const std::string target = constant.empty() ? in_notes(diagnostic, made_of) : constant;
  std::smatch match;
  std::string source;
  for (const auto& note : diagnostic.notes) {
    if (source.empty() && std::regex_search(note, match, right)) source = match[match[1].matched ? 1 : 2];
  }
  return "no operator " + name + ": " + or_unknown(target) + ", " + or_unknown(source);
}

/// clang prints an argument's type only in its notes.
std::string clangs_call(const Diagnostic& diagnostic, const std::string& name) {
  static const std::regex constant("'this' argument has type '(const [^']*)'");
  static const std::regex conflicting(R"(deduced conflicting types for parameter '\w+' \('(.*)' vs\. '(.*)'\))");
  static const std::regex unfit("no known conversion from '([^']*)' to");
  const std::string object = in_notes(diagnostic, constant, true);
  if (!object.empty()) return object + " is const";
  const std::string two = in_notes(diagnostic, conflicting);
  return "no call " + name + "(" + or_unknown(two.empty() ? in_notes(diagnostic, unfit) : two) + ")";
}

/// The operator that clang's column is at: it prints the operands' types alone.
std::string operator_at(const Diagnostic& diagnostic) {
  const auto at = static_cast<std::size_t>(diagnostic.place.column - 1);
  if (at >= diagnostic.source.size()) return "?";
  const auto end = diagnostic.source.find_first_not_of("+-*/%=<>!&|", at);
  return diagnostic.source.substr(at, end - at);
}

}  // namespace

std::string meaning_of(const Diagnostic& diagnostic) {
  static const std::regex suggestion(R"([;,] did you mean .*\?$| \(maybe you meant .*\)$)");
  static const std::regex clangs_operands(R"(invalid operands to binary expression \('(.*)' and '(.*)'\))");
  static const std::regex overloaded(R"(no viable overloaded '(.*)')");
  static const std::regex call(R"(no matching (?:member )?function for call to '([^'(]*)')");
  const std::string message = std::regex_replace(diagnostic.message, suggestion, "");
  std::smatch match;
  if (std::regex_match(message, match, clangs_operands))
    return "no operator " + operator_at(diagnostic) + ": " + match[1].str() + ", " + match[2].str();
  if (std::regex_match(message, match, overloaded)) return clangs_assignment(diagnostic, match[1]);
  if (std::regex_match(message, match, call)) return clangs_call(diagnostic, match[1]);
  for (const auto& [pattern, meaning] : rules()) {
    if (std::regex_match(message, pattern)) return std::regex_replace(message, pattern, meaning);
  }
  return message;
}

}  // namespace attn::learn
